// A provider between fake workers and fake sandboxes, all of which do as the test says.

#pragma once

#include "actors/provider.hpp"
#include "tests/support/virtual_system.hpp"

#include <deque>
#include <map>
#include <set>

namespace corral::test {

/// The backend's side: what exists, what was asked, and how it shall go.
struct fake_backend {
  std::multiset<std::string> existing; ///< Environments by id; two of one id are a fault.
  std::set<std::string> left;          ///< By an earlier run: they are discovered.
  std::optional<owner> left_by;        ///< Whose those are; else of whoever asks.
  std::vector<std::string> created, destroyed, purged;
  int failing_creates = 0;
  std::optional<errc> refuse; ///< Creates are refused so.
  int failing_destroys = 0;
  bool hang = false; ///< Workers never answer.
  bool hold = false; ///< They answer when `go` says so.
  /// Takes `tick`: its own actor has to deliver what is held.
  using worker = backend_worker_actor::extend<caf::reacts_to<tick_atom>>;
  std::deque<std::pair<worker, std::function<void()>>> held;
  int workers = 0;

  /// Lets what is held be answered.
  void go() {
    while (!held.empty())
      go_last();
  }
  void go_last() {
    auto x = std::move(held.back());
    held.pop_back();
    due.push_back(x);
    caf::anon_send(x.first, tick_atom::value);
  }

  worker::behavior_type behavior(worker::pointer self) {
    ++workers;
    return {
        [this, self](create_atom, const sandbox_spec& x) -> caf::result<endpoint_ptr, bool> {
          auto promise = self->make_response_promise<endpoint_ptr, bool>();
          answer(self, [this, promise, x]() mutable { create(x, promise); });
          return promise;
        },
        [this, self](destroy_atom, const std::string& id, bool purge) -> caf::result<caf::ok_atom> {
          auto promise = self->make_response_promise<caf::ok_atom>();
          answer(self, [this, promise, id, purge]() mutable { destroy(id, purge, promise); });
          return promise;
        },
        [this, self](tick_atom) {
          std::erase_if(due, [self](auto& x) {
            if (x.first != self)
              return false;
            x.second();
            return true;
          });
        },
    };
  }

private:
  std::deque<std::pair<worker, std::function<void()>>> due;

  void answer(worker::pointer self, std::function<void()> x) {
    if (hang)
      return;
    if (hold)
      held.emplace_back(self, std::move(x));
    else
      x();
  }

  template <class Promise>
  void create(const sandbox_spec& x, Promise& promise) {
    if (refuse) {
      promise.deliver(to_caf({*refuse, "no", {}}));
      return;
    }
    if (failing_creates-- > 0) {
      promise.deliver(to_caf({errc::sandbox_runtime, "no", fields{}.set("step", "mount")}));
      return;
    }
    failing_creates = 0;
    auto found = left.erase(x.id) > 0;
    auto e = std::make_shared<endpoint>();
    e->id = x.id;
    e->who = found && left_by ? *left_by : x.who;
    existing.insert(x.id);
    created.push_back(x.id);
    promise.deliver(endpoint_ptr{std::move(e)}, found);
  }

  template <class Promise>
  void destroy(const std::string& id, bool purge, Promise& promise) {
    if (failing_destroys-- > 0) {
      promise.deliver(to_caf({errc::sandbox_runtime, "busy", {}}));
      return;
    }
    failing_destroys = 0;
    existing.erase(id);
    destroyed.push_back(id);
    if (purge)
      purged.push_back(id);
    promise.deliver(caf::ok_atom::value);
  }
};

/// A sandbox's actor as its provider sees it.
struct fake_sandbox {
  sandbox_actor actor;
  bool in_use = false;
  time_point used_at{};
  bool answers_pings = true;
  bool hold = false; ///< Asks wait for `go`.
  std::deque<std::function<void()>> held;
  int retire_asks = 0, pings = 0;
  bool retired = false, draining = false, killed = false, left = false;

  void go() { caf::anon_send(actor, tick_atom::value, uint64_t{0}); }
  void die() { caf::anon_send_exit(actor, caf::exit_reason::remote_link_unreachable); }
  bool ended() const {
    return caf::actor_cast<caf::abstract_actor*>(actor)->getf(
        caf::abstract_actor::is_terminated_flag);
  }

  sandbox_actor::behavior_type behavior(sandbox_actor::pointer self) {
    return {
        [](submit_atom, const submission&, const answer_sink&) {},
        [](cancel_atom, ticket_id, ticket_id, const answer_sink&) {},
        [](send_atom, ticket_id, ticket_id, const message_ptr&, const answer_sink&) {},
        [](data_atom, ticket_id, const blob&, bool) {},
        [](credit_atom, ticket_id, uint64_t, int64_t) {},
        [this, self](retire_atom, time_point since) -> caf::result<retirement> {
          ++retire_asks;
          auto promise = self->make_response_promise<retirement>();
          answer([this, self, promise, since]() mutable {
            retired = !in_use && used_at <= since;
            promise.deliver(retirement{retired, in_use, in_use ? self->clock().now() : used_at});
          });
          return promise;
        },
        [this, self](probe_atom) -> caf::result<bool> {
          ++pings;
          auto promise = self->make_response_promise<bool>();
          answer([this, promise]() mutable { promise.deliver(answers_pings); });
          return promise;
        },
        [this](inspect_atom) { return sandbox_usage{in_use, 0, in_use ? 1u : 0u, 5, used_at, 3}; },
        [this](drain_atom) { draining = true; },
        [this, self](kill_atom) {
          killed = true;
          self->quit(caf::exit_reason::remote_link_unreachable);
        },
        [this](late_atom, duration late) { used_at += late; },
        [this, self](leave_atom) {
          left = true;
          self->quit(caf::exit_reason::user_shutdown);
        },
        [](up_atom, const fields_ptr&) {},
        [](answer_atom, const message_ptr&) {},
        [this](tick_atom, uint64_t) {
          for (auto& x : std::exchange(held, {}))
            x();
        },
    };
  }

private:
  void answer(std::function<void()> x) { hold ? held.push_back(std::move(x)) : x(); }
};

struct fake_pool : virtual_system {
  fake_backend backend;
  std::map<std::string, std::vector<std::unique_ptr<fake_sandbox>>> sandboxes; ///< By id.
  std::vector<std::string> events;                                             ///< "created t1".
  bool guests_answer = true; ///< Their hello comes at once.
  provider_settings settings;
  std::vector<endpoint_ptr> found; ///< What the provider is to adopt.
  provider_actor pool;

  /// An earlier run left this thread's sandbox.
  void leave_behind(const std::string& thread, bool stale = false) {
    auto x = std::make_shared<endpoint>();
    x->id = id_of(thread);
    x->who = {"default", thread};
    x->stale = stale;
    backend.existing.insert(x->id);
    found.push_back(std::move(x));
  }

  /// Starts the provider with `settings`.
  void start() {
    provider_parts parts;
    parts.make_worker = [this] {
      return backend_worker_actor{
          spawn([this](fake_backend::worker::pointer self) { return backend.behavior(self); })};
    };
    parts.make_sandbox = [this](const endpoint_ptr& where, const provider_actor&) {
      auto& all = sandboxes[where->id];
      all.push_back(std::make_unique<fake_sandbox>());
      auto& x = *all.back();
      x.used_at = now();
      x.actor = spawn([&x](sandbox_actor::pointer self) { return x.behavior(self); });
      if (guests_answer)
        hello(where->id);
      return x.actor;
    };
    parts.observe = [this](std::string_view event, const fields& about) {
      events.push_back(std::string{event} + " " + about.text("thread").value_or("-"));
    };
    parts.found = found;
    pool = spawn(provider, settings, parts);
    settle();
  }

  void hello(const std::string& id) { tell(pool, up_atom::value, id, int64_t{7}); }

  static std::string id_of(const std::string& thread) { return sandbox_id_of({"default", thread}); }
  static acquire_order order(const std::string& thread, const std::string& client = "ann",
                             bool lease = true) {
    return {{"default", thread}, client, lease};
  }

  /// The newest actor of a thread's sandbox.
  fake_sandbox& box(const std::string& thread) {
    auto& all = sandboxes[id_of(thread)];
    REQUIRE_FALSE(all.empty());
    return *all.back();
  }

  later_ptr<grant> acquire(const std::string& thread, const std::string& client = "ann",
                           bool lease = true) {
    return ask<grant>(pool, acquire_atom::value, order(thread, client, lease));
  }
  later_ptr<grant> acquire_for(owner who) {
    return ask<grant>(pool, acquire_atom::value, acquire_order{std::move(who), "ann", true});
  }
  later_ptr<grant> find(const std::string& id) { return ask<grant>(pool, find_atom::value, id); }
  later_ptr<fields_ptr> release(const std::string& thread, const std::string& client = "ann",
                                const std::string& lease = "") {
    return ask<fields_ptr>(pool, release_atom::value, client, id_of(thread), lease);
  }
  later_ptr<fields_ptr> gone(const std::string& client) {
    return ask<fields_ptr>(pool, release_atom::value, client);
  }
  later_ptr<fields_ptr> destroy(const std::string& thread, bool force = false, bool purge = false,
                                const std::string& client = "ann") {
    return ask<fields_ptr>(pool, destroy_atom::value, id_of(thread), client, force, purge);
  }
  void reap() {
    tell(pool, reap_atom::value);
    settle();
  }
  /// Acquires and releases at once: it is warm from now on.
  void park(const std::string& thread) {
    acquire(thread)->value();
    release(thread)->value();
  }
  /// The work that a sandbox has just done, which its provider doesn't hear of.
  void use(const std::string& thread) { box(thread).used_at = now(); }

  fields state(const std::string& thread) {
    return *ask<fields_ptr>(pool, inspect_atom::value, id_of(thread))->value();
  }
  std::string state_name(const std::string& thread) {
    return state(thread).text("state").value_or("none");
  }
  fields stats() { return ask<std::vector<fields>>(pool, stats_atom::value)->value().at(0); }
  size_t rows() {
    return ask<std::vector<fields>>(pool, list_atom::value, std::string{}, std::string{},
                                    std::string{})
        ->value()
        .size();
  }
  bool exists(const std::string& thread) { return backend.existing.count(id_of(thread)) == 1; }
  size_t told(const std::string& event) const {
    return static_cast<size_t>(std::count(events.begin(), events.end(), event));
  }
};

} // namespace corral::test

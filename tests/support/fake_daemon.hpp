// The bridge on its real thread and socket; behind it a provider and sandboxes that do what the
// test says and tell it what they were asked.

#pragma once

#include "actors/guest_protocol.hpp"
#include "bridge/bridge.hpp"
#include "bridge/key_pair.hpp"
#include "bridge/loop_thread.hpp"
#include "os/temp_dir.hpp"
#include "tests/support/wire_client.hpp"

#include <caf/all.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace corral::test {

inline fields op_of(std::string_view op, std::string_view id) {
  return fields{}.set("op", op).set("id", id);
}

inline message exec(std::string_view id, std::string_view command, std::string_view thread = "t1") {
  message x{op_of("exec", id).set("thread", thread), {}};
  x.add_part("command", blob::copy_of(command));
  return x;
}

/// Hands things from the actors' threads to the test's.
template <class T>
class inbox {
public:
  void push(T x) {
    std::lock_guard guard{mutex_};
    items_.push_back(std::move(x));
    changed_.notify_all();
  }

  T take() {
    std::unique_lock lock{mutex_};
    auto there = changed_.wait_for(lock, patience, [this] { return !items_.empty(); });
    REQUIRE_MESSAGE(there, "nothing was asked");
    auto x = std::move(items_.front());
    items_.pop_front();
    return x;
  }

  bool empty() {
    std::lock_guard guard{mutex_};
    return items_.empty();
  }
  void clear() {
    std::lock_guard guard{mutex_};
    items_.clear();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
};

/// What a sandbox was asked.
struct asked {
  std::string what{}; ///< submit, cancel, input, data or credit.
  std::string box{};
  ticket_id ticket = 0;
  ticket_id target = 0;
  client_key client{};
  request_ptr request{};
  message_ptr input{};
  answer_sink sink{};
  std::string bytes{};
  bool last = false;
  int64_t seq = 0;
  uint64_t credit = 0;

  std::string command() const { return std::string{request->body.part_of("command").view()}; }
};

/// What the provider was asked.
struct ordered {
  std::string what; ///< acquire, find, inspect, list, release, gone, destroy or stats.
  std::string subject;
  client_key client;
  bool flag = false; ///< A lease wished for, or force.
};

class fake_daemon {
public:
  inbox<asked> boxes;
  inbox<ordered> orders;
  inbox<std::string> observed;
  inbox<std::pair<std::string, fields>> published;
  bridge_settings settings;
  key_pair server = key_pair::make();
  std::string tcp; ///< Its TCP endpoint, if it has principals with keys.
  std::vector<fields> rows{fields{}.set("sandbox", "1"), fields{}.set("sandbox", "2")};
  std::map<std::string, owner> owners; ///< By sandbox id; before any question about them.

  fake_daemon() {
    config_.set("scheduler.policy", caf::atom("sharing"));
    settings.boot = "b00t";
    settings.version = "9";
    settings.pools.front().provider = "fake";
    settings.pools.front().capabilities.set("isolated", true);
    settings.limits.set("queue", 64);
    settings.replies = {256 * 1024, 4 * 256 * 1024, std::chrono::milliseconds{500}};
    settings.max_requests = 20;
    settings.publish = [this](std::string_view topic, const fields& subject, const fields& more) {
      published.push({std::string{topic}, fields{subject}.merge(more)});
    };
  }

  void start() {
    sys_.emplace(config_);
    thread_.emplace(*sys_, zmq_loop::settings{endpoint});
    if (settings.who.has_keys()) {
      thread_->ask_for_keys([who = settings.who](auto, auto key) {
        auto x = who.holder_of(key);
        return x ? std::optional{x->name} : std::nullopt;
      });
      tcp = thread_->loop().listen("tcp://127.0.0.1:*", server.secret_key);
    }
    provider_ = sys_->spawn([this](provider_actor::pointer self) { return serve(self); });
    bridge = start_bridge(
        *sys_, *thread_, settings, provider_,
        [this](std::string_view event, const fields&) { observed.push(std::string{event}); });
  }

  ~fake_daemon() {
    boxes.clear();
    caf::scoped_actor self{*sys_};
    self->send_exit(bridge, caf::exit_reason::kill);
    self->wait_for(bridge);
    bridge = nullptr;
    self->send_exit(provider_, caf::exit_reason::kill);
    for (auto& x : all_)
      self->send_exit(x, caf::exit_reason::kill);
    boxes.clear();
    thread_.reset();
  }

  /// The thread's sandbox is a new one from now on.
  void replace(const std::string& thread, const std::string& name) {
    auto box = make(name);
    std::lock_guard guard{mutex_};
    current_[thread] = box;
  }

  /// Ends the sandbox that a thread has.
  void end(const std::string& thread, caf::exit_reason why) {
    std::lock_guard guard{mutex_};
    caf::anon_send_exit(current_.at(thread), why);
    current_.erase(thread);
  }

  /// Grants wait for `grant` from now on.
  void hold(bool x) {
    std::lock_guard guard{mutex_};
    hold_ = x;
  }
  void grant() {
    hold(false);
    caf::anon_send(provider_, tick_atom::value, uint64_t{0});
  }
  /// The next acquire or find fails so.
  void fail_next(error x) {
    std::lock_guard guard{mutex_};
    failure_ = std::move(x);
  }

  static void reply(const asked& x, message m = make_reply()) {
    caf::anon_send(x.sink, answer_atom::value, x.ticket,
                   message_ptr{std::make_shared<message>(std::move(m))});
  }
  static void event(const asked& x, fields header, std::string payload = {}) {
    message m{std::move(header), {}};
    if (!payload.empty())
      m.add_part("", blob::take(std::move(payload)));
    caf::anon_send(x.sink, data_atom::value, x.ticket,
                   message_ptr{std::make_shared<message>(std::move(m))});
  }
  static void retired(const asked& x) { caf::anon_send(x.sink, retired_atom::value, x.ticket); }

private:
  temp_dir dir_ = std::move(*temp_dir::make("bridge"));

public:
  std::string endpoint = "ipc://" + (dir_.path() / "s").string();

private:
  sandbox_actor make(const std::string& name) {
    auto box = sys_->spawn([this, name](sandbox_actor::pointer) { return behave(name); });
    std::lock_guard guard{mutex_};
    all_.push_back(box);
    return box;
  }

  sandbox_actor::behavior_type behave(const std::string& name) {
    auto tell = [this, name](asked x) {
      x.box = name;
      boxes.push(std::move(x));
    };
    return {
        [=](submit_atom, const submission& x, const answer_sink& sink) {
          tell({.what = "submit",
                .ticket = x.ticket,
                .client = x.client,
                .request = x.what,
                .sink = sink});
        },
        [=](cancel_atom, ticket_id ticket, ticket_id target, const answer_sink& sink) {
          tell({.what = "cancel", .ticket = ticket, .target = target, .sink = sink});
        },
        [=](send_atom, ticket_id ticket, ticket_id target, const message_ptr& x,
            const answer_sink& sink) {
          tell({.what = "input", .ticket = ticket, .target = target, .input = x, .sink = sink});
        },
        [=](data_atom, ticket_id ticket, const blob& x, bool last) {
          tell({.what = "data", .ticket = ticket, .bytes = std::string{x.view()}, .last = last});
        },
        [=](credit_atom, ticket_id ticket, uint64_t bytes, int64_t seq) {
          tell({.what = "credit", .ticket = ticket, .seq = seq, .credit = bytes});
        },
        [](retire_atom, time_point) { return retirement{}; },
        [](probe_atom) { return true; },
        [](inspect_atom) { return sandbox_usage{}; },
        [](drain_atom) {},
        [](kill_atom) {},
        [](late_atom, duration) {},
        [](leave_atom) {},
        [](up_atom, const fields_ptr&) {},
        [](answer_atom, const message_ptr&) {},
        [](tick_atom, uint64_t) {},
    };
  }

  provider_actor::behavior_type serve(provider_actor::pointer self) {
    auto share = [](fields x) { return fields_ptr{std::make_shared<const fields>(std::move(x))}; };
    return {
        [this, self](acquire_atom, const acquire_order& x) {
          orders.push({"acquire", x.who.thread, x.client, x.lease});
          return give(self, x.who, x.lease);
        },
        [this, self](find_atom, const std::string& id) {
          orders.push({"find", id, {}, false});
          auto x = owners.find(id);
          return give(self, x != owners.end() ? x->second : owner{"default", thread_of(id)}, false);
        },
        [this](owner_atom, const std::string& id) -> caf::result<owner> {
          orders.push({"owner", id, {}, false});
          auto x = owners.find(id);
          return x != owners.end() ? caf::result<owner>{x->second} : to_caf(unknown_sandbox());
        },
        [=, this](inspect_atom, const std::string& id) {
          orders.push({"inspect", id, {}, false});
          return share(fields{}.set("found", true).set("state", "parked"));
        },
        [this](list_atom, const std::string&, const std::string& state, const std::string& user) {
          orders.push({"list", state + "/" + user, {}, false});
          return rows;
        },
        [=, this](release_atom, const client_key& c, const std::string& id, const std::string& l) {
          orders.push({"release", id + "/" + l, c, false});
          return share(fields{}.set("remaining", 0));
        },
        [=, this](release_atom, const client_key& client) {
          orders.push({"gone", {}, client, false});
          return share(fields{}.set("released", 1));
        },
        [=, this](destroy_atom, const std::string& id, const client_key& c, bool force, bool) {
          orders.push({"destroy", id, c, force});
          return share(fields{}.set("destroyed", true));
        },
        [](stats_atom) { return std::vector{fields{}.set("pool", "default")}; },
        [](configure_atom, const pool_limits&) {},
        [](reap_atom) {},
        [](drain_atom, duration) -> caf::result<caf::ok_atom> { return caf::ok_atom::value; },
        [](up_atom, const std::string&, int64_t) {},
        [this](tick_atom, uint64_t) {
          for (auto& [promise, g] : std::exchange(held_, {}))
            promise.deliver(g);
        },
    };
  }

  /// Whose sandbox it is; one that was never made has its id for a name.
  std::string thread_of(const std::string& id) {
    std::lock_guard guard{mutex_};
    auto i = threads_.find(id);
    return i != threads_.end() ? i->second : id;
  }

  caf::result<corral::grant> give(provider_actor::pointer self, const owner& who, bool lease) {
    std::unique_lock lock{mutex_};
    if (auto x = std::exchange(failure_, std::nullopt))
      return to_caf(*x);
    if (!current_.contains(who.thread)) {
      lock.unlock();
      replace(who.thread, who.thread);
      lock.lock();
    }
    threads_[sandbox_id_of(who)] = who.thread;
    corral::grant g{sandbox_id_of(who), who, current_[who.thread], lease ? "L" : "", "created", 4,
                    "default"};
    if (!hold_)
      return g;
    auto promise = self->make_response_promise<corral::grant>();
    held_.emplace_back(promise, g);
    return promise;
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> sys_;
  std::optional<loop_thread> thread_;
  provider_actor provider_;
  std::mutex mutex_; // Of what follows.
  std::map<std::string, sandbox_actor> current_;
  std::vector<sandbox_actor> all_;
  std::map<std::string, std::string> threads_; // By id.
  bool hold_ = false;
  std::optional<error> failure_;
  std::vector<std::pair<caf::typed_response_promise<corral::grant>, corral::grant>> held_;

public:
  bridge_actor bridge;
};

} // namespace corral::test

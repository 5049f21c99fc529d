#include "actors/provider.hpp"

#include "actors/guest_protocol.hpp"
#include "actors/supervision.hpp"
#include "os/random.hpp"

#include <algorithm>

namespace corral {

namespace {

constexpr duration drain_poll = std::chrono::milliseconds{50};

error shutting_down() {
  return {errc::shutting_down, "the daemon is shutting down", {}};
}

error at_step(std::string_view step, std::string text) {
  return {errc::sandbox_runtime, std::move(text), fields{}.set("step", step)};
}

fields_ptr share(fields x) {
  return std::make_shared<const fields>(std::move(x));
}

} // namespace

provider_actor::behavior_type provider(provider_actor::stateful_pointer<provider_state> self,
                                       provider_settings settings, provider_parts parts) {
  return self->state.make_behavior(std::move(settings), std::move(parts));
}

provider_actor::behavior_type provider_state::make_behavior(provider_settings settings,
                                                            provider_parts parts) {
  settings_ = std::move(settings);
  parts_ = std::move(parts);
  report_exceptions(self_, [observe = parts_.observe](const std::string& text) {
    observe("exception", fields{}.set("what", text));
  });
  crew_.start(self_, parts_.make_worker, settings_.crew);
  self_->set_down_handler([this](caf::down_msg& x) { lost(x); });
  return {
      [this](acquire_atom, acquire_order& x) { return acquire(std::move(x)); },
      [this](find_atom, const std::string& id) { return find(id); },
      [this](inspect_atom, const std::string& id) { return inspect(id); },
      [this](list_atom, const std::string& state, const std::string& user) {
        return list(state, user);
      },
      [this](release_atom, const client_key& client, const std::string& id,
             const std::string& lease) { return release(client, id, lease); },
      [this](release_atom, const client_key& client) { return release_all(client); },
      [this](destroy_atom, const std::string& id, const client_key& client, bool force,
             bool purge) { return destroy_for(id, client, force, purge); },
      [this](stats_atom) { return stats(); },
      [this](reap_atom) { reap(); },
      [this](drain_atom, duration limit) { return drain(limit); },
      [this](up_atom, const std::string& id, int64_t session) { up(id, session); },
      [this](tick_atom, uint64_t epoch) { tick(epoch); },
  };
}

// -- acquire --

caf::result<grant> provider_state::acquire(acquire_order order) {
  if (drain_until_)
    return to_caf(shutting_down());
  auto anonymous = order.who.thread.empty();
  auto id = anonymous ? random_sandbox_id() : sandbox_id_of(order.who);
  auto known = table_.find(id);
  if (known && known->who != order.who)
    return to_caf({errc::identity_collision, "another owner's sandbox has this thread's id", {}});
  if (known && known->state == phase::ready && leases_.count(id) > 0)
    return hand_out(*known, order, "active");
  auto promise = self_->make_response_promise<grant>();
  auto& x = known ? *known : table_.add(id, order.who, anonymous);
  x.waiters.push_back({std::move(order), promise});
  if (!known)
    begin(x);
  else if (known->state == phase::ready)
    probe(x);
  return promise;
}

void provider_state::begin(slot& x) {
  x.state = phase::starting;
  if (table_.occupied() <= settings_.replicas)
    return create(x.id);
  make_room(x.id, {});
}

/// Evicts the least recently used warm sandbox, or decides what happens without one. `busy` have
/// said no and are not asked again.
void provider_state::make_room(const std::string& id, std::vector<std::string> busy) {
  auto newcomer = table_.find(id);
  if (!newcomer || newcomer->state != phase::starting)
    return;
  auto skip = busy;
  for (auto& [other, x] : table_)
    if (x.state != phase::ready)
      skip.push_back(other);
  auto victim = pool_.least_recently_used(skip);
  if (!victim)
    return overflow(*newcomer);
  auto& x = *table_.find(*victim);
  retire(x, *pool_.used_at(*victim), [this, id, busy, victim](const retirement& answer) mutable {
    auto x = table_.find(*victim);
    if (x && answer.retired) {
      destroy(*x, "evicted");
      return create(id);
    }
    // Used since: it has moved back in the order. Only one that works is passed over for good.
    if (answer.in_use)
      busy.push_back(*victim);
    make_room(id, std::move(busy));
  });
}

void provider_state::overflow(slot& x) {
  if (settings_.overflow == when_full::reject || table_.occupied() > settings_.max_sandboxes)
    return no_room(x);
  tell("burst", x, fields{}.set("replicas", settings_.replicas));
  create(x.id);
}

void provider_state::no_room(slot& x) {
  fields details;
  details.set("active", pool_.active()).set("warm", pool_.warm());
  details.set("replicas", settings_.replicas).set("max_sandboxes", settings_.max_sandboxes);
  error why{errc::capacity_exceeded,
            "pool " + settings_.pool + " is full: release sandboxes, or raise replicas", details};
  fail(x, why);
}

void provider_state::create(const std::string& id) {
  auto& x = *table_.find(id);
  crew_.create({id, x.who, x.anonymous}, [this, id](result<std::pair<endpoint_ptr, bool>> made) {
    created(id, std::move(made));
  });
}

void provider_state::created(const std::string& id, result<std::pair<endpoint_ptr, bool>> made) {
  auto x = table_.find(id);
  if (!x || x->state != phase::starting)
    return;
  if (!made) {
    // A worker that hung may still bring something up: that is for the destroy to find.
    fail_and_destroy(*x, made.error());
    return;
  }
  if (made->first->who != x->who)
    return fail(*x, {errc::identity_collision, "another owner's sandbox has this thread's id", {}});
  x->origin = made->second ? "discovered" : "created";
  x->actor = parts_.make_sandbox(made->first, provider_actor{self_});
  x->deadline = now() + settings_.connect_limit;
  self_->monitor(x->actor);
  rearm();
}

void provider_state::up(const std::string& id, int64_t session) {
  auto x = table_.find(id);
  if (!x || x->state != phase::starting || !x->actor)
    return; // Of an earlier attempt.
  x->session = session;
  pool_.add(id, now());
  tell("created", *x, fields{}.set("origin", x->origin));
  ready(*x);
}

/// A warm sandbox is handed out only after it has answered.
void provider_state::probe(slot& x) {
  x.state = phase::probing;
  auto settle = [this, id = x.id, actor = x.actor](bool answers) {
    auto x = table_.find(id);
    if (!x || x->actor != actor || x->state != phase::probing)
      return;
    if (!answers)
      return destroy(*x, "lost");
    x->origin = "warm";
    ready(*x);
  };
  self_->request(x.actor, caf::infinite, probe_atom::value)
      .then(settle, [settle](const caf::error&) { settle(false); });
}

/// Serves everyone who waits: one attempt, one result.
void provider_state::ready(slot& x) {
  x.state = phase::ready;
  x.was_ready = true;
  x.deadline.reset();
  auto origin = std::exchange(x.origin, "warm");
  auto waiters = std::exchange(x.waiters, {});
  pool_.set_active(x.id, leases_.count(x.id) > 0);
  for (auto& w : waiters)
    w.promise.deliver(hand_out(x, w.order, origin));
  if (x.anonymous && waiters.empty())
    end_if_unused(x, "destroyed"); // Nobody knows it.
  if (drain_until_)
    drain_step();
}

grant provider_state::hand_out(slot& x, const acquire_order& order, std::string origin) {
  ++acquired_[origin];
  pool_.touch(x.id, now());
  grant g{x.id, x.who, x.actor, {}, std::move(origin), x.session};
  if (order.lease) {
    g.lease = random_hex(8);
    leases_.add({g.lease, order.client, x.id});
    pool_.set_active(x.id, true);
  }
  tell("acquired", x, fields{}.set("origin", g.origin));
  return g;
}

void provider_state::fail(slot& x, const error& why) {
  tell("failed", x, fields{}.set("reason", why.message));
  auto waiters = std::exchange(x.waiters, {});
  table_.forget(x.id);
  for (auto& w : waiters)
    w.promise.deliver(to_caf(why));
}

void provider_state::fail_and_destroy(slot& x, const error& why) {
  tell("failed", x, fields{}.set("reason", why.message));
  for (auto& w : std::exchange(x.waiters, {}))
    w.promise.deliver(to_caf(why));
  destroy(x, "failed");
}

// -- the end of a sandbox --

void provider_state::retire(slot& x, time_point unused_since,
                            std::function<void(const retirement&)> then) {
  x.state = phase::retiring;
  x.on_retire_answer = std::move(then);
  auto settle = [this, id = x.id, actor = x.actor](const retirement& answer) {
    auto x = table_.find(id);
    if (!x || x->actor != actor || x->state != phase::retiring)
      return;
    x->state = phase::ready;
    pool_.touch(id, answer.used_at);
    auto then = std::exchange(x->on_retire_answer, nullptr);
    if (!answer.retired && !x->waiters.empty())
      probe(*x);
    then(answer);
  };
  self_->request(x.actor, caf::infinite, retire_atom::value, unused_since)
      .then(settle, [settle](const caf::error&) { settle({}); });
}

void provider_state::destroy(slot& x, reason why) {
  x.state = phase::ending;
  x.deadline.reset();
  pool_.erase(x.id);
  leases_.erase_sandbox(x.id);
  if (why != "failed")
    tell(why, x);
  if (x.actor && (why == "lost" || why == "failed"))
    self_->send(x.actor, kill_atom::value);
  tear_down(x.id);
  if (auto then = std::exchange(x.on_retire_answer, nullptr))
    then({}); // It ended in another way before it answered.
}

void provider_state::tear_down(const std::string& id) {
  auto& x = *table_.find(id);
  x.deadline.reset();
  auto purge = x.purge || x.anonymous;
  crew_.destroy(id, purge,
                [this, id, purge](const result<void>& gone) { torn_down(id, purge, gone); });
}

/// Tries again until the environment is gone; gives up after some attempts, which the log tells.
void provider_state::torn_down(const std::string& id, bool purged, const result<void>& gone) {
  constexpr int max_attempts = 5;
  auto& x = *table_.find(id);
  if (gone && x.purge && !purged)
    return tear_down(id); // Asked for meanwhile.
  if (!gone) {
    tell("destroy_failed", x, fields{}.set("reason", gone.error().message));
    if (++x.failed_destroys < max_attempts) {
      x.deadline = now() + settings_.destroy_retry;
      return rearm();
    }
  }
  if (x.actor)
    self_->send_exit(x.actor, caf::exit_reason::user_shutdown);
  auto ended = std::move(x);
  if (ended.was_ready)
    table_.erase(id, now());
  else
    table_.forget(id);
  for (auto& d : ended.destroyers)
    d.deliver(share(fields{}.set("destroyed", gone.has_value())));
  if (!ended.waiters.empty()) {
    auto& fresh = table_.add(id, ended.who, ended.anonymous);
    fresh.waiters = std::move(ended.waiters);
    begin(fresh);
  }
  if (drain_until_)
    drain_step();
}

void provider_state::lost(const caf::down_msg& msg) {
  auto x = table_.find(msg.source);
  if (!x || x->state == phase::ending)
    return;
  if (x->state == phase::starting)
    return fail_and_destroy(*x, at_step("connect", "the sandbox ended before its guest was ready"));
  destroy(*x, "lost");
}

void provider_state::reap() {
  table_.forget_ended(now());
  for (auto& id : pool_.expired(now(), settings_.idle_timeout, settings_.lease_idle_timeout)) {
    auto& x = *table_.find(id);
    auto limit = leases_.count(id) > 0 ? settings_.lease_idle_timeout : settings_.idle_timeout;
    if (x.state == phase::ready)
      retire(x, now() - limit, [this, id](const retirement& answer) {
        if (auto x = table_.find(id); x && answer.retired)
          destroy(*x, "reaped");
      });
  }
  for (auto& [id, x] : table_)
    if (x.doomed)
      end_if_unused(x, "destroyed");
}

/// Ends a sandbox that nothing uses, or leaves it doomed until nothing does.
void provider_state::end_if_unused(slot& x, reason why) {
  x.doomed = true;
  if (x.state != phase::ready)
    return;
  retire(x, time_point::max(), [this, id = x.id, why](const retirement& answer) {
    if (auto x = table_.find(id); x && answer.retired)
      destroy(*x, why);
  });
}

// -- requests about sandboxes --

caf::result<grant> provider_state::find(const std::string& id) {
  auto found = table_.resolve(id);
  if (!found)
    return to_caf(found.error());
  auto& x = **found;
  if (x.state == phase::ending)
    return to_caf(corral::lost("false", "it is being destroyed"));
  auto origin = leases_.count(x.id) > 0 ? "active" : "warm";
  if (x.state == phase::ready)
    return grant{x.id, x.who, x.actor, {}, origin, x.session};
  auto promise = self_->make_response_promise<grant>();
  x.waiters.push_back({{x.who, {}, false}, promise});
  return promise;
}

caf::result<fields_ptr> provider_state::inspect(const std::string& id) {
  auto found = table_.resolve(id);
  if (!found && found.error().code == errc::invalid_request)
    return to_caf(found.error());
  if (!found)
    return share(fields{}.set("found", false));
  auto& x = **found;
  fields row;
  row.set("found", true).set("sandbox", x.id).set("state", state_of(x));
  row.set("user", x.who.user).set("pool", settings_.pool).set("leases", leases_.count(x.id));
  x.anonymous ? row.set("thread", nullptr) : row.set("thread", x.who.thread);
  row.set("session", x.session);
  if (x.state == phase::starting || x.state == phase::ending)
    return share(row);
  auto promise = self_->make_response_promise<fields_ptr>();
  self_->request(x.actor, caf::infinite, inspect_atom::value)
      .then(
          [this, promise, row](const sandbox_usage& u) mutable {
            if (row.text("state") == "parked" && (u.running || u.active > 0 || u.waiting > 0))
              row.set("state", "borrowed");
            fields usage;
            auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(now() - u.used_at);
            usage.set("execs", u.execs).set("running", u.running).set("active", u.active);
            usage.set("idle_ms", std::max<int64_t>(idle.count(), 0));
            row.set("queue", u.waiting).set("usage", usage).set("session", u.session);
            promise.deliver(share(row));
          },
          [promise](const caf::error&) mutable {
            promise.deliver(share(fields{}.set("found", false)));
          });
  return promise;
}

std::string provider_state::state_of(const slot& x) const {
  if (x.state == phase::starting || x.state == phase::ending)
    return std::string{to_string(x.state)};
  return leases_.count(x.id) > 0 ? "leased" : "parked";
}

std::vector<fields> provider_state::list(const std::string& state, const std::string& user) {
  std::vector<fields> rows;
  for (auto& [id, x] : table_) {
    auto is = state_of(x);
    if ((!state.empty() && state != is) || (!user.empty() && user != x.who.user))
      continue;
    fields row;
    row.set("sandbox", id).set("user", x.who.user).set("pool", settings_.pool);
    x.anonymous ? row.set("thread", nullptr) : row.set("thread", x.who.thread);
    row.set("state", is).set("leases", leases_.count(id));
    rows.push_back(std::move(row));
  }
  return rows;
}

caf::result<fields_ptr> provider_state::release(const client_key& client, const std::string& id,
                                                const std::string& lease) {
  auto found = table_.resolve(id);
  if (!found)
    return to_caf(found.error());
  auto& x = **found;
  if (x.state == phase::ending)
    return to_caf(corral::lost("false", "it is being destroyed"));
  auto dropped = leases_.release(client, x.id, lease);
  if (!dropped)
    return to_caf({errc::invalid_request,
                   lease.empty() ? "this client does not hold exactly one lease on the sandbox"
                                 : "this client holds no such lease on the sandbox",
                   {}});
  released(*dropped);
  return share(
      fields{}.set("remaining", leases_.count(x.id)).set("state", state_of(x)).set("released", 1));
}

fields_ptr provider_state::release_all(const client_key& client) {
  for (auto& [id, x] : table_)
    std::erase_if(x.waiters, [&](auto& w) {
      if (w.order.client != client)
        return false;
      w.promise.deliver(to_caf({errc::invalid_request, "the client has gone", {}}));
      return true;
    });
  auto dropped = leases_.release_client(client);
  for (auto& x : dropped)
    released(x);
  return share(fields{}.set("remaining", 0).set("released", dropped.size()));
}

void provider_state::released(const lease_table::lease& lease) {
  auto x = table_.find(lease.sandbox);
  if (!x)
    return;
  pool_.touch(x->id, now());
  tell("released", *x, fields{}.set("remaining", leases_.count(x->id)));
  if (leases_.count(x->id) > 0)
    return;
  pool_.set_active(x->id, false);
  if (x->anonymous)
    end_if_unused(*x, "destroyed");
}

caf::result<fields_ptr> provider_state::destroy_for(const std::string& id, const client_key& client,
                                                    bool force, bool purge) {
  auto found = table_.resolve(id);
  if (!found)
    return to_caf(found.error());
  auto& x = **found;
  auto in_use = error{errc::busy, "the sandbox is in use; force ends it all the same", {}};
  auto ending = x.state == phase::ending;
  auto may_end =
      force ? bool{x.actor} : x.state == phase::ready && !leases_.held_by_others(x.id, client);
  if (!ending && !may_end)
    return to_caf(in_use);
  auto promise = self_->make_response_promise<fields_ptr>();
  auto join = [promise, purge](slot& x) {
    x.purge |= purge;
    x.destroyers.push_back(promise);
  };
  if (ending) {
    join(x);
  } else if (force) {
    join(x);
    self_->send(x.actor, kill_atom::value);
    destroy(x, "destroyed");
  } else {
    retire(x, time_point::max(),
           [this, id = x.id, promise, join, in_use](const retirement& answer) mutable {
             auto& x = *table_.find(id);
             if (!answer.retired && x.state != phase::ending) {
               promise.deliver(to_caf(in_use));
               return;
             }
             join(x);
             if (x.state != phase::ending)
               destroy(x, "destroyed");
           });
  }
  return promise;
}

fields_ptr provider_state::stats() {
  fields events, acquired, x;
  for (auto& [name, n] : events_)
    events.set(name, n);
  for (auto& [origin, n] : acquired_)
    acquired.set(origin, n);
  x.set("pool", settings_.pool).set("sandboxes", table_.size()).set("active", pool_.active());
  x.set("warm", pool_.warm()).set("replicas", settings_.replicas);
  x.set("max_sandboxes", settings_.max_sandboxes).set("leases", leases_.size());
  x.set("backend_queue", crew_.queued()).set("events", events).set("acquires", acquired);
  return share(x);
}

// -- shutdown and time --

caf::result<caf::ok_atom> provider_state::drain(duration limit) {
  auto until = now() + limit;
  drain_until_ = std::min(drain_until_.value_or(until), until);
  auto promise = self_->make_response_promise<caf::ok_atom>();
  drained_.push_back(promise);
  for (auto& [id, x] : table_) {
    for (auto& w : std::exchange(x.waiters, {}))
      w.promise.deliver(to_caf(shutting_down()));
    if (x.actor)
      self_->send(x.actor, drain_atom::value);
  }
  drain_step();
  return promise;
}

/// Takes away what has become idle, and everything once the time is up.
void provider_state::drain_step() {
  if (table_.size() == 0) {
    for (auto& d : std::exchange(drained_, {}))
      d.deliver(caf::ok_atom::value);
    return;
  }
  auto over = now() >= *drain_until_;
  for (auto& [id, x] : table_) {
    if (x.state == phase::ready && !over)
      end_if_unused(x, "destroyed");
    else if (over && x.state != phase::ending && x.actor) {
      self_->send(x.actor, kill_atom::value);
      destroy(x, "destroyed");
    }
  }
  rearm();
}

void provider_state::tick(uint64_t epoch) {
  if (!timer_.fired(epoch))
    return;
  for (auto& [id, x] : table_) {
    if (!x.deadline || *x.deadline > now())
      continue;
    if (x.state == phase::ending)
      tear_down(id);
    else
      fail_and_destroy(x, at_step("connect", "the guest did not answer in time"));
  }
  if (drain_until_)
    drain_step();
  rearm();
}

void provider_state::rearm() {
  std::optional<time_point> due;
  for (auto& [id, x] : table_)
    if (x.deadline && (!due || *x.deadline < *due))
      due = x.deadline;
  if (drain_until_ && table_.size() > 0) {
    auto poll = now() + drain_poll;
    if (*drain_until_ > now())
      poll = std::min(poll, *drain_until_);
    due = due ? std::min(*due, poll) : poll;
  }
  timer_.arm(self_, due);
}

void provider_state::tell(std::string_view event, const slot& x, fields more) {
  ++events_[std::string{event}];
  more.set("pool", settings_.pool).set("sandbox", x.id).set("user", x.who.user);
  x.anonymous ? more.set("thread", nullptr) : more.set("thread", x.who.thread);
  parts_.observe(event, more);
}

} // namespace corral

// The provider: from an order to a grant.

#include "actors/provider.hpp"

#include "actors/guest_protocol.hpp"
#include "actors/provider_answers.hpp"
#include "os/random.hpp"

#include <algorithm>

namespace corral {

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
  x.since = now();
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
  auto made_in = in_ms(now() - std::exchange(x->since, now()));
  tell("created", *x, fields{}.set("origin", x->origin).set("create_ms", made_in));
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

} // namespace corral

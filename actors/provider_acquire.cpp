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
  auto until = now() + order.wait.value_or(settings_.wait_timeout);
  x.waiters.push_back({std::move(order), promise, until});
  if (!known)
    enter(x);
  else if (x.state == phase::waiting)
    rearm();
  else if (known->state == phase::ready)
    x.stale ? end_if_unused(x, "destroyed") : probe(x);
  return promise;
}

/// Behind those who wait already, if any do.
void provider_state::enter(slot& x) {
  if (settings_.overflow == when_full::wait && !queue_.empty() && !x.waiters.empty())
    queue_up(x, false);
  else
    begin(x);
}

void provider_state::queue_up(slot& x, bool had_turn) {
  auto& order = x.waiters.front().order;
  auto& turn = order.turn.empty() ? order.client : order.turn;
  x.state = phase::waiting;
  had_turn ? queue_.put_back(turn, x.id) : queue_.add(turn, x.id);
  retry_at_ = now() + busy_retry;
  if (!had_turn)
    serve_queue();
  rearm();
}

void provider_state::begin(slot& x) {
  x.state = phase::starting;
  x.since = now();
  if (table_.occupied() <= settings_.replicas && !user_is_full(x))
    return create(x.id);
  make_room(x.id, {});
}

/// Counting the one that is to be made.
bool provider_state::user_is_full(const slot& x) const {
  auto counted = table_.occupied_by(x.who.user) + (x.is_there() ? 0 : 1);
  return x.who.user != "default" && counted > settings_.max_per_user;
}

/// The warm sandbox that has to go for this one: its user's own, if that has too many.
std::optional<std::string> provider_state::victim_for(const slot& x,
                                                      const std::vector<std::string>& busy) const {
  auto skip = busy;
  auto full = user_is_full(x);
  for (auto& [other, y] : table_)
    if (y.state != phase::ready || (full && y.who.user != x.who.user))
      skip.push_back(other);
  return pool_.least_recently_used(skip);
}

/// Evicts a warm sandbox, or decides what happens without one. `busy` have said no and are not
/// asked again.
void provider_state::make_room(const std::string& id, std::vector<std::string> busy) {
  auto newcomer = table_.find(id);
  if (!newcomer || newcomer->state != phase::starting)
    return;
  if (drain_until_)
    return fail(*newcomer, shutting_down());
  auto victim = victim_for(*newcomer, busy);
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
  if (settings_.overflow == when_full::wait && !x.waiters.empty())
    return queue_up(x, std::exchange(x.had_turn, false));
  auto may_burst = settings_.overflow == when_full::burst && !user_is_full(x);
  if (!may_burst || table_.occupied() > settings_.max_sandboxes)
    return fail(x, no_room(x));
  tell("burst", x, fields{}.set("replicas", settings_.replicas));
  create(x.id);
}

error provider_state::no_room(const slot& x) const {
  auto position = queue_.position(x.id).value_or(queue_.size());
  fields details;
  details.set("active", pool_.active()).set("warm", pool_.warm());
  details.set("replicas", settings_.replicas).set("max_sandboxes", settings_.max_sandboxes);
  details.set("position", position);
  details.set("retry_after_ms", queue_.estimate(position).count());
  if (user_is_full(x))
    return {errc::capacity_exceeded,
            "user " + x.who.user
                + " has as many sandboxes as a user may: release some, or raise "
                  "max_per_user",
            details.set("max_per_user", settings_.max_per_user)};
  return {errc::capacity_exceeded,
          "pool " + settings_.pool + " is full: release sandboxes, or raise "
              + (settings_.overflow == when_full::burst ? "max_sandboxes" : "replicas"),
          details};
}

/// Lets those go on that there is room for now.
void provider_state::serve_queue() {
  while (!queue_.empty() && !drain_until_) {
    auto next = queue_.take([this](const std::string& id) {
      auto& x = *table_.find(id);
      auto room = table_.occupied() < settings_.replicas && !user_is_full(x);
      return room || victim_for(x, {});
    });
    if (!next)
      return;
    auto& x = *table_.find(*next);
    x.had_turn = true;
    begin(x);
  }
}

/// Answers those whose time to wait is over.
void provider_state::expire_waiting() {
  for (auto& [id, x] : table_) {
    if (x.state != phase::waiting)
      continue;
    auto why = no_room(x);
    std::erase_if(x.waiters, [&](auto& w) {
      if (w.until > now())
        return false;
      w.promise.deliver(to_caf(why));
      return true;
    });
  }
  stop_waiting();
}

/// Forgets those that nobody waits for any more.
void provider_state::stop_waiting() {
  std::vector<std::string> gone;
  for (auto& [id, x] : table_)
    if (x.state == phase::waiting && x.waiters.empty())
      gone.push_back(id);
  for (auto& id : gone) {
    queue_.erase(id);
    table_.forget(id);
  }
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
  auto refused =
      !made && (made.error().code == errc::identity_collision || made.error().code == errc::moved);
  if (refused)
    return fail(*x, made.error());
  if (!made) {
    // A worker that hung may still bring something up: that is for the destroy to find.
    fail_and_destroy(*x, made.error());
    return;
  }
  if (made->first->who != x->who)
    return fail(*x, {errc::identity_collision, "another owner's sandbox has this thread's id", {}});
  x->origin = made->second ? "discovered" : "created";
  await_guest(*x, made->first);
}

/// An earlier run left it: its guest dials again.
void provider_state::adopt(const endpoint_ptr& found) {
  auto& x = table_.add(found->id, found->who, false);
  x.origin = "discovered";
  x.since = now();
  x.doomed = x.stale = found->stale;
  await_guest(x, found);
}

void provider_state::await_guest(slot& x, const endpoint_ptr& where) {
  x.actor = parts_.make_sandbox(where, provider_actor{self_});
  auto limit = x.origin == "discovered" ? std::min(settings_.found_limit, settings_.connect_limit)
                                        : settings_.connect_limit;
  x.deadline = now() + limit;
  self_->monitor(x.actor);
  rearm();
}

void provider_state::up(const std::string& id, int64_t session) {
  auto x = table_.find(id);
  if (!x || x->state != phase::starting || !x->actor)
    return; // Of an earlier attempt.
  x->session = session;
  pool_.add(id, now());
  auto adopted = x->origin == "discovered";
  auto made_in = in_ms(now() - std::exchange(x->since, now()));
  tell(adopted ? "adopted" : "created", *x,
       fields{}.set("origin", x->origin).set(adopted ? "adopt_ms" : "create_ms", made_in));
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
  if (x.stale && origin == "discovered")
    return end_if_unused(x, "destroyed"); // Who waits gets a fresh one, or this if it is in use.
  auto waiters = std::exchange(x.waiters, {});
  pool_.set_active(x.id, leases_.count(x.id) > 0);
  for (auto& w : waiters)
    w.promise.deliver(hand_out(x, w.order, origin));
  if (waiters.empty() && x.anonymous)
    end_if_unused(x, "destroyed"); // Nobody knows it.
  if (drain_until_)
    drain_step();
  else if (leases_.count(x.id) == 0)
    serve_queue(); // It can be evicted.
}

grant provider_state::hand_out(slot& x, const acquire_order& order, std::string origin) {
  ++acquired_[origin];
  pool_.touch(x.id, now());
  grant g{x.id, x.who, x.actor, {}, std::move(origin), x.session, settings_.pool};
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
  tell("gone", x);
  table_.forget(x.id);
  for (auto& w : waiters)
    w.promise.deliver(to_caf(why));
  serve_queue();
}

void provider_state::fail_and_destroy(slot& x, const error& why) {
  tell("failed", x, fields{}.set("reason", why.message));
  if (x.origin == "discovered") // Those who wait get a fresh one.
    return destroy(x, "failed");
  for (auto& w : std::exchange(x.waiters, {}))
    w.promise.deliver(to_caf(why));
  destroy(x, "failed");
}

} // namespace corral

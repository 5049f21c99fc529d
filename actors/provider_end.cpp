// The provider: how a sandbox is taken away, and what happens when one is lost.

#include "actors/provider.hpp"

#include "actors/guest_protocol.hpp"
#include "actors/provider_answers.hpp"
#include "os/random.hpp"

#include <algorithm>

namespace corral {

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
    tell(why, x, fields{}.set("lived_ms", in_ms(now() - x.since)));
  if (x.actor && (why == "lost" || why == "failed"))
    self_->send(x.actor, kill_atom::value);
  tear_down(x.id);
  if (auto then = std::exchange(x.on_retire_answer, nullptr))
    then({}); // It ended in another way before it answered.
  if (why != "evicted") {
    queue_.freed(now());
    serve_queue();
  }
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
  tell("gone", x);
  auto ended = std::move(x);
  if (ended.was_ready)
    table_.erase(id, ended.who, now());
  else
    table_.forget(id);
  for (auto& d : ended.destroyers)
    d.deliver(share(fields{}.set("destroyed", gone.has_value()).set("sandbox", id)));
  if (!ended.waiters.empty()) {
    auto& fresh = table_.add(id, ended.who, ended.anonymous);
    fresh.waiters = std::move(ended.waiters);
    drain_until_ ? fail(fresh, shutting_down()) : enter(fresh);
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
  auto late = last_reap_ ? now() - *last_reap_ - settings_.reap_interval : duration::zero();
  last_reap_ = now();
  if (settings_.reap_interval > duration::zero() && late > 2 * settings_.reap_interval) {
    // The machine was stopped: nobody could use anything meanwhile.
    pool_.shift(late);
    for (auto& [id, x] : table_)
      if (x.actor)
        self_->send(x.actor, late_atom::value, late);
    parts_.observe(
        "late",
        fields{}
            .set("pool", settings_.pool)
            .set("late_ms", std::chrono::duration_cast<std::chrono::milliseconds>(late).count()));
  }
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
    if (x.doomed && leases_.count(id) == 0)
      end_if_unused(x, "destroyed");
}

/// Ends a sandbox that nothing uses, or leaves it doomed until nothing does.
void provider_state::end_if_unused(slot& x, reason why) {
  x.doomed = true;
  if (x.state != phase::ready)
    return;
  retire(x, time_point::max(), [this, id = x.id, why](const retirement& answer) {
    auto x = table_.find(id);
    if (x && answer.retired)
      stays(*x) ? leave(*x) : destroy(*x, why);
  });
}

void provider_state::configure(const pool_limits& x) {
  static_cast<pool_limits&>(settings_) = x;
  shrink();
  serve_queue();
}

/// Evicts what is warm beyond the replicas, the least recently used first.
void provider_state::shrink() {
  std::vector<std::string> skip;
  for (auto& [id, x] : table_)
    if (x.state != phase::ready)
      skip.push_back(id);
  auto victim = pool_.least_recently_used(skip);
  if (table_.occupied() <= settings_.replicas || !victim)
    return;
  retire(*table_.find(*victim), *pool_.used_at(*victim), [this, victim](const retirement& answer) {
    auto x = table_.find(*victim);
    if (!x || !answer.retired)
      return; // It is in use; its turn comes when room is needed.
    destroy(*x, "evicted");
    shrink();
  });
}

/// True if this daemon ends and the sandbox does not.
bool provider_state::stays(const slot& x) const {
  return drain_until_ && settings_.keep_on_drain && x.was_ready && !x.anonymous;
}

void provider_state::leave(slot& x) {
  tell("left", x);
  pool_.erase(x.id);
  leases_.erase_sandbox(x.id);
  self_->send(x.actor, leave_atom::value);
  for (auto& w : x.waiters)
    w.promise.deliver(to_caf(shutting_down()));
  for (auto& d : x.destroyers)
    d.deliver(to_caf(shutting_down()));
  auto then = std::exchange(x.on_retire_answer, nullptr);
  table_.forget(x.id);
  if (then)
    then({});
  if (table_.size() == 0)
    drain_step();
}

} // namespace corral

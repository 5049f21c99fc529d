#include "actors/provider.hpp"

#include "actors/provider_answers.hpp"
#include "actors/supervision.hpp"

#include <algorithm>

namespace corral {

namespace {

constexpr duration drain_poll = std::chrono::milliseconds{50};
constexpr duration lateness = std::chrono::seconds{2}; // Of a timer: this process was stopped.

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
  for (auto& x : std::exchange(parts_.found, {}))
    adopt(x);
  return {
      [this](acquire_atom, acquire_order& x) { return acquire(std::move(x)); },
      [this](find_atom, const std::string& id) { return find(id); },
      [this](owner_atom, const std::string& id) { return owner_of(id); },
      [this](inspect_atom, const std::string& id) { return inspect(id); },
      [this](list_atom, const std::string&, const std::string& state, const std::string& user) {
        return list(state, user);
      },
      [this](release_atom, const client_key& client, const std::string& id,
             const std::string& lease) { return release(client, id, lease); },
      [this](release_atom, const client_key& client) { return release_all(client); },
      [this](destroy_atom, const std::string& id, const client_key& client, bool force,
             bool purge) { return destroy_for(id, client, force, purge); },
      [this](stats_atom) { return std::vector{stats()}; },
      [this](configure_atom, const pool_limits& x) { configure(x); },
      [this](reap_atom) { reap(); },
      [this](drain_atom, duration limit) { return drain(limit); },
      [this](up_atom, const std::string& id, int64_t session) { up(id, session); },
      [this](tick_atom, uint64_t epoch) { tick(epoch); },
  };
}

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
  stop_waiting();
  drain_step();
  return promise;
}

/// Parts with what has become idle, and with everything once the time is up.
void provider_state::drain_step() {
  auto over = now() >= *drain_until_;
  std::vector<std::string> open;
  for (auto& [id, x] : table_)
    if (x.state != phase::ending)
      open.push_back(id);
  for (auto& id : open) {
    auto x = table_.find(id);
    if (!x || x->state == phase::ending)
      continue;
    if (over && stays(*x)) {
      leave(*x);
    } else if (over && x->actor) {
      self_->send(x->actor, kill_atom::value);
      destroy(*x, "destroyed");
    } else if (x->state == phase::ready) {
      end_if_unused(*x, "destroyed");
    }
  }
  if (table_.size() == 0)
    for (auto& d : std::exchange(drained_, {}))
      d.deliver(caf::ok_atom::value);
  rearm();
}

void provider_state::tick(uint64_t epoch) {
  if (!timer_.fired(epoch))
    return;
  if (auto due = next_due(); due && now() - *due > lateness)
    forgive(now() - *due + lateness);
  std::vector<std::string> over;
  for (auto& [id, x] : table_)
    if (x.deadline && *x.deadline <= now())
      over.push_back(id);
  for (auto& id : over) {
    auto x = table_.find(id);
    if (!x)
      continue; // The end of another took it along.
    if (x->state == phase::ending)
      tear_down(id);
    else
      fail_and_destroy(*x, at_step("connect", "the guest did not answer in time"));
  }
  if (drain_until_)
    drain_step();
  expire_waiting();
  if (retry_at_ && *retry_at_ <= now()) {
    retry_at_.reset();
    serve_queue();
    if (!queue_.empty() && !retry_at_ && leases_.sandboxes() < table_.occupied())
      retry_at_ = now() + busy_retry; // What nobody leases may be free by then.
  }
  rearm();
}

std::optional<time_point> provider_state::next_due() const {
  std::optional<time_point> due;
  auto consider = [&due](time_point x) { due = due ? std::min(*due, x) : x; };
  for (auto& [id, x] : table_) {
    if (x.deadline)
      consider(*x.deadline);
    if (x.state == phase::waiting)
      for (auto& w : x.waiters)
        consider(w.until);
  }
  return due;
}

/// Time stood still: nobody could keep what was due meanwhile.
void provider_state::forgive(duration late) {
  for (auto& [id, x] : table_) {
    if (x.deadline)
      *x.deadline += late;
    for (auto& w : x.waiters)
      w.until += late;
  }
}

void provider_state::rearm() {
  auto due = next_due();
  auto consider = [&due](time_point x) { due = due ? std::min(*due, x) : x; };
  if (!queue_.empty() && retry_at_)
    consider(*retry_at_);
  if (drain_until_ && table_.size() > 0) {
    auto poll = now() + drain_poll;
    if (*drain_until_ > now())
      poll = std::min(poll, *drain_until_);
    consider(poll);
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

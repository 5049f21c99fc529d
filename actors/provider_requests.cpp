// The provider: requests about sandboxes that are there.

#include "actors/provider.hpp"

#include "actors/guest_protocol.hpp"
#include "actors/provider_answers.hpp"
#include "os/random.hpp"

#include <algorithm>

namespace corral {

caf::result<grant> provider_state::find(const std::string& id) {
  auto found = table_.resolve(id);
  if (!found)
    return to_caf(drain_until_ ? shutting_down() : found.error());
  auto& x = **found;
  if (x.state == phase::ending)
    return to_caf(corral::lost("false", "it is being destroyed"));
  auto origin = leases_.count(x.id) > 0 ? "active" : "warm";
  if (x.state == phase::ready)
    return grant{x.id, x.who, x.actor, {}, origin, x.session, settings_.pool};
  auto promise = self_->make_response_promise<grant>();
  x.waiters.push_back({{x.who, {}, false}, promise, now() + settings_.wait_timeout});
  return promise;
}

caf::result<owner> provider_state::owner_of(const std::string& id) const {
  auto x = table_.owner_of(id);
  return x ? caf::result<owner>{*x} : to_caf(unknown_sandbox());
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
  row.set("session", x.session).set("stale", x.stale);
  if (!x.actor || x.state == phase::starting || x.state == phase::ending)
    return share(row);
  auto promise = self_->make_response_promise<fields_ptr>();
  self_->request(x.actor, caf::infinite, inspect_atom::value)
      .then(
          [this, promise, row](const sandbox_usage& u) mutable {
            if (row.text("state") == "parked" && u.is_working())
              row.set("state", "borrowed");
            fields usage;
            auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(now() - u.used_at);
            usage.set("execs", u.execs).set("running", u.running).set("active", u.active);
            usage.set("idle_ms", std::max<int64_t>(idle.count(), 0));
            row.set("queue", u.waiting).set("usage", usage).set("session", u.session);
            promise.deliver(share(row));
          },
          [promise, row](const caf::error&) mutable { // It has just ended.
            promise.deliver(share(row.set("state", "ending")));
          });
  return promise;
}

std::string provider_state::state_of(const slot& x) const {
  if (!x.is_there() || x.state == phase::starting)
    return std::string{to_string(x.state)};
  return leases_.count(x.id) > 0 ? "leased" : "parked";
}

/// Whether one without leases is parked or borrowed only its sandbox knows.
caf::result<std::vector<fields>> provider_state::list(const std::string& state,
                                                      const std::string& user) {
  struct gathering {
    std::vector<fields> rows;
    size_t open = 1; // This very call.
  };
  auto all = std::make_shared<gathering>();
  auto promise = self_->make_response_promise<std::vector<fields>>();
  auto answered = [all, promise, state]() mutable {
    if (--all->open > 0)
      return;
    std::erase_if(all->rows, [&](auto& x) { return !state.empty() && x.text("state") != state; });
    promise.deliver(all->rows);
  };
  for (auto& [id, x] : table_) {
    if (!user.empty() && user != x.who.user)
      continue;
    fields row;
    row.set("sandbox", id).set("user", x.who.user).set("pool", settings_.pool);
    x.anonymous ? row.set("thread", nullptr) : row.set("thread", x.who.thread);
    row.set("state", state_of(x)).set("leases", leases_.count(id));
    all->rows.push_back(std::move(row));
    if (state_of(x) != "parked" || !x.actor)
      continue;
    ++all->open;
    self_->request(x.actor, caf::infinite, inspect_atom::value)
        .then(
            [all, answered, at = all->rows.size() - 1](const sandbox_usage& u) mutable {
              if (u.is_working())
                all->rows[at].set("state", "borrowed");
              answered();
            },
            [answered](const caf::error&) mutable { answered(); });
  }
  answered();
  return promise;
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
  stop_waiting();
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
  queue_.freed(now());
  if (x->anonymous || x->stale)
    end_if_unused(*x, "destroyed");
  serve_queue();
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

fields provider_state::stats() {
  fields events, acquired, x;
  for (auto& [name, n] : events_)
    events.set(name, n);
  for (auto& [origin, n] : acquired_)
    acquired.set(origin, n);
  x.set("pool", settings_.pool).set("sandboxes", table_.size()).set("active", pool_.active());
  x.set("warm", pool_.warm()).set("replicas", settings_.replicas);
  x.set("max_sandboxes", settings_.max_sandboxes).set("leases", leases_.size());
  x.set("waiting", queue_.size()).set("max_per_user", settings_.max_per_user);
  x.set("backend_queue", crew_.queued()).set("events", events).set("acquires", acquired);
  return x;
}

} // namespace corral

#pragma once

#include "actors/capacity_queue.hpp"
#include "actors/deadline_timer.hpp"
#include "actors/lease_table.hpp"
#include "actors/sandbox_table.hpp"
#include "actors/warm_pool.hpp"
#include "actors/worker_crew.hpp"

#include <caf/result.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>

namespace corral {

struct provider_settings : pool_limits {
  std::string pool = "default";
  duration reap_interval{0}; ///< A reap late by more than two of these moves the clocks. 0: off.
  duration connect_limit = std::chrono::seconds{60}; ///< From the start to the guest's hello.
  duration found_limit = std::chrono::seconds{5};    ///< The same for one that is there already.
  duration destroy_retry = std::chrono::seconds{5};  ///< Between attempts that failed.
  worker_crew::limits crew;
};

/// Makes the actor of a sandbox that has been started.
/// It tells the provider with `up` when its guest is there.
using sandbox_factory = std::function<sandbox_actor(const endpoint_ptr&, const provider_actor&)>;

/// Hears of a sandbox's life: "created", "acquired", "released", "evicted", "reaped", "lost",
/// "destroyed", "burst" or "failed", with the fields of a log line; and "gone" when nothing is left
/// of it here.
using lifecycle_observer = std::function<void(std::string_view event, const fields& about)>;

struct provider_parts {
  worker_factory make_worker;
  sandbox_factory make_sandbox;
  lifecycle_observer observe;
  std::vector<endpoint_ptr> found; ///< What an earlier run left: warm once their guests are there.
};

class provider_state {
public:
  static constexpr const char* name = "provider";

  explicit provider_state(provider_actor::pointer self) : self_{self} {}

  provider_actor::behavior_type make_behavior(provider_settings settings, provider_parts parts);

private:
  using slot = sandbox_slot;
  using phase = sandbox_slot::phase;
  /// Why a sandbox is taken away; also the event that is told.
  using reason = std::string_view;

  /// How soon what is warm and works is asked again, while somebody waits for room.
  static constexpr duration busy_retry = std::chrono::milliseconds{100};

  // Acquire.
  caf::result<grant> acquire(acquire_order order);
  void enter(slot& x);
  void queue_up(slot& x, bool had_turn);
  void begin(slot& x);
  void make_room(const std::string& id, std::vector<std::string> busy);
  void overflow(slot& x);
  error no_room(const slot& x) const;
  bool user_is_full(const slot& x) const;
  std::optional<std::string> victim_for(const slot& x, const std::vector<std::string>& busy) const;
  void serve_queue();
  void expire_waiting();
  void stop_waiting();
  void create(const std::string& id);
  void adopt(const endpoint_ptr& x);
  void await_guest(slot& x, const endpoint_ptr& where);
  void created(const std::string& id, result<std::pair<endpoint_ptr, bool>> made);
  void up(const std::string& id, int64_t session);
  void probe(slot& x);
  void ready(slot& x);
  grant hand_out(slot& x, const acquire_order& order, std::string origin);
  void fail(slot& x, const error& why);
  void fail_and_destroy(slot& x, const error& why);

  // The end of a sandbox.
  void retire(slot& x, time_point unused_since, std::function<void(const retirement&)> then);
  void destroy(slot& x, reason why);
  void tear_down(const std::string& id);
  void torn_down(const std::string& id, bool purged, const result<void>& gone);
  void lost(const caf::down_msg& x);
  void reap();
  void end_if_unused(slot& x, reason why);
  void configure(const pool_limits& x);
  void shrink();

  // Requests about sandboxes.
  caf::result<grant> find(const std::string& id);
  caf::result<owner> owner_of(const std::string& id) const;
  caf::result<fields_ptr> inspect(const std::string& id);
  caf::result<std::vector<fields>> list(const std::string& state, const std::string& user);
  caf::result<fields_ptr> release(const client_key& client, const std::string& id,
                                  const std::string& lease);
  fields_ptr release_all(const client_key& client);
  void released(const lease_table::lease& x);
  caf::result<fields_ptr> destroy_for(const std::string& id, const client_key& client, bool force,
                                      bool purge);
  fields stats();
  std::string state_of(const slot& x) const;

  // Shutdown and time.
  caf::result<caf::ok_atom> drain(duration limit);
  void drain_step();
  bool stays(const slot& x) const;
  void leave(slot& x);
  void tick(uint64_t epoch);
  std::optional<time_point> next_due() const;
  void forgive(duration late);
  void rearm();

  void tell(std::string_view event, const slot& x, fields more = {});
  time_point now() const { return self_->clock().now(); }

  provider_actor::pointer self_;
  provider_settings settings_;
  provider_parts parts_;
  worker_crew crew_;
  sandbox_table table_;
  warm_pool pool_;
  lease_table leases_;
  capacity_queue queue_;
  std::optional<time_point> retry_at_; // What is warm and works may be free by then.
  std::optional<time_point> last_reap_;
  deadline_timer timer_;
  std::map<std::string, uint64_t> events_;   // How often each was told.
  std::map<std::string, uint64_t> acquired_; // By origin.
  std::optional<time_point> drain_until_;
  std::vector<caf::typed_response_promise<caf::ok_atom>> drained_;
};

/// Spawn with `sys.spawn(provider, settings, parts)`.
provider_actor::behavior_type provider(provider_actor::stateful_pointer<provider_state> self,
                                       provider_settings settings, provider_parts parts);

} // namespace corral

#pragma once

#include "actors/deadline_timer.hpp"
#include "actors/exec_queue.hpp"
#include "actors/guest_protocol.hpp"
#include "messages/sandbox.hpp"
#include "providers/contract.hpp"

#include <caf/result.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>

namespace corral {

/// Makes the link to a sandbox's guest; it reports to the given actor and ends when the guest does.
using link_factory = std::function<link_actor(sandbox_actor)>;

/// Tells whoever made the sandbox that its guest is there, with the number of its shell session.
using ready_callback = std::function<void(int64_t session)>;

struct sandbox_settings {
  std::string id;
  exec_queue::limits queue;
  request_defaults defaults;
  duration backstop = std::chrono::seconds{5};   ///< Past a deadline that the guest enforces.
  duration ping_limit = std::chrono::seconds{2}; ///< For a guest to answer a ping.
  duration lateness = std::chrono::seconds{1};   ///< Of a timer that means that time stood still.
  /// What the memory limit did so far, if there is one; asked after an exec that failed.
  std::function<std::optional<memory_counters>()> memory = [] { return std::nullopt; };
  /// Hears of an exception, which ends the actor.
  std::function<void(const std::string&)> report = [](const std::string&) {};
};

class sandbox_state {
public:
  static constexpr const char* name = "sandbox";

  explicit sandbox_state(sandbox_actor::pointer self) : self_{self} {}

  sandbox_actor::behavior_type make_behavior(sandbox_settings settings,
                                             const link_factory& make_link, ready_callback ready);

private:
  /// A request that has not been answered yet.
  struct work {
    request_ptr what;
    answer_sink sink; // Null for an exec that was found.
    time_point submitted;
    std::optional<time_point> sent;                         // To the guest.
    std::optional<time_point> backstop;                     // When the guest must have answered.
    bool started = false;                                   // The guest said so.
    bool joined = false;                                    // A running exec of the same key.
    std::vector<std::pair<ticket_id, answer_sink>> cancels; // Answered with it.
  };
  struct ping {
    caf::typed_response_promise<bool> promise;
    time_point deadline;
  };

  void submit(submission x, const answer_sink& sink);
  void start_waiting();
  void start(ticket_id ticket);
  void cancel(ticket_id ticket, ticket_id target, const answer_sink& sink);
  void input(ticket_id ticket, ticket_id target, const message_ptr& x, const answer_sink& sink);
  void data(ticket_id ticket, const blob& piece, bool last);
  void credit(ticket_id ticket, uint64_t bytes, int64_t seq);
  caf::result<bool> probe();
  retirement retire(time_point unused_since);
  sandbox_usage usage() const;
  void drain();
  void up(const fields& hello);
  void take_over(const fields& hello);
  bool joins(const request& r) const;
  bool waits_here(const std::string& key) const;
  void from_guest(message& x);
  void finish(ticket_id ticket, message reply);
  void add_memory_kills(fields& result);
  void reply(const answer_sink& sink, ticket_id ticket, message x);
  void tick(uint64_t epoch);
  std::optional<time_point> next_due() const;
  void rearm() { timer_.arm(self_, next_due()); }
  void forgive(duration late);
  void lose(std::string_view cause);
  void leave();
  void end(const std::map<ticket_id, work>& works, const error& why);
  time_point now() const { return self_->clock().now(); }

  sandbox_actor::pointer self_;
  sandbox_settings settings_;
  link_actor link_;
  ready_callback ready_;
  exec_queue queue_{{}};
  std::map<ticket_id, work> works_;
  std::map<ticket_id, answer_sink> inputs_; // Under way to the guest.
  std::map<ticket_id, ping> pings_;
  ticket_id next_own_ = ticket_id{1} << 62; // Above every ticket of the bridge's.
  deadline_timer timer_;
  time_point used_at_;
  uint64_t execs_ = 0;
  uint64_t kills_ = 0; // By the memory limit, as far as execs have been told.
  int64_t session_ = 0;
  bool retired_ = false;
  bool draining_ = false;
};

/// Spawn with `sys.spawn(sandbox, settings, make_link, ready)`. It ends only when its link does, a
/// guest misses its backstop, it is killed, or its provider sends an exit after it retired;
/// whatever it was asked has been answered then.
sandbox_actor::behavior_type sandbox(sandbox_actor::stateful_pointer<sandbox_state> self,
                                     sandbox_settings settings, link_factory make_link,
                                     ready_callback ready);

} // namespace corral

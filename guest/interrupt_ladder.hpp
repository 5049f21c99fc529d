#pragma once

#include "guest/process_table.hpp"

#include <chrono>
#include <map>

namespace corral::guest {

/// How a command that must end is made to: SIGINT at once, SIGTERM after 0.6 s, SIGKILL after
/// 1.2 s, and at 1.7 s its shell too. Decides only; the caller passes the time in and signals.
class interrupt_ladder {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds terminate_after{600};
  static constexpr std::chrono::milliseconds kill_after{1200};
  static constexpr std::chrono::milliseconds give_up_after{1700};
  static constexpr std::chrono::milliseconds tick{50};

  explicit interrupt_ladder(time_point start) : start_{start} {}

  /// What to send to a process at this tick; 0 if it has had it. One that ignores SIGINT, as a
  /// background job does, gets SIGTERM from the start: waiting for SIGINT to work would be idle.
  int signal_for(const process_entry& x, bool ignores_interrupt, time_point now);

  bool is_killing(time_point now) const { return now - start_ >= kill_after; }

  /// True once whatever is left can only be killed along with the shell.
  bool exhausted(time_point now) const { return now - start_ >= give_up_after; }

private:
  time_point start_;
  std::map<std::pair<pid_t, uint64_t>, int> sent_; // The strongest signal so far.
};

} // namespace corral::guest

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace corral {

/// How to start a program. Descriptors not listed are closed in the child.
struct spawn_options {
  std::vector<std::string> argv{};        ///< argv[0] is the program's path.
  std::vector<std::string> environment{}; ///< "NAME=value"; nothing is inherited.
  std::vector<std::pair<int, int>>
      descriptors{};        ///< (ours, the child's); 0 to 2 default to /dev/null.
  std::string directory{};  ///< Where it starts; empty: where we are.
  bool new_session = false; ///< setsid: no controlling terminal, no signals meant for our group.
};

/// A process of ours: killed and reaped with this object unless released.
class child_process {
public:
  /// Starts with posix_spawn (vfork underneath: the cost doesn't grow with our memory).
  static os_result<child_process> spawn(const spawn_options& options);

  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;
  ~child_process();

  pid_t pid() const { return pid_; }
  const unique_fd& pidfd() const { return pidfd_; }

  void kill(int signal);

  /// Leaves it to run on by itself.
  void release();

  /// Waits at most `limit`; the wait status, or nothing if it still runs then.
  std::optional<int> wait_for(std::chrono::milliseconds limit);

private:
  child_process(pid_t pid, unique_fd pidfd) : pid_{pid}, pidfd_{std::move(pidfd)} {}

  pid_t pid_ = -1;
  unique_fd pidfd_;
};

/// A process that need not be our child, named by pid and start time so that a reused pid is never
/// signalled.
class foreign_process {
public:
  /// ESRCH if there is no such process or its start time differs.
  static os_result<foreign_process> open(pid_t pid, uint64_t start_time);

  /// Success if the process is gone already.
  os_result<void> kill(int signal) const;

  /// True once it has ended (reaped or not).
  bool wait_for_end(std::chrono::milliseconds limit) const;

private:
  explicit foreign_process(unique_fd pidfd) : pidfd_{std::move(pidfd)} {}

  unique_fd pidfd_;
};

} // namespace corral

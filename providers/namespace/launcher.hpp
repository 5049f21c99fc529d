#pragma once

#include "os/child_process.hpp"
#include "os/error.hpp"
#include "providers/namespace/descriptors.hpp"
#include "providers/namespace/record_store.hpp"
#include "providers/namespace/settings.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace corral::jail {

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

os_result<pipe_ends> make_pipe();

/// What to start: bwrap's options (told through a descriptor: they may hold values that a process
/// list must not show), the sandbox's program, and the descriptors both refer to.
struct launch_plan {
  std::vector<std::string> options;
  std::vector<std::string> command;
  descriptors passed;
  pipe_ends status; ///< Its write end is in `passed`; closed here once started.
  std::vector<unique_fd> cgroups;
  std::vector<unique_fd> kept; ///< Others in `passed` that live as long as this.
  std::optional<uid_t> uid;    ///< Nothing: stay who we are.

  /// Passes a descriptor that is closed here with this plan; its number there.
  int keep(unique_fd fd) {
    kept.push_back(std::move(fd));
    return passed.pass(kept.back());
  }
};

/// A sandbox on its way: corral-launch has started and waits. Killed with this object unless taken.
class launcher {
public:
  /// Starts corral-launch, which joins the cgroups and then waits for `go`.
  static os_result<launcher> start(const namespace_settings& settings, launch_plan plan);

  /// corral-launch, which becomes bwrap.
  process_name outer() const { return outer_; }

  /// Lets it go on, once a record of `outer` has been written; returns the sandbox's init as soon
  /// as bwrap has told its pid. What it complained of is in the error.
  os_result<process_name> go(std::chrono::steady_clock::time_point deadline);

  /// Waits until someone dials `listener`: the sandbox's program runs.
  os_result<void> wait_for_dial(const unique_fd& listener,
                                std::chrono::steady_clock::time_point deadline);

  child_process take() { return std::move(process_); }

private:
  launcher(child_process process, process_name outer, unique_fd go, unique_fd status,
           unique_fd complaints)
      : process_{std::move(process)}, outer_{outer}, go_{std::move(go)}, status_{std::move(status)},
        complaints_{std::move(complaints)} {}

  tl::unexpected<os_error> failed(int number, std::string_view what);

  child_process process_;
  process_name outer_;
  unique_fd go_;
  unique_fd status_;
  unique_fd complaints_;
};

} // namespace corral::jail

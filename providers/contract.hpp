// What a kind of sandbox implements. Plain, blocking C++: no CAF, no event loop. Called from
// backend workers, several at once, never twice at once for one id.

#pragma once

#include "messages/wire/error.hpp"
#include "messages/wire/owner.hpp"
#include "os/unique_fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corral {

/// The sandbox to make.
struct sandbox_spec {
  std::string id;
  owner who;
  bool anonymous = false; ///< Its data goes with it.
};

/// How to reach the guest of a running sandbox.
struct endpoint {
  std::string id;
  owner who;
  std::shared_ptr<unique_fd> listener; ///< The guest dials this unix stream socket.
  pid_t guest_pid = 0;                 ///< As the daemon sees it; 0 where it can't be known.
  std::string secret;                  ///< Both sides prove it; 32 hex digits.
  bool stale = false;                  ///< Made with settings that are not in force any more.
};

struct backend_traits {
  std::string kind;                ///< Such as "namespace".
  bool isolated = true;            ///< Commands can't reach the host's files.
  bool thread_data_mounted = true; ///< Outputs can be read on the host under data_dir.
  bool adoptable = false;          ///< A later daemon can take over what runs.
  bool keeps_on_release = false;   ///< Release does nothing: the sandbox stays with its owner.
};

/// What a sandbox's memory limit did since its start; bytes, but for `kills`.
struct memory_counters {
  uint64_t kills = 0; ///< Processes ended by the out-of-memory killer.
  uint64_t limit = 0;
  uint64_t peak = 0;
};

/// Makes, finds and destroys environments of one kind. Every error is `sandbox_runtime` with
/// `details.step` naming the step that failed, unless a more precise code exists; no message holds
/// a host path.
class sandbox_backend {
public:
  virtual ~sandbox_backend() = default;

  virtual backend_traits traits() const = 0;

  /// Proves once, before anything is served, that this kind works here and isolates. The error's
  /// message says what to change, for an operator: it may name host paths.
  virtual result<void> probe() = 0;

  /// Things that are not enforced on this machine, a line each, for the log at start.
  virtual std::vector<std::string> warnings() const = 0;

  /// Makes a sandbox and returns once its guest has been started. Leaves nothing behind on failure.
  virtual result<endpoint> create(const sandbox_spec& spec) = 0;

  /// Takes over an environment that an earlier run left, so that its guest finds a listener again;
  /// `sandbox_not_found` if there is none that can be: ended, anonymous, or another pool's. What is
  /// left of it then is for `destroy`.
  virtual result<endpoint> discover(const std::string& id) = 0;

  /// Ends a sandbox with all its processes; gone already is success. `purge` removes its data too.
  virtual result<void> destroy(const std::string& id, bool purge) = 0;

  /// Ends a sandbox that a dead daemon with other directories made, by what that has on record in
  /// its state_dir; gone already is success.
  virtual result<void> end_left(const std::string& state_dir, const std::string& id) = 0;

  /// The ids of what is left from an earlier run.
  virtual std::vector<std::string> list() = 0;

  /// From now on what runs is left to a later run instead of being ended with this object.
  virtual void leave_running() = 0;

  /// False only if it is known to be dead.
  virtual bool healthy(const std::string& id) = 0;

  /// Nothing where memory isn't limited. Quick, and called from any thread.
  virtual std::optional<memory_counters> memory(const std::string& id) const = 0;
};

} // namespace corral

// What the guest does to its own process before it serves, and to all others when it ends.

#pragma once

#include "os/unique_fd.hpp"

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

namespace corral::guest {

/// Orphans become our children; signals that agent code can send do nothing; other processes can't
/// read our memory. SIGCHLD is blocked for the event loop.
void harden_process();

/// Closes every descriptor above 2 but these.
void close_descriptors_except(const std::vector<int>& kept);

/// As many descriptors as the system lets us have, for the output of background processes. Returns
/// the limit as it was, which is the shell's.
std::optional<rlimit> raise_descriptor_limit();

/// Makes the heap give back what a large output took: by default glibc raises its thresholds with
/// the sizes it sees and then keeps such memory for good.
void keep_heap_small();

/// The secret that the descriptor holds; it is closed. Empty if there is none.
std::string take_secret(unique_fd& from);

/// Ends all processes of the sandbox and reaps them.
void end_all_processes();

} // namespace corral::guest

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace corral::bench {

/// Resident memory of a process in bytes; 0 if it is gone.
uint64_t resident_bytes(pid_t pid);

/// Its proportional share of what is resident, where we may know that; else what is resident, which
/// is more.
uint64_t proportional_bytes(pid_t pid);

/// The guest and the shell of every sandbox of a daemon: its descendants other than bubblewrap,
/// with what a sandbox's processes take together.
std::vector<uint64_t> sandbox_bytes(pid_t daemon);

} // namespace corral::bench

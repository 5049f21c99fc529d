#pragma once

#include "os/child_process.hpp"
#include "os/error.hpp"
#include "providers/namespace/record_store.hpp"

#include <chrono>

namespace corral::jail {

/// Kills a sandbox's processes and waits until they are gone. Its init takes everything in its pid
/// namespace along; where its pid isn't known yet, it is the child of `outer`. `ours` is the same
/// process as `outer` where we started it, so that it is reaped; else null. ETIMEDOUT after
/// `limit`.
os_result<void> end_processes(process_name outer, process_name guest, child_process* ours,
                              std::chrono::milliseconds limit);

} // namespace corral::jail

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <chrono>

namespace corral::jail {

/// Removes everything in `directory`, however it was made: links are removed and never followed,
/// nothing on another file system is touched, depth costs neither stack nor descriptors (deep
/// directories are moved to the top and emptied there), and directories that deny us access are
/// opened up first if they are ours. ETIMEDOUT after `limit`, with the rest left.
os_result<void> empty_directory(const unique_fd& directory, std::chrono::milliseconds limit);

} // namespace corral::jail

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <sys/stat.h>

#include <string>

namespace corral::guest {

/// Opens `path` below the directory `root`, through no link at all: neither another process that
/// swaps directories for links nor `..` can lead out of `root`. With O_PATH a link as the last
/// component is opened itself. Never blocks, whatever is there. EAGAIN if there is a link, or with
/// O_DIRECTORY no directory: callers have looked before, so that it must have changed since.
os_result<unique_fd> open_beneath(const unique_fd& root, const std::string& path, int flags,
                                  mode_t mode = 0);

/// The directory `path` as a root for the above.
os_result<unique_fd> open_root(const std::string& path);

os_result<struct stat> stat_of(const unique_fd& fd);

/// True if it lies in the kernel's file system of processes.
bool is_on_procfs(const unique_fd& fd);

/// True for that and for the kernel's file system of devices: nothing there is an agent's data.
bool is_on_kernel_fs(const unique_fd& fd);

} // namespace corral::guest

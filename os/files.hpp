// Whole small files of our own: records, cgroup knobs, /proc entries. Never an agent's files.

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace corral {

/// Reads a file of at most `limit` bytes; EFBIG above it.
os_result<std::string> read_small_file(const std::filesystem::path& path, size_t limit = 1 << 20);

/// Writes to a temporary file beside `path`, syncs it and renames it: all or nothing.
os_result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content,
                                      mode_t mode = 0600);

/// The same without the sync: for what nobody needs after a power failure.
os_result<void> replace_file(const std::filesystem::path& path, std::string_view content,
                             mode_t mode = 0600);

/// Writes into an existing file in one write(2), as /proc and cgroup files want it.
os_result<void> write_knob(const std::filesystem::path& path, std::string_view content);

/// Writes all of `data`, resuming after short writes and EINTR.
os_result<void> write_all(const unique_fd& fd, std::string_view data);

/// mkdir that takes an existing directory for success and then sets owner and mode; ids of -1
/// leave the owner alone.
os_result<void> make_directory(const std::filesystem::path& path, mode_t mode, uid_t uid = -1,
                               gid_t gid = -1);

/// What a name leads to, whatever becomes of the name.
struct file_identity {
  dev_t device = 0;
  ino_t inode = 0;

  /// Nothing if the descriptor is closed.
  static std::optional<file_identity> of(const unique_fd& fd);
  /// Of the name itself, should it be a link; nothing if there is none.
  static std::optional<file_identity> of(const std::string& path);

  friend bool operator==(const file_identity&, const file_identity&) = default;
};

/// The start time of a process in clock ticks since boot; with the pid it names one process for
/// good. ESRCH if there is none.
os_result<uint64_t> process_start_time(pid_t pid);

} // namespace corral

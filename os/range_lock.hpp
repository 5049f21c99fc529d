#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <cstdint>
#include <filesystem>

namespace corral {

/// An exclusive lock on one byte of a file that any number of processes share, held until this
/// object goes or the process ends. The byte need not exist. Each lock has a descriptor of its own,
/// so that two of one process exclude each other like those of two.
class range_lock {
public:
  /// Creates `path` (0600) if need be. EWOULDBLOCK if another holds the byte. `offset` counts
  /// modulo 2^63.
  static os_result<range_lock> try_acquire(const std::filesystem::path& path, uint64_t offset);

  /// True if somebody holds the byte, this process included, or if that can't be found out.
  static bool is_held(const std::filesystem::path& path, uint64_t offset);

private:
  explicit range_lock(unique_fd fd) : fd_{std::move(fd)} {}

  unique_fd fd_;
};

} // namespace corral

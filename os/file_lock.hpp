#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <filesystem>
#include <string>

namespace corral {

/// An exclusive lock on a file, held until this object goes or the process ends.
class file_lock {
public:
  /// Creates `path` if need be and takes the lock without waiting. EWOULDBLOCK if another process
  /// (or another `file_lock`) holds it; `holder_of` then says who.
  static os_result<file_lock> try_acquire(const std::filesystem::path& path);

  /// Waits for the lock.
  static os_result<file_lock> acquire(const std::filesystem::path& path);

  /// What the holder said of itself with `describe`; empty if it said nothing.
  static std::string holder_of(const std::filesystem::path& path);

  /// Leaves a line in the file that tells others who holds it.
  os_result<void> describe(std::string_view line);

private:
  explicit file_lock(unique_fd fd) : fd_{std::move(fd)} {}

  unique_fd fd_;
};

} // namespace corral

#pragma once

#include "apps/cli/cli_error.hpp"
#include "messages/wire/blob.hpp"
#include "os/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace corral::cli {

/// The bytes of a file to send, whose number is known before the first is sent. What comes from a
/// pipe is first collected in a nameless temporary file.
class content {
public:
  /// Opens a file, or takes stdin if `path` is empty. `file_too_large` above `limit` bytes.
  static cli_result<content> open(const std::string& path, uint64_t limit);

  uint64_t size() const { return size_; }

  /// Up to `count` bytes from `offset` on; an error if the file has become shorter.
  cli_result<blob> read(uint64_t offset, uint64_t count) const;

private:
  content(unique_fd fd, uint64_t start, uint64_t size)
      : fd_{std::move(fd)}, start_{start}, size_{size} {}

  unique_fd fd_;
  uint64_t start_; // Of the first byte in the file: stdin may have been read from already.
  uint64_t size_;
};

} // namespace corral::cli

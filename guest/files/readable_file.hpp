#pragma once

#include "guest/files/path_resolver.hpp"
#include "messages/wire/blob.hpp"
#include "messages/wire/buffer_pool.hpp"
#include "messages/wire/error.hpp"

namespace corral::guest {

/// A regular file opened for reading at any offset. The kernel's own files, which state no size,
/// are read when opened, up to a limit.
class readable_file {
public:
  static constexpr size_t max_unsized_bytes = 1024 * 1024;

  /// Opens what a normalised path leads to. Never blocks: `not_regular_file` for pipes, sockets and
  /// devices, `is_a_directory` for directories.
  static result<readable_file> open(const path_resolver& paths, const std::string& path,
                                    purpose wanted = purpose::read);

  /// When it was opened.
  uint64_t size() const { return size_; }

  /// At most `count` bytes; empty only at the end of the file as it is now.
  result<blob> read_at(uint64_t offset, size_t count);

private:
  static result<readable_file> open_at(const place& at, const std::string& path);
  result<void> read_unsized();

  std::string path_;
  unique_fd fd_;
  uint64_t size_ = 0;
  blob content_; // Of a file without a size.
  buffer_pool buffers_;
};

} // namespace corral::guest

#pragma once

#include "apps/cli/cli_error.hpp"
#include "os/unique_fd.hpp"

#include <string>
#include <string_view>

namespace corral::cli {

/// A file of this machine that gets its new content whole or not at all: until `commit` it is a
/// nameless one, which goes with the process. What is there already and no regular file, such as
/// /dev/null or a FIFO, is written to directly.
class local_file {
public:
  /// A file in place of `path`, with the mode of the one that is there. Links are followed.
  static cli_result<local_file> create(const std::string& path);

  local_file(local_file&& other) noexcept;
  local_file& operator=(local_file&&) = delete;
  ~local_file();

  cli_result<void> write(std::string_view bytes);

  /// Gives it its name, over what had it before.
  cli_result<void> commit();

private:
  local_file(unique_fd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}

  cli_result<void> give_temporary_name();

  unique_fd fd_;
  std::string path_;
  std::string temporary_; ///< Its name for now; empty: none.
  bool direct_ = false;   ///< Written to in its own place.
};

} // namespace corral::cli

#pragma once

#include "os/error.hpp"

#include <filesystem>
#include <string_view>

namespace corral {

/// A private directory (0700) that is removed with all it holds. A leftover symlink is unlinked,
/// never followed.
class temp_dir {
public:
  /// Makes `<parent>/<prefix>XXXXXX`; the parent defaults to $TMPDIR or /tmp.
  static os_result<temp_dir> make(std::string_view prefix, std::filesystem::path parent = {});

  temp_dir(temp_dir&& other) noexcept : path_{std::move(other.path_)} { other.path_.clear(); }
  temp_dir& operator=(temp_dir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~temp_dir();

  const std::filesystem::path& path() const { return path_; }

private:
  explicit temp_dir(std::filesystem::path path) : path_{std::move(path)} {}

  std::filesystem::path path_;
};

} // namespace corral

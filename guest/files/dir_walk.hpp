#pragma once

#include "messages/wire/error.hpp"
#include "os/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::guest {

enum class entry_type : uint8_t { file, directory, symlink, other };

std::string_view to_string(entry_type x);

struct walk_entry {
  std::string path; ///< Relative to the root of the walk.
  entry_type type = entry_type::other;
  uint64_t size = 0; ///< Of a file or symlink, if sizes were asked for.

  std::string_view name() const { return std::string_view{path}.substr(path.rfind('/') + 1); }
};

struct walk_options {
  size_t max_depth = 4096;                ///< 1: the root's own entries only.
  bool all = false;                       ///< Ignored names too.
  bool sizes = false;                     ///< Costs a system call an entry.
  size_t directory_max_entries = 100'000; ///< The first by name of each directory.
};

/// The entries below a directory in the order of their paths, where a directory's path counts as
/// with a `/` at its end. Links are never followed, nor are the kernel's file systems entered; what
/// can't be read is passed over. Holds one descriptor at a time.
class dir_walk {
public:
  using check_function = std::function<result<void>()>;

  /// `root` must outlive it; `check` is asked for each entry and its error ends the walk.
  dir_walk(const unique_fd& root, walk_options options, check_function check)
      : root_{root}, options_{options}, check_{std::move(check)} {}

  /// Nothing at the end.
  result<std::optional<walk_entry>> next();

  /// True if a directory had more entries than were looked at.
  bool incomplete() const { return incomplete_; }

private:
  result<void> enter(const std::string& path);
  result<std::vector<walk_entry>> read_entries(unique_fd directory, const std::string& path);
  void keep_first(std::vector<walk_entry>& entries);

  const unique_fd& root_;
  walk_options options_;
  check_function check_;
  bool started_ = false;
  bool incomplete_ = false;
  std::vector<std::vector<walk_entry>> stack_; // Each level's entries still to come, last first.
};

} // namespace corral::guest

#pragma once

#include "messages/wire/message.hpp"

#include <string>
#include <vector>

namespace corral::guest {

/// The `results` of a search: JSON lines, bounded in number and bytes.
class result_lines {
public:
  result_lines(size_t max_lines, size_t max_bytes) : max_lines_{max_lines}, max_bytes_{max_bytes} {}

  /// `path` is absolute, as agents name it, and stands in the line; bytes of it that are not UTF-8
  /// become U+FFFD and the last name's bytes then stand in `name_hex`. False if there is no room:
  /// from then on the results are truncated.
  bool add(const std::string& path, fields line);

  /// Says that not all there was could be looked at.
  void set_truncated() { truncated_ = true; }

  /// Sorted by path, bytewise; lines of one path stay in the order added.
  message take_reply(fields result = {});

private:
  struct entry {
    std::string path;
    std::string line;
  };

  size_t max_lines_;
  size_t max_bytes_;
  size_t bytes_ = 0;
  bool truncated_ = false;
  std::vector<entry> entries_;
};

} // namespace corral::guest

#include "guest/capture.hpp"

#include <algorithm>

namespace corral::guest {

void capture::append(std::string_view bytes) {
  total_ += bytes.size();
  auto to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  append_tail(bytes.substr(to_head));
}

void capture::append_tail(std::string_view bytes) {
  if (bytes.size() > tail_limit_)
    bytes.remove_prefix(bytes.size() - tail_limit_);
  auto grow = std::min(bytes.size(), tail_limit_ - tail_.size());
  tail_.append(bytes.substr(0, grow));
  bytes.remove_prefix(grow);
  while (!bytes.empty()) {
    auto n = std::min(bytes.size(), tail_limit_ - tail_start_);
    tail_.replace(tail_start_, n, bytes.substr(0, n));
    tail_start_ = (tail_start_ + n) % tail_limit_;
    bytes.remove_prefix(n);
  }
}

std::string capture::text() const {
  std::string result = head_;
  if (truncated())
    result += "\n... [output truncated: " + std::to_string(total_ - head_.size() - tail_.size())
              + " bytes skipped] ...\n";
  result.append(tail_, tail_start_);
  return result.append(tail_, 0, tail_start_);
}

} // namespace corral::guest

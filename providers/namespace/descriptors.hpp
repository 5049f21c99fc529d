#pragma once

#include "os/unique_fd.hpp"

#include <string>
#include <utility>
#include <vector>

namespace corral::jail {

/// Numbers the descriptors that a new process is given, upwards from 3.
class descriptors {
public:
  /// Passes `fd`, which stays ours and must outlive the start; its number there.
  int pass(const unique_fd& fd) {
    passed_.emplace_back(fd.get(), next_);
    return next_++;
  }

  /// Passes `fd` under a fixed number below 3.
  void pass_as(const unique_fd& fd, int standard) { passed_.emplace_back(fd.get(), standard); }

  int last() const { return next_ - 1; }
  const std::vector<std::pair<int, int>>& list() const { return passed_; }

private:
  std::vector<std::pair<int, int>> passed_;
  int next_ = 3;
};

} // namespace corral::jail

#pragma once

#include "os/child_process.hpp"

#include <string>
#include <vector>

namespace corral::bench {

/// This very program in another role; ended with the owner. Throws std::runtime_error.
child_process spawn_self(const std::vector<std::string>& arguments);

/// Keeps as many cores busy as there are processes, as long as it lives.
class spinners {
public:
  explicit spinners(int count);

private:
  std::vector<child_process> processes_;
};

/// The role of a spinner.
[[noreturn]] void spin();

} // namespace corral::bench

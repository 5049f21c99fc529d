#pragma once

#include "os/error.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace corral::cli {

struct program_end {
  int status = -1;    ///< Exit status; 128 + n if a signal ended it, -1 if it ran out of time.
  std::string output; ///< Stdout and stderr, at most 64 KiB.
};

/// Runs a program without input and with a plain environment, for at most `limit`.
os_result<program_end> run_program(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds limit);

} // namespace corral::cli

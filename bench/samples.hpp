#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace corral::bench {

using clock = std::chrono::steady_clock;
using samples = std::vector<double>; ///< Microseconds, unless a name says otherwise.

/// The value that `share` of the samples do not exceed; `share` from 0 to 1. 0 for no samples.
double percentile(samples x, double share);

inline double median(const samples& x) {
  return percentile(x, 0.5);
}

/// How long a call takes.
double time_of(const std::function<void()>& call);

/// What one round measured, of both sides under the same conditions.
struct pair {
  double baseline = 0;
  double measured = 0;
};

/// Both sides by turns, `calls` each, so that both find the machine in the same state: their
/// medians.
pair by_turns(size_t calls, const std::function<void()>& baseline,
              const std::function<void()>& measured);

} // namespace corral::bench

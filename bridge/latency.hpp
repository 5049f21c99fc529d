#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace corral {

/// Durations by count in buckets that grow by a quarter each: percentiles are at most 25 % too
/// high, whatever the range, in constant memory.
class latency_histogram {
public:
  void record(std::chrono::nanoseconds x);

  uint64_t count() const { return count_; }

  /// The bucket's upper end in microseconds; 0 if nothing was recorded. `share` from 0 to 1.
  double percentile_us(double share) const;

private:
  static constexpr size_t buckets = 128; // 1 us times 1.25^127 is beyond any timeout.

  std::array<uint64_t, buckets> counts_{};
  uint64_t count_ = 0;
};

} // namespace corral

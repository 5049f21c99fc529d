#include "bridge/latency.hpp"

#include <algorithm>
#include <cmath>

namespace corral {

namespace {

constexpr double growth = 1.25;

} // namespace

void latency_histogram::record(std::chrono::nanoseconds x) {
  auto us = std::max(static_cast<double>(x.count()) / 1000, 1.0);
  auto bucket = static_cast<size_t>(std::ceil(std::log(us) / std::log(growth)));
  ++counts_[std::min(bucket, buckets - 1)];
  ++count_;
}

double latency_histogram::percentile_us(double share) const {
  auto wanted = std::max(std::ceil(share * static_cast<double>(count_)), 1.0);
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets; ++i)
    if (seen += counts_[i]; count_ > 0 && static_cast<double>(seen) >= wanted)
      return std::pow(growth, static_cast<double>(i));
  return 0;
}

} // namespace corral

#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace corral {

/// Lets so many things a second pass on average, and as many at once after a pause.
class token_bucket {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// At least one a second; 0 for no limit.
  explicit token_bucket(double a_second = 0) : rate_{a_second}, tokens_{a_second} {}

  /// Takes one; if there is none, tells how long until there is, and nothing is taken.
  std::optional<duration> take(time_point now) {
    if (rate_ <= 0)
      return std::nullopt;
    std::chrono::duration<double> passed = now - std::exchange(seen_, std::max(seen_, now));
    if (passed.count() > 0)
      tokens_ = std::min(rate_, tokens_ + passed.count() * rate_);
    if (tokens_ < 1)
      return std::chrono::ceil<duration>(std::chrono::duration<double>{(1 - tokens_) / rate_});
    tokens_ -= 1;
    return std::nullopt;
  }

private:
  double rate_;
  double tokens_;
  time_point seen_{};
};

} // namespace corral

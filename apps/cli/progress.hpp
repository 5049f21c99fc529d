#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace corral::cli {

/// "12.5 MiB of 100.0 MiB, 12 %", or just how much where the total isn't known.
std::string progress_text(uint64_t done, std::optional<uint64_t> total);

/// How far a transfer is, in a line of stderr that goes when it does.
class progress {
public:
  /// Shows nothing unless `shown`.
  progress(std::string what, std::optional<uint64_t> total, bool shown)
      : what_{std::move(what)}, total_{total}, shown_{shown} {}
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void advance(uint64_t bytes);

private:
  using clock = std::chrono::steady_clock;

  std::string what_;
  std::optional<uint64_t> total_;
  bool shown_;
  uint64_t done_ = 0;
  std::optional<clock::time_point> drawn_;
};

} // namespace corral::cli

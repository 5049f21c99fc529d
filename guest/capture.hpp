#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral::guest {

/// Keeps the first and the last bytes of a stream of any length and counts all of them. Memory
/// grows with what is kept.
class capture {
public:
  static constexpr size_t default_window = 512 * 1024; ///< Bytes kept at each end.

  capture() = default;
  capture(size_t head, size_t tail) : head_limit_{head}, tail_limit_{tail} {}

  void append(std::string_view bytes);

  uint64_t total() const { return total_; }
  bool truncated() const { return total_ > head_.size() + tail_.size(); }

  /// The whole stream, or both ends with a line between them that says how many bytes are missing.
  std::string text() const;

private:
  void append_tail(std::string_view bytes);

  size_t head_limit_ = default_window;
  size_t tail_limit_ = default_window;
  uint64_t total_ = 0;
  std::string head_;
  std::string tail_;      // A ring once it is full.
  size_t tail_start_ = 0; // Where its oldest byte is.
};

} // namespace corral::guest

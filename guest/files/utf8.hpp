#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral::guest {

/// Reads UTF-8 byte by byte, so that text may come in pieces cut anywhere.
class utf8_state {
public:
  /// False if no UTF-8 text has this byte here; the state is then as at the start.
  bool take(unsigned char byte);

  /// True between two code points.
  bool complete() const { return missing_ == 0; }

private:
  int missing_ = 0; // Continuation bytes to come, the next of them from low_ to high_.
  unsigned char low_ = 0;
  unsigned char high_ = 0;
};

/// Checks that text which comes in pieces is UTF-8 without NUL.
class text_checker {
public:
  /// False once a byte was wrong.
  bool feed(std::string_view piece);

  /// True if the text may end here.
  bool complete() const { return valid_ && state_.complete(); }

private:
  utf8_state state_;
  bool valid_ = true;
};

bool is_utf8(std::string_view x);

/// The same text with U+FFFD for each sequence that is not UTF-8.
std::string replace_invalid_utf8(std::string_view x);

/// Code points of valid UTF-8.
size_t count_code_points(std::string_view x);

/// The bytes that the first `count` code points of valid UTF-8 take.
size_t bytes_of_code_points(std::string_view x, size_t count);

} // namespace corral::guest

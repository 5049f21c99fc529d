#include "guest/files/utf8.hpp"

#include <algorithm>

namespace corral::guest {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

bool is_continuation(unsigned char x) {
  return (x & 0xc0) == 0x80;
}

/// How many bytes before the first that is not ASCII.
size_t ascii_prefix(std::string_view x) {
  auto i = std::find_if(x.begin(), x.end(), [](char c) { return static_cast<signed char>(c) < 0; });
  return static_cast<size_t>(i - x.begin());
}

} // namespace

// The second byte's narrower ranges exclude overlong forms, surrogates and what is above U+10FFFF
// (Unicode, table 3-7).
bool utf8_state::take(unsigned char byte) {
  if (missing_ > 0) {
    auto fits = byte >= low_ && byte <= high_;
    missing_ = fits ? missing_ - 1 : 0;
    low_ = 0x80;
    high_ = 0xbf;
    return fits;
  }
  if (byte < 0x80)
    return true;
  if (byte < 0xc2 || byte > 0xf4)
    return false;
  missing_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
  low_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
  high_ = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
  return true;
}

bool text_checker::feed(std::string_view piece) {
  if (piece.find('\0') != std::string_view::npos)
    valid_ = false;
  while (valid_ && !piece.empty()) {
    if (state_.complete())
      piece.remove_prefix(ascii_prefix(piece));
    if (piece.empty())
      break;
    valid_ = state_.take(static_cast<unsigned char>(piece[0]));
    piece.remove_prefix(1);
  }
  return valid_;
}

bool is_utf8(std::string_view x) {
  utf8_state state;
  for (x.remove_prefix(ascii_prefix(x)); !x.empty(); x.remove_prefix(1))
    if (!state.take(static_cast<unsigned char>(x[0])))
      return false;
  return state.complete();
}

std::string replace_invalid_utf8(std::string_view x) {
  std::string result;
  utf8_state state;
  size_t begin = 0; // Of the code point under way.
  for (size_t i = 0; i < x.size();) {
    auto inside = !state.complete();
    if (state.take(static_cast<unsigned char>(x[i]))) {
      ++i;
      if (state.complete()) {
        result.append(x.substr(begin, i - begin));
        begin = i;
      }
      continue;
    }
    result.append(replacement);
    // A byte that breaks a code point off may itself begin one.
    i += inside ? 0 : 1;
    begin = i;
  }
  if (!state.complete())
    result.append(replacement);
  return result;
}

size_t count_code_points(std::string_view x) {
  return static_cast<size_t>(std::count_if(
      x.begin(), x.end(), [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

size_t bytes_of_code_points(std::string_view x, size_t count) {
  size_t i = 0;
  while (i < x.size()) {
    if (!is_continuation(static_cast<unsigned char>(x[i])) && count-- == 0)
      break;
    ++i;
  }
  return i;
}

} // namespace corral::guest

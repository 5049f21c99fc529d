#include "config/utf8.hpp"

#include <cstdint>

namespace corral {

namespace {

bool is_text(uint32_t code) {
  return code >= 0x20 ? code != 0x7f : code == '\t' || code == '\n' || code == '\r';
}

/// The length of the sequence at the start of `text`, 0 if it is none or no text.
size_t sequence_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  uint32_t lead = byte(0);
  if (lead < 0x80)
    return is_text(lead) ? 1 : 0;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
    return 0;
  uint32_t code = lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

} // namespace

size_t first_non_text(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t length = sequence_length(text.substr(at));
    if (length == 0)
      return at;
    at += length;
  }
  return at;
}

} // namespace corral

#include "guest/output_text.hpp"

#include <algorithm>
#include <cstdio>

namespace corral::guest {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(unsigned char c) {
  return (c & 0xc0) == 0x80;
}

struct sequence {
  size_t bytes; ///< How many belong together, valid or not.
  bool valid;
};

/// The second byte's range depends on the first: no overlong forms, no surrogates, nothing above
/// U+10FFFF (table 3-7 of the Unicode standard).
sequence next_sequence(std::string_view text) {
  auto first = byte_at(text, 0);
  if (first < 0x80)
    return {1, true};
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4)
    return {1, false};
  unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte_at(text, i) < low || byte_at(text, i) > high)
      return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return !is_continuation(static_cast<unsigned char>(c));
  }));
}

/// The bytes of the first `count` characters.
size_t prefix_bytes(std::string_view text, size_t count) {
  size_t i = 0;
  for (; i < text.size(); ++i)
    if (!is_continuation(byte_at(text, i)) && count-- == 0)
      break;
  return i;
}

std::string marker(size_t skipped) {
  return "\n... [middle truncated: " + std::to_string(skipped) + " chars skipped] ...\n";
}

std::string ending(const command_end& end, bool after_text) {
  auto line = after_text ? "\n" : "";
  if (end.timed_out)
    return std::string{line} + "Command timed out after " + describe_seconds(end.timeout)
           + " and was terminated. To run a long-lived process such as a web server, start it in "
             "the background and redirect its output, e.g. `your-command > "
             "/mnt/user-data/workspace/server.log 2>&1 &`.";
  if (end.cancelled)
    return std::string{line} + "Command cancelled.";
  return end.exit_code != 0 ? "\nExit Code: " + std::to_string(end.exit_code) : "";
}

} // namespace

std::string compose_output(std::string_view out, std::string_view err, const command_end& end,
                           size_t limit) {
  auto text = to_valid_utf8(out);
  if (!err.empty()) {
    if (!text.empty())
      text += "\nStd Error:\n";
    text += to_valid_utf8(err);
  }
  text += ending(end, !text.empty());
  return text.empty() ? "(no output)" : cut_middle(std::move(text), limit);
}

std::string describe_seconds(std::chrono::milliseconds x) {
  auto seconds = static_cast<double>(x.count()) / 1000;
  char text[32];
  // %g goes over to exponents from a million on, which a whole number is spared.
  std::snprintf(text, sizeof text, x.count() % 1000 == 0 ? "%.0f" : "%g", seconds);
  return std::string{text} + (x.count() == 1000 ? " second" : " seconds");
}

std::string cut_middle(std::string text, size_t limit) {
  // No text has more characters than bytes, which spares most texts the counting.
  if (limit == 0 || text.size() <= limit)
    return text;
  auto total = count_characters(text);
  if (total <= limit)
    return text;
  auto longest = marker(total).size();
  auto kept = limit - std::min(limit, longest);
  if (kept == 0)
    return text.substr(0, prefix_bytes(text, limit));
  auto head = kept / 2;
  auto tail_start = prefix_bytes(text, total - (kept - head));
  return text.substr(0, prefix_bytes(text, head)) + marker(total - kept) + text.substr(tail_start);
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    auto next = next_sequence(bytes);
    result.append(next.valid ? bytes.substr(0, next.bytes) : replacement);
    bytes.remove_prefix(next.bytes);
  }
  return result;
}

} // namespace corral::guest

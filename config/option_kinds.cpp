#include "config/option.hpp"
#include "config/units.hpp"

#include <climits>

namespace corral {

namespace {

std::string with_off(const std::string& expected, const std::string& off) {
  return off.empty() ? expected : "0 (" + off + ") or " + expected;
}

/// Keeps what `parse` gives if it is within the limits, or 0 where that is allowed.
template <class T, class Parse>
auto bounded(Parse parse, T least, T most, bool zero_too) {
  return [=](std::string_view text) -> std::optional<T> {
    std::optional<T> x = parse(text);
    if (x && ((*x >= least && *x <= most) || (zero_too && *x == T{})))
      return x;
    return std::nullopt;
  };
}

std::string to_text(const std::string& x) {
  return x;
}

/// Without repeated and trailing slashes; nothing if it is no absolute, normal path.
std::optional<std::string> normal_path(std::string_view text) {
  if (text.empty() || text.front() != '/' || text.size() >= PATH_MAX)
    return std::nullopt;
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return std::nullopt;
  std::string result;
  while (!text.empty()) {
    text.remove_prefix(1);
    auto part = text.substr(0, text.find('/'));
    if (part == "." || part == "..")
      return std::nullopt;
    if (!part.empty())
      result.append("/").append(part);
    text.remove_prefix(part.size());
  }
  return result.empty() ? "/" : result;
}

std::optional<std::string> parse_group(std::string_view text) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  bool usable = text.size() <= 32 && text.find_first_not_of(letters) == std::string_view::npos
                && !text.starts_with('-');
  return usable ? std::optional{std::string{text}} : std::nullopt;
}

/// Below 1000 are the system's users; 65534 is nobody, and 65535 is -1 to 16-bit programs.
std::optional<uid_range> parse_uids(std::string_view text) {
  auto dash = text.find('-');
  if (dash == std::string_view::npos)
    return std::nullopt;
  auto first = parse_whole_number(text.substr(0, dash));
  auto last = parse_whole_number(text.substr(dash + 1));
  if (!first || !last || *first < 1000 || *last < *first || *last > INT32_MAX)
    return std::nullopt;
  if (*first <= 65535 && *last >= 65534)
    return std::nullopt;
  return uid_range{static_cast<uint32_t>(*first), static_cast<uint32_t>(*last)};
}

} // namespace

namespace kinds {

value_kind<uint64_t> whole_number(uint64_t least, uint64_t most, const std::string& off) {
  auto expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  return {with_off(expected, off), bounded(parse_whole_number, least, most, !off.empty()),
          [](uint64_t x) { return std::to_string(x); }};
}

value_kind<double> number(double least, double most, const std::string& off) {
  auto expected = "a number from " + format_number(least) + " to " + format_number(most);
  return {with_off(expected, off), bounded(parse_number, least, most, !off.empty()), format_number};
}

value_kind<uint64_t> size(uint64_t least, uint64_t most, const std::string& off) {
  auto expected = "a size from " + format_size(least) + " to " + format_size(most)
                  + " (such as 512MiB or 1GiB)";
  return {with_off(expected, off), bounded(parse_size, least, most, !off.empty()), format_size};
}

value_kind<std::chrono::milliseconds>
duration(std::chrono::milliseconds least, std::chrono::milliseconds most, const std::string& off) {
  auto expected = "a duration from " + format_duration(least) + " to " + format_duration(most)
                  + " (such as 30s or 10m)";
  return {with_off(expected, off), bounded(parse_duration, least, most, !off.empty()),
          format_duration};
}

value_kind<std::string> absolute_path(const std::string& none) {
  std::string expected = "an absolute path without . and ..";
  if (none.empty())
    return {expected, normal_path, to_text};
  auto parse = [](std::string_view text) {
    return text.empty() ? std::optional{std::string{}} : normal_path(text);
  };
  return {"\"\" (" + none + ") or " + expected, parse, to_text};
}

value_kind<std::string> group_name() {
  return {"\"\" (the daemon's own group) or the name or number of a group", parse_group, to_text};
}

value_kind<bool> true_or_false() {
  return choice<bool>({{"true", true}, {"false", false}});
}

value_kind<uid_range> range_of_uids() {
  return {
      "FIRST-LAST, user ids from 1000 to 2147483647 without 65534 and 65535", parse_uids,
      [](const uid_range& x) { return std::to_string(x.first) + "-" + std::to_string(x.last); }};
}

} // namespace kinds

} // namespace corral

#include "config/units.hpp"

#include "config/config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace corral {

namespace {

struct unit {
  std::string_view name;
  uint64_t factor;
};

constexpr uint64_t second = 1000;

constexpr std::array size_units = {
    unit{"", 1},
    unit{"b", 1},
    unit{"kb", 1000},
    unit{"kib", kib},
    unit{"mb", 1000000},
    unit{"mib", mib},
    unit{"gb", 1000000000},
    unit{"gib", gib},
    unit{"tib", tib},
    unit{"tb", 1000000000000},
};

constexpr std::array duration_units = {
    unit{"", second},         unit{"ms", 1},
    unit{"s", second},        unit{"m", 60 * second},
    unit{"h", 3600 * second}, unit{"d", 86400 * second},
};

/// A whole number, at most one space, a unit; nothing where the product leaves `most`.
std::optional<uint64_t> parse_with_unit(std::string_view text, std::span<const unit> units,
                                        uint64_t most) {
  auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto number = parse_whole_number(text.substr(0, digits));
  auto name = text.substr(digits);
  if (name.size() > 1 && name.front() == ' ')
    name.remove_prefix(1);
  auto found =
      std::find_if(units.begin(), units.end(), [&](const unit& x) { return x.name == name; });
  if (!number || found == units.end() || *number > most / found->factor)
    return std::nullopt;
  return *number * found->factor;
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return result;
}

} // namespace

std::optional<uint64_t> parse_whole_number(std::string_view text) {
  uint64_t result = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return result;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  double result = 0;
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), result, std::chars_format::fixed);
  if (failure != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return result;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  return parse_with_unit(lower(text), size_units, std::numeric_limits<uint64_t>::max());
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  auto result = parse_with_unit(text, duration_units, std::numeric_limits<int64_t>::max());
  if (!result)
    return std::nullopt;
  return std::chrono::milliseconds{static_cast<int64_t>(*result)};
}

std::string format_number(double x) {
  std::array<char, 64> buffer{};
  auto [end, failure] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::fixed);
  return failure == std::errc{} ? std::string{buffer.data(), end} : std::to_string(x);
}

std::string format_size(uint64_t bytes) {
  constexpr std::array units = {unit{"TiB", tib}, unit{"GiB", gib}, unit{"MiB", mib},
                                unit{"KiB", kib}};
  for (const auto& x : units)
    if (bytes != 0 && bytes % x.factor == 0)
      return std::to_string(bytes / x.factor).append(x.name);
  return std::to_string(bytes);
}

std::string format_duration(std::chrono::milliseconds x) {
  constexpr std::array units = {unit{"d", 86400 * second}, unit{"h", 3600 * second},
                                unit{"m", 60 * second}, unit{"s", second}};
  auto count = static_cast<uint64_t>(x.count());
  if (count == 0)
    return "0";
  for (const auto& u : units)
    if (count % u.factor == 0)
      return std::to_string(count / u.factor).append(u.name);
  return std::to_string(count).append("ms");
}

} // namespace corral

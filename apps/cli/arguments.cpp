#include "apps/cli/arguments.hpp"

#include "config/units.hpp"
#include "messages/wire/names.hpp"
#include "messages/wire/ops.hpp"
#include "messages/wire/owner.hpp"

#include <limits>

namespace corral::cli {

namespace {

/// A line number, or nothing for an empty text.
parsed<std::optional<int64_t>> parse_line(std::string_view text) {
  if (text.empty())
    return std::nullopt;
  auto number = parse_whole_number(text);
  if (!number || *number == 0 || *number > std::numeric_limits<int64_t>::max())
    return tl::unexpected{std::string{"expected lines as A:B, A: or :B, counted from 1"}};
  return static_cast<int64_t>(*number);
}

} // namespace

parsed<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  auto x = parse_duration(text);
  if (!x || x->count() < 1 || x->count() > max_timeout_ms)
    return tl::unexpected{
        std::string{"expected a duration from 1ms to 24h, such as 250ms, 30s, 10m, 4h or 90 "
                    "(seconds)"}};
  return *x;
}

parsed<std::chrono::milliseconds> parse_lease_time(std::string_view text) {
  using namespace std::chrono_literals;
  auto x = parse_duration(text);
  if (!x || *x < 1s || *x > 3h)
    return tl::unexpected{std::string{"expected a duration from 1s to 3h, such as 30s, 10m or 2h"}};
  return *x;
}

parsed<std::chrono::milliseconds> parse_interval(std::string_view text) {
  using namespace std::chrono_literals;
  auto x = parse_duration(text);
  if (!x || *x < 100ms || *x > 1h)
    return tl::unexpected{
        std::string{"expected a duration from 100ms to 1h, such as 500ms, 2s or 1m"}};
  return *x;
}

parsed<held_lease> parse_lease(std::string_view text) {
  auto slash = text.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == text.size()
      || text.size() > 128)
    return tl::unexpected{std::string{"expected a lease as `corral acquire` printed it"}};
  return held_lease{std::string{text.substr(0, slash)}, std::string{text.substr(slash + 1)}};
}

parsed<std::pair<std::string, std::string>> parse_variable(std::string_view text) {
  auto end = text.find('=');
  if (end == std::string_view::npos || !is_environment_name(text.substr(0, end)))
    return tl::unexpected{
        std::string{"expected NAME=VALUE, with a name of letters, digits and _ that does not "
                    "start with a digit"}};
  return std::pair{std::string{text.substr(0, end)}, std::string{text.substr(end + 1)}};
}

parsed<copy_place> parse_copy_place(std::string_view text) {
  auto colon = text.find(':');
  if (text.empty())
    return tl::unexpected{std::string{"expected a path"}};
  if (colon > text.find('/') || colon == std::string_view::npos)
    return copy_place{"", std::string{text}};
  if (!is_valid_name(text.substr(0, colon)))
    return tl::unexpected{
        std::string{"expected THREAD:PATH with a thread's name of 1 to 64 letters, "
                    "digits, - or _; a colon in a file's name is written ./a:b"}};
  return copy_place{std::string{text.substr(0, colon)}, std::string{text.substr(colon + 1)}};
}

parsed<line_range> parse_lines(std::string_view text) {
  auto colon = text.find(':');
  auto single = colon == std::string_view::npos;
  auto first = parse_line(text.substr(0, single ? text.size() : colon));
  auto last = single ? first : parse_line(text.substr(colon + 1));
  if (!first || !last)
    return tl::unexpected{!first ? first.error() : last.error()};
  if (!*first && !*last)
    return tl::unexpected{std::string{"expected at least one line number: A:B, A: or :B"}};
  if (*first && *last && **first > **last)
    return tl::unexpected{std::string{"expected the first line not to be after the last"}};
  return line_range{*first, *last};
}

parsed<std::string> parse_name(std::string_view text) {
  if (!is_valid_name(text))
    return tl::unexpected{std::string{"expected 1 to 64 letters, digits, - or _"}};
  return std::string{text};
}

parsed<std::string> parse_op(std::string_view text) {
  if (find_op(text) != nullptr)
    return std::string{text};
  std::string known;
  for (auto& x : all_ops())
    known.append(known.empty() ? "" : ", ").append(x.name);
  return tl::unexpected{"expected one of: " + known};
}

parsed<std::string> parse_sandbox_id(std::string_view text) {
  auto is_hex = text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_hex || text.size() < min_id_prefix || text.size() > 16)
    return tl::unexpected{std::string{"expected a sandbox's id as `corral ls` shows it, or its "
                                      "first 8 or more digits"}};
  return std::string{text};
}

} // namespace corral::cli

// What the words of a command line mean. Each parser says what was expected instead; the caller
// knows the argument's name.

#pragma once

#include <tl/expected.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace corral::cli {

template <class T>
using parsed = tl::expected<T, std::string>;

/// "250ms", "30s", "10m", "4h" or seconds; from 1 ms to 24 h.
parsed<std::chrono::milliseconds> parse_timeout(std::string_view text);

/// "NAME=VALUE"; the value may be empty.
parsed<std::pair<std::string, std::string>> parse_variable(std::string_view text);

struct line_range {
  std::optional<int64_t> first; ///< From 1.
  std::optional<int64_t> last;  ///< Included.
};

/// "A:B", "A:", ":B", or "A" for a single line.
parsed<line_range> parse_lines(std::string_view text);

/// A thread, user or pool.
parsed<std::string> parse_name(std::string_view text);

/// The name of an op.
parsed<std::string> parse_op(std::string_view text);

/// An id of a sandbox or a prefix of one, 8 to 16 lower-case hex digits.
parsed<std::string> parse_sandbox_id(std::string_view text);

} // namespace corral::cli

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

/// How long a lease may last that nobody keeps alive: as parse_timeout, from 1 s to 3 h.
parsed<std::chrono::milliseconds> parse_lease_time(std::string_view text);

/// How often to look again: as parse_timeout, from 100 ms to 1 h.
parsed<std::chrono::milliseconds> parse_interval(std::string_view text);

/// A lease and the client that holds it. Another process may speak for that client.
struct held_lease {
  std::string client;
  std::string lease;

  std::string text() const { return client + "/" + lease; }
};

/// "CLIENT/LEASE", as `text` gives it.
parsed<held_lease> parse_lease(std::string_view text);

/// An end of a copy.
struct copy_place {
  std::string thread; ///< Empty: on this machine.
  std::string path;
};

/// "THREAD:PATH", or a path of this machine, in which a colon comes after a slash if there is one.
parsed<copy_place> parse_copy_place(std::string_view text);

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

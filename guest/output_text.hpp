#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace corral::guest {

/// How a command ended, as far as its text tells.
struct command_end {
  int exit_code = 0; ///< -n if the shell itself died of signal n.
  bool timed_out = false;
  bool cancelled = false;
  std::chrono::milliseconds timeout{0};
};

constexpr size_t default_output_chars = 20'000;

/// The text that an agent is shown (protocol.md): stdout, stderr under a heading, how it ended.
/// Over `limit` code points (0: no limit) the middle is cut.
std::string compose_output(std::string_view out, std::string_view err, const command_end& end,
                           size_t limit);

/// "600 seconds", "1 second", "0.25 seconds".
std::string describe_seconds(std::chrono::milliseconds x);

/// The same text, or its start and end with a marker between, together at most `limit` code points.
/// `text` is valid UTF-8.
std::string cut_middle(std::string text, size_t limit);

/// The same bytes with U+FFFD for each that is not UTF-8; one for the longest part of a sequence
/// that could have become one.
std::string to_valid_utf8(std::string_view bytes);

} // namespace corral::guest

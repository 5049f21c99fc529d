// What people and programs see: bytes to stdout and stderr, tables, colours.

#pragma once

#include "apps/cli/cli_error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

enum class stream : uint8_t { out = 1, err = 2 };

bool is_terminal(stream to);

/// True on a terminal unless $NO_COLOR is set.
bool wants_colour(stream to);

/// Writes all of it. `input_output` if the reader is gone or the disk is full.
cli_result<void> write_to(stream to, std::string_view bytes);

/// A line to stderr, as "corral: ...", safe for a terminal.
void notice(std::string_view text);

/// The same text with control characters shown as \xNN, so that nothing it holds can steer a
/// terminal. Line feeds stay.
std::string printable(std::string_view text);

/// Rows of cells in aligned columns, two blanks apart, the first row being the heading.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

} // namespace corral::cli

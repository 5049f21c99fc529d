// The human forms of sizes, durations and numbers, both ways.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral {

/// Decimal digits only; nothing on anything else or above 2^64 - 1.
std::optional<uint64_t> parse_whole_number(std::string_view text);

/// "2" or "0.5"; nothing on signs, exponents, infinities.
std::optional<double> parse_number(std::string_view text);

/// "512MiB", "100 MB", "4096": a whole number of bytes, kB, KiB, MB, MiB, GB, GiB, TB or TiB in
/// either case.
std::optional<uint64_t> parse_size(std::string_view text);

/// "250ms", "30s", "10m", "4h", "7d", or plain seconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

std::string format_number(double x);

/// In the largest binary unit that is exact: parse_size gives the same value back.
std::string format_size(uint64_t bytes);

/// In the largest unit that is exact: parse_duration gives the same value back.
std::string format_duration(std::chrono::milliseconds x);

} // namespace corral

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace corral {

/// The error codes of the wire protocol; each is one that a caller acts on.
enum class errc : uint8_t {
  invalid_request = 1,
  unauthorized,
  forbidden,
  sandbox_not_found,
  sandbox_lost,
  sandbox_runtime,
  identity_collision,
  capacity_exceeded,
  queue_full,
  busy,
  moved,
  host_bash_disabled,
  command_blocked,
  out_of_memory,
  file_not_found,
  not_a_directory,
  is_a_directory,
  permission_denied,
  read_only,
  not_text,
  file_too_large,
  no_space,
  not_regular_file,
  invalid_pattern,
  match_not_found,
  match_not_unique,
  shutting_down,
  internal,
};

/// The name on the wire, such as "sandbox_lost".
std::string_view to_string(errc code);

/// Nothing for a name this version doesn't know.
std::optional<errc> parse_errc(std::string_view name);

/// True if the same request may succeed when sent again. `sandbox_lost` depends on whether the work
/// had started; this is its answer for a request that had not.
bool is_retryable(errc code);

} // namespace corral

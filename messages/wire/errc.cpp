#include "messages/wire/errc.hpp"

#include <algorithm>
#include <iterator>

namespace corral {

namespace {

struct row {
  errc code;
  std::string_view name;
  bool retryable;
};

constexpr row rows[] = {
    {errc::invalid_request, "invalid_request", false},
    {errc::unauthorized, "unauthorized", false},
    {errc::forbidden, "forbidden", false},
    {errc::sandbox_not_found, "sandbox_not_found", false},
    {errc::sandbox_lost, "sandbox_lost", true},
    {errc::sandbox_runtime, "sandbox_runtime", true},
    {errc::identity_collision, "identity_collision", false},
    {errc::capacity_exceeded, "capacity_exceeded", true},
    {errc::queue_full, "queue_full", true},
    {errc::busy, "busy", true},
    {errc::moved, "moved", true},
    {errc::host_bash_disabled, "host_bash_disabled", false},
    {errc::command_blocked, "command_blocked", false},
    {errc::out_of_memory, "out_of_memory", false},
    {errc::file_not_found, "file_not_found", false},
    {errc::not_a_directory, "not_a_directory", false},
    {errc::is_a_directory, "is_a_directory", false},
    {errc::permission_denied, "permission_denied", false},
    {errc::read_only, "read_only", false},
    {errc::not_text, "not_text", false},
    {errc::file_too_large, "file_too_large", false},
    {errc::no_space, "no_space", false},
    {errc::not_regular_file, "not_regular_file", false},
    {errc::invalid_pattern, "invalid_pattern", false},
    {errc::match_not_found, "match_not_found", false},
    {errc::match_not_unique, "match_not_unique", false},
    {errc::shutting_down, "shutting_down", true},
    {errc::internal, "internal", false},
};

const row& row_of(errc code) {
  auto i = std::find_if(std::begin(rows), std::end(rows), [&](auto& r) { return r.code == code; });
  return i != std::end(rows) ? *i : rows[std::size(rows) - 1];
}

} // namespace

std::string_view to_string(errc code) {
  return row_of(code).name;
}

std::optional<errc> parse_errc(std::string_view name) {
  for (auto& r : rows)
    if (r.name == name)
      return r.code;
  return std::nullopt;
}

bool is_retryable(errc code) {
  return row_of(code).retryable;
}

} // namespace corral

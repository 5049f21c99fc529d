#pragma once

#include "messages/wire/error.hpp"
#include "os/error.hpp"

#include <tl/expected.hpp>

#include <string>

namespace corral::cli {

/// Why a command could not do its work. `code` is one of the wire's, or one of the command's own:
/// usage, no_daemon, no_answer, daemon_restarted, protocol, input_output, corrupted, interrupted.
struct cli_error {
  std::string code;
  std::string message; ///< For a person: the cause and what to change.
  fields details;
  bool retryable = false;

  /// {"error": {code, message, details, retryable}}
  fields to_fields() const;

  static cli_error from_reply(const fields& error_object);
  static cli_error from_os(const os_error& x) { return {"input_output", x.what, {}, false}; }
};

template <class T>
using cli_result = tl::expected<T, cli_error>;

inline tl::unexpected<cli_error> failed(std::string code, std::string message) {
  return tl::unexpected{cli_error{std::move(code), std::move(message), {}, false}};
}

} // namespace corral::cli

#pragma once

#include "messages/wire/errc.hpp"
#include "messages/wire/fields.hpp"
#include "os/error.hpp"

#include <tl/expected.hpp>

#include <string>

namespace corral {

/// What a request is answered with when it fails: `message` names the cause and what to change, and
/// neither it nor `details` holds a host path or a secret.
struct error {
  errc code = errc::internal;
  std::string message;
  fields details;

  /// As on the wire: {code, message, details, retryable}. Nothing is retryable whose details say
  /// `started: true`; a `sandbox_lost` is only if they say `started: false`.
  fields to_fields() const;

  /// The reverse; an unknown code becomes `internal`.
  static error from_fields(const fields& x);
};

template <class T>
using result = tl::expected<T, error>;

inline tl::unexpected<error> failure(errc code, std::string message, fields details = {}) {
  return tl::unexpected{error{code, std::move(message), std::move(details)}};
}

/// The code that a file operation's errno means to a client; `internal` for one that means nothing
/// to it.
errc errc_of_errno(int number);

} // namespace corral

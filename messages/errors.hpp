// Carries the wire's errors through CAF without loss.

#pragma once

#include "messages/wire/error.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/error.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>

#include <memory>

namespace corral {

using error_ptr = std::shared_ptr<const error>;

/// The same error as a CAF one, with text and details.
caf::error to_caf(error x);

/// The error that `to_caf` wrapped. One that CAF made itself, such as a timeout or the end of the
/// actor that was asked, becomes `fallback` with CAF's own words as its detail `reason`.
error from_caf(const caf::error& x, const error& fallback);

} // namespace corral

CAF_ERROR_CODE_ENUM(corral::errc, "corral")
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(corral::error_ptr)

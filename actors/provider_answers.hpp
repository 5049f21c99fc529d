// The errors and answers that the parts of the provider have in common.

#pragma once

#include "messages/provider.hpp"

namespace corral {

inline error shutting_down() {
  return {errc::shutting_down, "the daemon is shutting down", {}};
}

/// `sandbox_runtime` at a step of making a sandbox.
inline error at_step(std::string_view step, std::string text) {
  return {errc::sandbox_runtime, std::move(text), fields{}.set("step", step)};
}

/// Answers that several promises get.
inline fields_ptr share(fields x) {
  return std::make_shared<const fields>(std::move(x));
}

} // namespace corral

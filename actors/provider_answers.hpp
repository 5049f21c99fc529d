// The errors and answers that the parts of the provider have in common.

#pragma once

#include "messages/provider.hpp"

namespace corral {

/// A duration as events and the log tell it.
inline int64_t in_ms(duration x) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(x).count();
}

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

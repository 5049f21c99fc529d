// The messages that the daemon makes itself, in the shape that clients and guests know. Plain
// functions, so that their shape is tested without an actor.

#pragma once

#include "messages/wire/ops.hpp"

#include <chrono>

namespace corral {

struct request_defaults {
  int64_t exec_timeout_ms = default_exec_timeout_ms;
  int64_t file_timeout_ms = default_file_timeout_ms;
};

/// The request as the guest gets it, named `re`. A write whose content is to follow states it in
/// `parts`.
message to_guest(const request& r, uint64_t re, const request_defaults& defaults);

/// How long the guest may work on it.
std::chrono::milliseconds timeout_of(const request& r, const request_defaults& defaults);

/// True if the content follows in `data` messages.
bool is_streamed_write(const request& r);

/// The result of an exec that was cancelled before it started.
message cancelled_before_start(std::chrono::milliseconds queued);

/// `shutting_down` for a request whose sandbox is left to a later daemon. One that had started goes
/// on there: only one that had not is worth sending again.
error left_running(bool started);

/// The answer for a sandbox that is not there, or that the client may not know of.
error unknown_sandbox();

/// `sandbox_lost`; `started` is "false", "true" or "unknown".
error lost(std::string_view started, std::string_view cause);

} // namespace corral

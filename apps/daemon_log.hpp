#pragma once

#include "config/config.hpp"
#include "messages/wire/fields.hpp"

#include <string_view>

namespace corral {

/// Sends the log to standard error, a line a message, as text or as JSON.
void start_log(log_level level, log_format format);

void set_log_level(log_level level);

/// One event with its fields. "lost", "failed" and the like are warnings, what each turn of
/// an agent brings is for debugging, all else information.
void log_event(std::string_view event, const fields& about);

} // namespace corral

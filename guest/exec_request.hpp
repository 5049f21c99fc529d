#pragma once

#include "guest/shell_session.hpp"
#include "messages/wire/message.hpp"

#include <chrono>
#include <set>
#include <string>

namespace corral::guest {

/// What an exec's reply is to hold.
struct result_wish {
  std::set<std::string> want; ///< Of output, stdout and stderr.
  size_t max_chars = 0;       ///< Of output; 0: no limit.
};

/// Reads an exec's header and parts. `invalid_request` says what is wrong; a cwd that is no
/// directory is `file_not_found` or the like.
result<shell_command> parse_command(const message& request, const std::string& workspace,
                                    std::chrono::milliseconds default_timeout);

result<result_wish> parse_wish(const message& request, size_t default_chars);

} // namespace corral::guest

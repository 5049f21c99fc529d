#pragma once

#include "messages/wire/error.hpp"

#include <string_view>

namespace corral::guest {

/// What a failed system call on `path`, as agents name it, means to them. EAGAIN means that the
/// path changed while it was looked up, which is `busy`.
error file_error(int number, std::string_view path);

inline tl::unexpected<error> file_failure(int number, std::string_view path) {
  return tl::unexpected{file_error(number, path)};
}

} // namespace corral::guest

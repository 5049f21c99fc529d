#pragma once

#include <tl/expected.hpp>

#include <string>
#include <string_view>

namespace corral {

/// A failed system call: errno, and what was tried on what.
struct os_error {
  int number = 0;   ///< errno; 0 where the failure has none.
  std::string what; ///< "open /a/b: No such file or directory". Holds host paths: never sent out.
};

template <class T>
using os_result = tl::expected<T, os_error>;

/// Reads errno at once. The only place where it enters the program's own values.
tl::unexpected<os_error> last_os_error(std::string_view operation, std::string_view object = {});

/// The same for an errno that a call returned.
tl::unexpected<os_error> os_failure(int number, std::string_view operation,
                                    std::string_view object = {});

} // namespace corral

#include "os/error.hpp"

#include <cerrno>
#include <system_error>

namespace corral {

tl::unexpected<os_error> last_os_error(std::string_view operation, std::string_view object) {
  return os_failure(errno, operation, object);
}

tl::unexpected<os_error> os_failure(int number, std::string_view operation,
                                    std::string_view object) {
  std::string what{operation};
  if (!object.empty())
    what.append(" ").append(object);
  if (number != 0)
    what.append(": ").append(std::generic_category().message(number));
  return tl::unexpected{os_error{number, std::move(what)}};
}

} // namespace corral

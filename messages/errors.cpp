#include "messages/errors.hpp"

#include <caf/make_message.hpp>

namespace corral {

caf::error to_caf(error x) {
  auto code = x.code;
  return caf::make_error(code, error_ptr{std::make_shared<const error>(std::move(x))});
}

error from_caf(const caf::error& x, const error& fallback) {
  if (x.category() == caf::atom("corral") && x.context().match_elements<error_ptr>())
    return *x.context().get_as<error_ptr>(0);
  auto result = fallback;
  result.details.set("reason", caf::to_string(x));
  return result;
}

} // namespace corral

#include "guest/files/file_call.hpp"

#include "guest/files/file_error.hpp"

namespace corral::guest {

result<void> file_call::check() const {
  if (settings.now() >= deadline) {
    fields details;
    details.set("timeout_ms", timeout().count());
    return failure(errc::busy,
                   "timed out after " + std::to_string(timeout().count())
                       + " ms; narrow the path or raise timeout_ms: " + path,
                   details);
  }
  if (out->cancelled())
    return fail(errc::busy, "cancelled or out of time before it was done");
  return {};
}

tl::unexpected<error> file_call::fail(int number) const {
  return file_failure(number, path);
}

tl::unexpected<error> file_call::fail(errc code, std::string text) const {
  return failure(code, std::move(text) + ": " + path);
}

} // namespace corral::guest

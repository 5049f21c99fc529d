#pragma once

#include <caf/error.hpp>
#include <caf/sec.hpp>

#include <exception>
#include <functional>
#include <string>

namespace corral {

/// Tells of an exception before it ends the actor: CAF itself keeps no text of it.
template <class Self>
void report_exceptions(Self* self, std::function<void(const std::string&)> report) {
  self->set_exception_handler([self, report](std::exception_ptr& x) -> caf::error {
    std::string text = "of unknown type";
    try {
      std::rethrow_exception(x);
    } catch (const std::exception& e) {
      text = e.what();
    } catch (...) {
    }
    report(std::string{self->name()} + ": exception: " + text);
    return caf::make_error(caf::sec::runtime_error);
  });
}

} // namespace corral

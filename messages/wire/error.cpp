#include "messages/wire/error.hpp"

#include <cerrno>

namespace corral {

fields error::to_fields() const {
  auto started = details.flag("started");
  auto retryable =
      code == errc::sandbox_lost ? started == false : is_retryable(code) && started != true;
  fields result;
  result.set("code", to_string(code)).set("message", message).set("retryable", retryable);
  result.set("details", details);
  return result;
}

error error::from_fields(const fields& x) {
  return {parse_errc(x.text("code").value_or("")).value_or(errc::internal),
          x.text("message").value_or(""), x.object("details").value_or(fields{})};
}

errc errc_of_errno(int number) {
  switch (number) {
  case ENOENT:
    return errc::file_not_found;
  case ENOTDIR:
    return errc::not_a_directory;
  case EISDIR:
    return errc::is_a_directory;
  case EACCES:
  case EPERM:
  case ELOOP: // A link that leads too far, or out of where it may lead.
  case EXDEV: // openat2: the path leaves the directory it must stay beneath.
    return errc::permission_denied;
  case EROFS:
    return errc::read_only;
  case ENOSPC:
  case EDQUOT:
    return errc::no_space;
  case EFBIG:
    return errc::file_too_large;
  case ENAMETOOLONG:
  case EINVAL:
    return errc::invalid_request;
  case ENOMEM:
    return errc::out_of_memory;
  case ENXIO:
  case ENODEV:
    return errc::not_regular_file;
  default:
    return errc::internal;
  }
}

} // namespace corral

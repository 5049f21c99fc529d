#include "guest/files/file_error.hpp"

#include <cerrno>
#include <system_error>

namespace corral::guest {

namespace {

errc code_of(int number) {
  switch (number) {
  case EAGAIN:
  case ETXTBSY:
  case EMFILE:
  case ENFILE:
    return errc::busy;
  default:
    return errc_of_errno(number);
  }
}

std::string_view text_of(int number) {
  switch (number) {
  case EAGAIN:
    return "it is being changed at the same time, try again: ";
  case ETXTBSY:
    return "the program is running and can't be changed in place: ";
  case ENOENT:
    return "no such file or directory: ";
  case ENOTDIR:
    return "not a directory: ";
  case EISDIR:
    return "is a directory, not a file: ";
  case ELOOP:
    return "too many links: ";
  case EXDEV:
    return "a link leads out of the directory it lies in: ";
  case EACCES:
  case EPERM:
    return "permission denied: ";
  case EROFS:
    return "read-only, choose another directory: ";
  case ENOSPC:
  case EDQUOT:
    return "no space left, remove what is not needed: ";
  case EFBIG:
    return "over the sandbox's limit of a file's size: ";
  case ENXIO:
  case ENODEV:
    return "not a regular file but a pipe, socket or device: ";
  default:
    return "";
  }
}

} // namespace

error file_error(int number, std::string_view path) {
  std::string text{text_of(number)};
  if (text.empty())
    text = std::generic_category().message(number) + ": ";
  return {code_of(number), text.append(path), {}};
}

} // namespace corral::guest

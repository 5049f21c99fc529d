#include "os/temp_dir.hpp"

#include <cstdlib>
#include <system_error>

namespace corral {

os_result<temp_dir> temp_dir::make(std::string_view prefix, std::filesystem::path parent) {
  if (parent.empty()) {
    auto configured = std::getenv("TMPDIR");
    parent = configured && *configured ? configured : "/tmp";
  }
  auto pattern = (parent / prefix).native() + "XXXXXX";
  if (!::mkdtemp(pattern.data()))
    return last_os_error("make a temporary directory in", parent.native());
  return temp_dir{pattern};
}

temp_dir::~temp_dir() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
}

} // namespace corral

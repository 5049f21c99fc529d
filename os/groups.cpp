#include "os/groups.hpp"

#include <grp.h>

#include <charconv>

namespace corral {

std::optional<gid_t> group_id(const std::string& name_or_number) {
  if (auto entry = ::getgrnam(name_or_number.c_str()))
    return entry->gr_gid;
  gid_t number = 0;
  auto end = name_or_number.data() + name_or_number.size();
  auto parsed = std::from_chars(name_or_number.data(), end, number);
  if (name_or_number.empty() || parsed.ec != std::errc{} || parsed.ptr != end)
    return std::nullopt;
  return number;
}

} // namespace corral

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace corral {

/// The id of a group given by name or number; nothing if this machine has no group of that name.
std::optional<gid_t> group_id(const std::string& name_or_number);

} // namespace corral

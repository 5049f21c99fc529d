#pragma once

#include <string_view>

namespace corral::guest {

/// True for names that searches pass over unless asked for all: version control, dependencies,
/// build output, caches, editors' leftovers. One name, not a path; case counts. The list is
/// DeerFlow's.
bool is_ignored_name(std::string_view name);

} // namespace corral::guest

#pragma once

#include <string_view>

namespace corral {

/// Whether `path` is `base` or lies below it; both absolute and normal.
bool is_at_or_below(std::string_view path, std::string_view base);

/// The directory that a sandbox brings itself and that a mount at `target` would cover or enter;
/// empty if there is none.
std::string_view reserved_for(std::string_view target);

} // namespace corral

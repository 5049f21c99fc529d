#pragma once

#include "config/load.hpp"

namespace corral {

/// The process's own environment, files, user and home, for the given file and overrides.
config_sources system_sources(std::optional<std::string> file, std::vector<std::string> overrides);

} // namespace corral

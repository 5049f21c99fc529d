// What an operator has to change when bubblewrap doesn't work here.

#pragma once

#include "messages/wire/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace corral::jail {

/// Fails if bubblewrap lacks an option that every sandbox needs.
result<void> check_bwrap(const std::filesystem::path& bwrap);

/// A failure to start a sandbox, with the setting of the kernel behind it, if one explains it.
std::string explain(std::string_view cause);

/// The advice alone: `knob` reads a file of /proc/sys and gives "" for a missing one.
std::string advice_for(std::string_view cause, std::string (*knob)(std::string_view name));

} // namespace corral::jail

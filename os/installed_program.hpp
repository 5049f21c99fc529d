#pragma once

#include <filesystem>
#include <string_view>

namespace corral {

/// Where the build or a package has put a program that belongs to this one. If it is nowhere, where
/// it should be.
std::filesystem::path installed_program(std::string_view name);

} // namespace corral

// What is done once, when a pool is opened: checks that end in errors for the operator.

#pragma once

#include "messages/wire/error.hpp"
#include "os/unique_fd.hpp"
#include "providers/namespace/settings.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace corral::jail {

/// Fails with a sentence that names the setting and what to change.
result<void> check_settings(const namespace_settings& settings);

/// Copies programs into `directory` (0755) and opens it: pairs of a source and a name there.
result<unique_fd>
install_programs(const std::filesystem::path& directory,
                 const std::vector<std::pair<std::filesystem::path, std::string>>& programs);

/// An error for the operator at start.
tl::unexpected<error> start_failure(std::string_view step, std::string message);

} // namespace corral::jail

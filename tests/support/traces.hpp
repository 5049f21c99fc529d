// What a sandbox may leave behind on this machine.

#pragma once

#include "tests/support/namespace_pool.hpp"
#include "tests/support/skip.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace corral::test {

/// Processes, mounts, cgroups, directories and records that still bear a sandbox's id, a line each.
std::vector<std::string> traces_of(const namespace_pool& pool, const std::string& id);

/// The number of descriptors that this process has open.
size_t open_descriptors();

/// The number of this process' children, zombies included.
size_t children_of_ours();

/// True if limits of this cgroup controller can be enforced here.
bool has_cgroup(const char* controller);

/// Writes a file; false if that fails.
bool put(const std::filesystem::path& path, std::string_view content, mode_t mode = 0644);

} // namespace corral::test

// Copies of programs and configuration in run_dir: whatever is bound into a sandbox then lies
// below directories that its uid may pass, wherever the originals are.

#pragma once

#include "os/error.hpp"

#include <sys/types.h>

#include <filesystem>

namespace corral::jail {

/// Copies a regular file and puts it in place with one rename, so that a running sandbox sees the
/// old or the new one.
os_result<void> copy_file(const std::filesystem::path& from, const std::filesystem::path& to,
                          mode_t mode);

/// The same for content of our own.
os_result<void> put_file(const std::filesystem::path& to, std::string_view content, mode_t mode);

/// Copies a file, a link as it is, or a directory with all in it; only what everyone may read, and
/// no manual pages. Nothing there is success.
os_result<void> copy_public(const std::filesystem::path& from, const std::filesystem::path& to);

} // namespace corral::jail

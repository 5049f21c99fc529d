// Opening what will be mounted: never through a symbolic link that an agent may have planted.

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

#include <filesystem>
#include <string_view>

namespace corral::jail {

/// An O_PATH descriptor of an absolute path of the host, without a symbolic link anywhere in it
/// (ELOOP).
os_result<unique_fd> open_source(const std::filesystem::path& path);

/// An O_PATH descriptor of a directory beneath `base`; `relative` may neither leave it nor pass a
/// symbolic link.
os_result<unique_fd> open_beneath(const unique_fd& base, const std::string& relative);

/// Opens an O_PATH descriptor's directory again, for reading its entries.
os_result<unique_fd> reopen_directory(const unique_fd& fd);

/// The path that names an open descriptor in this process.
std::string self_fd_path(int fd);

/// True for a mount target that the sandbox needs itself, is above one or below one; `why` says
/// which. A target must be absolute and normal (no `.`, `..`, `//` or trailing `/`).
bool is_reserved(std::string_view target, std::string& why);

} // namespace corral::jail

#pragma once

#include "os/error.hpp"

#include <tl/expected.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace corral {

/// A CURVE key pair in Z85: 40 printable characters each, which need quotes in a shell.
struct key_pair {
  std::string public_key;
  std::string secret_key;

  /// A new one.
  static key_pair make();
};

/// True for 40 characters of Z85's alphabet.
bool is_curve_key(std::string_view x);

/// Makes the file, mode 0600; never writes over one (EEXIST).
os_result<void> write_key_file(const std::filesystem::path& path, const key_pair& x);

/// Reads what `write_key_file` wrote. Refuses a file that others than its owner may read or write,
/// or that belongs to neither this user nor root, and one whose keys are no pair; says what to
/// change.
tl::expected<key_pair, std::string> read_key_file(const std::filesystem::path& path);

} // namespace corral

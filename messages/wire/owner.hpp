#pragma once

#include <string>
#include <string_view>

namespace corral {

/// Whose sandbox it is. Both are names as `is_valid_name` says.
struct owner {
  std::string user = "default";
  std::string thread; ///< Empty for an anonymous sandbox.

  friend auto operator<=>(const owner&, const owner&) = default;
};

/// 16 hex digits that name the owner's sandbox: the start of SHA-256 over `thread` for the user
/// `default`, over `user:thread` for others. Two owners may share an id; the owner decides.
std::string sandbox_id_of(const owner& x);

/// An id for an anonymous sandbox.
std::string random_sandbox_id();

constexpr size_t min_id_prefix = 8; ///< Digits that a client must at least give.

/// True for 16 lower-case hex digits.
bool is_sandbox_id(std::string_view x);

} // namespace corral

#include "config/paths.hpp"

#include <array>

namespace corral {

namespace {

using namespace std::string_view_literals;

/// Mounts may be below these, not on them.
constexpr std::array reserved_alone = {"/"sv, "/mnt"sv};

constexpr std::array reserved_trees = {
    "/usr"sv,
    "/etc"sv,
    "/proc"sv,
    "/dev"sv,
    "/sys"sv,
    "/run"sv,
    "/tmp"sv,
    "/bin"sv,
    "/sbin"sv,
    "/lib"sv,
    "/lib32"sv,
    "/lib64"sv,
    "/libx32"sv,
    "/home"sv,
    "/mnt/user-data"sv,
    "/mnt/skills"sv,
    "/mnt/acp-workspace"sv,
};

} // namespace

bool is_at_or_below(std::string_view path, std::string_view base) {
  if (base == "/")
    return true;
  return path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
}

std::string_view reserved_for(std::string_view target) {
  for (auto x : reserved_alone)
    if (target == x)
      return x;
  for (auto x : reserved_trees)
    if (is_at_or_below(target, x))
      return x;
  return {};
}

} // namespace corral

#include "config/system_sources.hpp"

#include "config/yaml_node.hpp"
#include "os/files.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace corral {

namespace {

tl::expected<std::string, std::string> read_file(const std::string& path) {
  return read_small_file(path, max_yaml_bytes).map_error([](const os_error& x) { return x.what; });
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>{value} : std::nullopt;
}

std::optional<std::string> real_path(const std::string& path) {
  std::error_code failure;
  auto result = std::filesystem::canonical(path, failure);
  return failure ? std::nullopt : std::optional{result.string()};
}

std::string home_directory(uid_t uid) {
  if (auto home = variable("HOME"); home && !home->empty())
    return *home;
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_dir;
}

} // namespace

config_sources system_sources(std::optional<std::string> file, std::vector<std::string> overrides) {
  return {.file = std::move(file),
          .read_file = read_file,
          .environment = variable,
          .real_path = real_path,
          .overrides = std::move(overrides),
          .is_root = geteuid() == 0,
          .uid = geteuid(),
          .home = home_directory(geteuid())};
}

} // namespace corral

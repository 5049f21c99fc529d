// From a file, the environment and the command line to a checked configuration.

#pragma once

#include "config/config.hpp"
#include "config/config_error.hpp"

#include <tl/expected.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace corral {

/// All that the configuration depends on. Nothing else is asked, so a test needs no machine;
/// system_sources() gives the machine's.
struct config_sources {
  /// The file to read, as messages name it; none: defaults, environment and command line only.
  std::optional<std::string> file{};
  /// The text of a file of at most max_yaml_bytes, or why it can't be read.
  std::function<tl::expected<std::string, std::string>(const std::string& path)> read_file =
      [](const std::string&) { return tl::unexpected{std::string{"cannot be read"}}; };
  /// A variable's value; nothing if it is not set. One that is empty counts as not set where it
  /// would name an option.
  std::function<std::optional<std::string>(const std::string& name)> environment =
      [](const std::string&) { return std::nullopt; };
  /// Where a path leads once links are followed; nothing if there is nothing.
  std::function<std::optional<std::string>(const std::string& path)> real_path =
      [](const std::string&) { return std::nullopt; };
  /// "NAME=VALUE", the later wins. NAME is an option of the daemon ("queue"), of a pool
  /// ("pools.default.replicas") or of the only pool ("pool.replicas").
  std::vector<std::string> overrides{};
  bool is_root = false;
  uint32_t uid = 0;
  std::string home{}; ///< Empty: unknown; only a user's default paths need it.
};

/// Defaults, then the file, then CORRAL_* variables (CORRAL_QUEUE; CORRAL_POOL_REPLICAS for the
/// only pool), then overrides; then what depends on other values; then what must hold among them.
/// In each of the three, a value of $NAME is replaced by that variable and $$ is a dollar sign; a
/// list or mapping outside the file is written as YAML. All errors are returned, in that order.
tl::expected<config, config_errors> load_config(const config_sources& sources);

/// What `corrald --print-config` prints: every option with its value and where that came from, as
/// YAML that load_config reads back. Values of $NAME are printed as $NAME.
tl::expected<std::string, config_errors> print_config(const config_sources& sources);

/// The text of config/corral.yaml: every option with its default and documentation.
std::string default_config_file();

/// The text of docs/configuration.md: every option with its type, default, the names that it has in
/// the environment and on the command line, and documentation.
std::string configuration_manual();

} // namespace corral

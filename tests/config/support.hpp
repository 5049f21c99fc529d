#pragma once

#include "config/load.hpp"

#include <map>
#include <set>
#include <string>

namespace corral::testing {

/// A made-up machine: one file, some variables, some paths that exist.
struct machine {
  std::string yaml{};
  std::map<std::string, std::string> variables{};
  std::vector<std::string> overrides{};
  std::map<std::string, std::string> links{}; ///< Path to where it leads; itself for a plain one.
  bool is_root = true;
  std::string home = "/home/ada";

  config_sources sources() const {
    config_sources x{.file = "corral.yaml"};
    x.read_file = [text = yaml](const std::string&) { return text; };
    x.environment = [all = variables](const std::string& name) {
      auto found = all.find(name);
      return found == all.end() ? std::nullopt : std::optional{found->second};
    };
    x.real_path = [all = links](const std::string& path) {
      auto found = all.find(path);
      return found == all.end() ? std::nullopt : std::optional{found->second};
    };
    x.overrides = overrides;
    x.is_root = is_root;
    x.uid = is_root ? 0 : 1000;
    x.home = home;
    return x;
  }
};

/// The errors, one a line without the last line end; "" where all is well.
inline std::string errors_of(const machine& x) {
  auto loaded = load_config(x.sources());
  auto text = loaded ? std::string{} : to_string(loaded.error());
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

/// Throws, so that a test that needs the values fails where they are missing.
inline config loaded(const machine& x) {
  return load_config(x.sources()).value();
}

inline pool_config loaded_pool(const machine& x) {
  return loaded(x).pools.at(0);
}

/// YAML for one option of the default pool.
inline std::string pool_yaml(const std::string& option) {
  return "pools:\n  default:\n    " + option + "\n";
}

} // namespace corral::testing

// What load_config and print_config share; for the files of this directory only.

#pragma once

#include "config/load.hpp"
#include "config/yaml_node.hpp"

#include <map>

namespace corral {

/// Where an option's value came from.
struct setting_origin {
  std::string file;  ///< The file, "environment" or "command line".
  unsigned line = 0; ///< In the file.
  std::string name;  ///< What the source calls it: "CORRAL_QUEUE".
  yaml_node value;   ///< As given, and what its references stand for.
};

/// By full name: "pools.default.replicas". Options that have their defaults are not in it.
using setting_origins = std::map<std::string, setting_origin>;

struct loaded_config {
  config values;
  setting_origins origins;
};

tl::expected<loaded_config, config_errors> load_with_origins(const config_sources& sources);

/// Replaces every scalar `$NAME` by that variable and `$$` by `$`, remembering the reference.
/// Any other dollar, and a variable that is not set, is an error.
void expand_references(yaml_node& node, const config_sources& sources, const std::string& file,
                       const std::string& key, config_errors& errors);

/// Gives values to what is still empty: paths from who runs the daemon, limits from replicas.
void fill_defaults(config& x, const config_sources& sources, config_errors& errors);

/// What must hold among values that are each valid. Says nothing about values that already have
/// errors.
void check_config(const loaded_config& x, const config_sources& sources, config_errors& errors);

/// The same for the mounts of a pool, whose names start with `prefix`.
void check_mounts(const loaded_config& x, const pool_config& pool, const std::string& prefix,
                  const config_sources& sources, config_errors& errors);

/// The same for TCP endpoints and keys.
void check_access(const loaded_config& x, config_errors& errors);

} // namespace corral

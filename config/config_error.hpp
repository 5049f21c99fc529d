#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// One thing that is wrong with the configuration, in words for the operator. Never holds a value
/// that came from the environment through `$NAME`.
struct config_error {
  std::string file;  ///< The file, "environment", "command line", or empty: a default.
  unsigned line = 0; ///< From 1; 0 where there is none.
  std::string key;   ///< Full name of the option, "pools.default.mounts[0].target"; may be empty.
  std::string message;

  friend bool operator==(const config_error&, const config_error&) = default;
};

using config_errors = std::vector<config_error>;

/// Keys are shown as quoted_for_message shows values:
/// "corral.yaml:12: pools.default.replicas: expected a whole number, found "many""
std::string to_string(const config_error& x);

/// One error a line.
std::string to_string(const config_errors& xs);

/// Quotes what was found for a message: control characters escaped, long values cut.
std::string quoted_for_message(std::string_view text);

} // namespace corral

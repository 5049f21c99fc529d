// YAML as the configuration knows it: a small tree in which every value has its line.

#pragma once

#include "config/config_error.hpp"

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace corral {

inline constexpr size_t max_yaml_bytes = 1 << 20;
inline constexpr size_t max_yaml_depth = 16;

struct yaml_node {
  enum class kind { null, scalar, list, mapping };

  kind type = kind::null;
  unsigned line = 0;       ///< Of its key in a mapping, else of its own start; 0 outside a file.
  std::string text{};      ///< A scalar's.
  std::string reference{}; ///< "$NAME" where expand_references found the text in the environment.
  std::vector<yaml_node> items{};  ///< Of a list, or the values of a mapping.
  std::vector<std::string> keys{}; ///< keys[i] names items[i].

  static yaml_node scalar(std::string_view text, unsigned line = 0);
};

/// One document of at most max_yaml_bytes and max_yaml_depth levels. What YAML has beyond plain
/// trees is refused: anchors and aliases (they let a small file name a huge tree), tags, keys that
/// are not text, keys given twice. Text is UTF-8 without control characters. The errors have no
/// key; an unreadable document gives one error, keys given twice one each.
tl::expected<yaml_node, config_errors> parse_yaml(const std::string& text, const std::string& file);

/// In flow style on one line, so that parse_yaml and expand_references give the same values:
/// references stay references, other dollars are doubled.
std::string to_yaml(const yaml_node& x);

/// How a message names what was found: `"many"`, `a list`, `nothing`. The text of a reference is
/// not shown.
std::string describe(const yaml_node& x);

} // namespace corral

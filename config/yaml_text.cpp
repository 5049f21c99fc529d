// Writing YAML, for --print-config and corral.yaml.

#include "config/yaml_node.hpp"

#include <algorithm>
#include <array>

namespace corral {

namespace {

bool is_plain(std::string_view text) {
  constexpr std::string_view harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./$";
  constexpr std::array nulls = {"null", "Null", "NULL"};
  return !text.empty() && text.front() != '-' && text.front() != '.'
         && text.find_first_not_of(harmless) == std::string_view::npos
         && std::find(nulls.begin(), nulls.end(), text) == nulls.end();
}

std::string quoted(std::string_view text) {
  if (is_plain(text))
    return std::string{text};
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result.append({'\\', c});
    else if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + '"';
}

std::string scalar_text(const yaml_node& x) {
  if (!x.reference.empty())
    return x.reference;
  std::string doubled;
  for (char c : x.text)
    doubled.append(c == '$' ? 2 : 1, c);
  return quoted(doubled);
}

} // namespace

std::string to_yaml(const yaml_node& x) {
  if (x.type == yaml_node::kind::scalar)
    return scalar_text(x);
  if (x.type == yaml_node::kind::null)
    return "";
  bool is_list = x.type == yaml_node::kind::list;
  std::string result = is_list ? "[" : "{";
  for (size_t i = 0; i < x.items.size(); ++i) {
    result += i == 0 ? "" : ", ";
    if (!is_list)
      result += quoted(x.keys[i]) + ": ";
    result += to_yaml(x.items[i]);
  }
  return result + (is_list ? "]" : "}");
}

} // namespace corral

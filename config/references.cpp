#include "config/loaded.hpp"
#include "config/option.hpp"

namespace corral {

namespace {

/// The NAME of a text that is `$NAME`; empty for any other.
std::string_view reference_name(std::string_view text) {
  if (!text.starts_with('$') || !is_environment_name(text.substr(1)))
    return {};
  return text.substr(1);
}

/// `$$` to `$`; nothing if a dollar stands alone.
std::optional<std::string> undouble(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && text.substr(i + 1, 1) != "$")
      return std::nullopt;
    i += text[i] == '$' ? 1 : 0;
    result += text[i];
  }
  return result;
}

std::optional<std::string> expand_scalar(yaml_node& node, const config_sources& sources) {
  if (auto name = reference_name(node.text); !name.empty()) {
    auto value = sources.environment(std::string{name});
    if (!value)
      return "expected the environment to have " + std::string{name} + ", which is not set";
    node.reference = std::exchange(node.text, std::move(*value));
    return std::nullopt;
  }
  auto text = undouble(node.text);
  if (!text)
    return "expected $NAME as the whole value, or $$ for a dollar sign, found "
           + quoted_for_message(node.text);
  node.text = std::move(*text);
  return std::nullopt;
}

std::string key_below(const yaml_node& node, size_t i) {
  return node.type == yaml_node::kind::list ? "[" + std::to_string(i) + "]" : "." + node.keys[i];
}

} // namespace

void expand_references(yaml_node& node, const config_sources& sources, const std::string& file,
                       const std::string& key, config_errors& errors) {
  if (node.type == yaml_node::kind::scalar) {
    if (auto failure = expand_scalar(node, sources))
      errors.push_back({file, node.line, key, std::move(*failure)});
    return;
  }
  for (size_t i = 0; i < node.items.size(); ++i)
    expand_references(node.items[i], sources, file, key + key_below(node, i), errors);
}

} // namespace corral

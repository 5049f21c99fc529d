// corral.yaml and --print-config: one layout, two fillings.

#include "config/loaded.hpp"
#include "config/option.hpp"

namespace corral {

namespace {

/// Breaks `text` into comment lines of at most 100 characters.
std::string comment(const std::string& text, const std::string& indent) {
  constexpr size_t width = 100;
  std::string result;
  std::string line = indent + "#";
  size_t start = 0;
  while (start < text.size()) {
    auto end = std::min(text.find(' ', start), text.size());
    auto word = text.substr(start, end - start);
    if (line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line = indent + "#";
    }
    line += " " + word;
    start = end + 1;
  }
  return result + line + "\n";
}

std::string documentation(const option& x, const std::string& indent) {
  return comment(x.doc, indent) + comment("Expected: " + x.expected, indent);
}

/// Lays out the options of a scope: `line` gives what follows the indentation, "replicas: 64".
template <class Line>
std::string lay_out(bool in_pool, Line line) {
  std::string result;
  std::string open_group;
  for (const auto& x : option_table()) {
    if (x.in_pool != in_pool)
      continue;
    auto dot = x.name.find('.');
    auto group = dot == std::string::npos ? std::string{} : x.name.substr(0, dot);
    std::string indent(in_pool ? 4 : 0, ' ');
    if (group != open_group)
      result += "\n" + indent + group + ":";
    open_group = group;
    if (!group.empty())
      indent += "  ";
    result += "\n" + documentation(x, indent) + indent + line(x) + "\n";
  }
  return result;
}

/// The whole file, with `line` of an option in a pool.
template <class Line>
std::string lay_out(std::vector<pool_config>& pools, Line line) {
  auto result = lay_out(false, [&](auto& x) { return line(x, pools.front()); }) + "\npools:";
  for (auto& pool : pools)
    result += "\n  " + pool.name + ":" + lay_out(true, [&](auto& x) { return line(x, pool); });
  return result;
}

std::string leaf(const option& x) {
  return x.name.substr(x.name.rfind('.') + 1);
}

std::string shown_origin(const setting_origin& x) {
  if (x.line != 0)
    return "file " + x.file + ":" + std::to_string(x.line);
  return x.file == "environment" ? "environment " + x.name : x.file;
}

} // namespace

tl::expected<std::string, config_errors> print_config(const config_sources& sources) {
  auto loaded = load_with_origins(sources);
  if (!loaded)
    return tl::unexpected{std::move(loaded.error())};
  auto line = [&](const option& x, pool_config& pool) {
    auto key = x.in_pool ? "pools." + pool.name + "." + x.name : x.name;
    auto origin = loaded->origins.find(key);
    bool is_default = origin == loaded->origins.end();
    // What was given, rather than what it came to: a value from the environment may be a secret.
    bool is_given = !is_default && origin->second.value.type != yaml_node::kind::null;
    auto value = is_given ? origin->second.value : x.get({loaded->values, pool});
    return leaf(x) + ": " + to_yaml(value) + " # "
           + (is_default ? "default" : shown_origin(origin->second));
  };
  return "# The configuration in effect, and where each value came from.\n"
         + lay_out(loaded->values.pools, line);
}

std::string default_config_file() {
  config daemon;
  std::vector<pool_config> pools(1);
  auto line = [&](const option& x, pool_config& pool) {
    if (!x.computed.empty())
      return "#" + leaf(x) + ": " + x.computed;
    return leaf(x) + ": " + to_yaml(x.get({daemon, pool}));
  };
  return "# Every option of Corral with its default. Options that start with # have a default "
         "that\n"
         "# depends on other things. A value of $NAME is taken from the environment, $$ is a "
         "dollar\n"
         "# sign. Sizes: 4096, 100MB, 512MiB; durations: 30 (seconds), 250ms, 30s, 10m, 4h, 7d.\n"
         "#\n"
         "# What counts, the first that is given: the command line (--set queue=100, --set\n"
         "# pools.default.replicas=8), the environment (CORRAL_QUEUE=100, CORRAL_POOL_REPLICAS=8), "
         "the\n"
         "# file, the default.\n"
         "#\n"
         "# Made from config/options.cpp by `ninja config_yaml`.\n"
         + lay_out(pools, line);
}

} // namespace corral

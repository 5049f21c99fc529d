#include "config/load.hpp"

#include "config/loaded.hpp"
#include "config/option.hpp"
#include "messages/wire/names.hpp"

#include <algorithm>

namespace corral {

namespace {

/// Only a file's lines help to find something.
void forget_lines(yaml_node& x) {
  x.line = 0;
  for (auto& item : x.items)
    forget_lines(item);
}

/// Walks the three sources in the order of their precedence, setting values as it goes.
class loader {
public:
  explicit loader(const config_sources& sources) : sources_{sources} {}

  tl::expected<loaded_config, config_errors> run() {
    result_.values.pools.resize(1);
    read_file();
    read_environment();
    for (const auto& x : sources_.overrides)
      read_override(x);
    fill_defaults(result_.values, sources_, errors_);
    check_config(result_, sources_, errors_);
    if (!errors_.empty())
      return tl::unexpected{std::move(errors_)};
    return std::move(result_);
  }

private:
  static constexpr const char* command_line = "command line";

  config_target target() { return {result_.values, result_.values.pools[pool_]}; }

  /// Of the pool that is being read.
  std::string pool_prefix() const { return "pools." + result_.values.pools[pool_].name + "."; }

  std::string scope_prefix(bool in_pool) const { return in_pool ? pool_prefix() : std::string{}; }

  static const option* find(bool in_pool, const std::string& name) {
    const auto& table = option_table();
    auto x = std::find_if(table.begin(), table.end(),
                          [&](const option& o) { return o.in_pool == in_pool && o.name == name; });
    return x == table.end() ? nullptr : &*x;
  }

  static bool is_group(bool in_pool, const std::string& prefix) {
    const auto& table = option_table();
    return std::any_of(table.begin(), table.end(), [&](const option& o) {
      return o.in_pool == in_pool && o.name.starts_with(prefix);
    });
  }

  void fail(const std::string& file, unsigned line, const std::string& key, std::string message) {
    errors_.push_back({file, line, key, std::move(message)});
  }

  void apply(const option& x, yaml_node value, setting_origin origin) {
    auto errors_before = errors_.size();
    expand_references(value, sources_, origin.file, origin.name, errors_);
    if (errors_.size() == errors_before)
      x.set(target(), value, {origin.file, origin.name, errors_});
    origin.value = std::move(value);
    result_.origins[scope_prefix(x.in_pool) + x.name] = std::move(origin);
  }

  void read_file() {
    if (!sources_.file)
      return;
    const auto& file = *sources_.file;
    auto text = sources_.read_file(file);
    if (!text)
      return fail(file, 0, "", text.error());
    auto tree = parse_yaml(*text, file);
    if (!tree)
      errors_.insert(errors_.end(), tree.error().begin(), tree.error().end());
    else if (expect_mapping(*tree, ""))
      read_mapping(*tree, false, "");
  }

  bool expect_mapping(const yaml_node& x, const std::string& key) {
    if (x.type == yaml_node::kind::mapping || x.type == yaml_node::kind::null)
      return true;
    fail(*sources_.file, x.line, key, "expected a mapping of options, found " + describe(x));
    return false;
  }

  void read_mapping(const yaml_node& map, bool in_pool, const std::string& group) {
    for (size_t i = 0; i < map.keys.size(); ++i) {
      auto name = group + map.keys[i];
      auto key = scope_prefix(in_pool) + name;
      const auto& item = map.items[i];
      if (map.keys[i].find('.') != std::string::npos)
        fail(*sources_.file, item.line, key, "expected mappings within mappings, not dots");
      else if (const auto* x = find(in_pool, name))
        apply(*x, item, {*sources_.file, item.line, key, {}});
      else if (key == "pools")
        read_pools(item);
      else if (!is_group(in_pool, name + "."))
        fail(*sources_.file, item.line, key, unknown(in_pool, group, map.keys[i]));
      else if (expect_mapping(item, key))
        read_mapping(item, in_pool, name + ".");
    }
  }

  /// The first pool is the default, and the one that is meant where none is named.
  void read_pools(const yaml_node& pools) {
    if (!expect_mapping(pools, "pools"))
      return;
    for (size_t i = 0; i < pools.keys.size(); ++i) {
      const auto& name = pools.keys[i];
      if (!is_valid_name(name))
        return fail(*sources_.file, pools.items[i].line, "pools",
                    "expected a name of 1 to 64 letters, digits, _ and -, found "
                        + quoted_for_message(name));
      pool_ = i;
      result_.values.pools.resize(std::max(result_.values.pools.size(), i + 1));
      result_.values.pools[i].name = name;
      if (expect_mapping(pools.items[i], "pools." + name))
        read_mapping(pools.items[i], true, "");
    }
    pool_ = 0;
  }

  void read_environment() {
    for (const auto& x : option_table()) {
      auto name = x.environment_name();
      auto text = sources_.environment(name);
      if (text && !text->empty())
        read_text(x, *text, {"environment", 0, name, {}});
    }
  }

  void read_override(const std::string& text) {
    auto end = text.find('=');
    auto name = text.substr(0, end);
    if (end == std::string::npos)
      return fail(command_line, 0, name, "expected NAME=VALUE, found no =");
    bool in_pool = true;
    auto rest = name;
    if (name.starts_with("pool."))
      rest = name.substr(5);
    else if (name.starts_with("pools."))
      rest = select_pool(name);
    else
      in_pool = false;
    if (rest.empty())
      return fail(command_line, 0, name, "expected one of the pools " + pool_names());
    if (const auto* x = find(in_pool, rest))
      read_text(*x, text.substr(end + 1), {command_line, 0, name, {}});
    else
      fail(command_line, 0, name, unknown(in_pool, "", rest));
    pool_ = 0;
  }

  /// Of pools.NAME.OPTION: selects the pool and returns the option; empty if there is no such pool.
  std::string select_pool(const std::string& name) {
    for (pool_ = 0; pool_ < result_.values.pools.size(); ++pool_)
      if (name.starts_with(pool_prefix()))
        return name.substr(pool_prefix().size());
    pool_ = 0;
    return "";
  }

  std::string pool_names() const {
    std::string result;
    for (auto& x : result_.values.pools)
      result += (result.empty() ? "" : ", ") + x.name;
    return result;
  }

  void read_text(const option& x, const std::string& text, setting_origin origin) {
    if (x.scalar)
      return apply(x, yaml_node::scalar(text), std::move(origin));
    auto tree = parse_yaml(text, origin.file);
    if (tree) {
      forget_lines(*tree);
      return apply(x, std::move(*tree), std::move(origin));
    }
    for (auto& error : tree.error())
      fail(origin.file, 0, origin.name, "expected YAML for " + x.expected + ": " + error.message);
  }

  /// Names the same option elsewhere, or the name that is spelt most like it.
  std::string unknown(bool in_pool, const std::string& group, const std::string& word) const {
    std::vector<std::string> near;
    for (const auto& x : option_table()) {
      auto leaf = x.name.substr(x.name.rfind('.') + 1);
      if (word == leaf || word == x.name || word == x.formerly)
        return "unknown option, the nearest known one is " + scope_prefix(x.in_pool) + x.name;
      if (x.in_pool != in_pool || !x.name.starts_with(group))
        continue;
      auto below = x.name.substr(group.size());
      near.push_back(below);
      near.push_back(below.substr(0, below.find('.')));
    }
    if (!in_pool)
      near.emplace_back("pools");
    auto best = group + nearest(word, near);
    return "unknown option, the nearest known one is " + scope_prefix(in_pool) + best;
  }

  const config_sources& sources_;
  loaded_config result_;
  config_errors errors_;
  size_t pool_ = 0; // That is being read.
};

} // namespace

tl::expected<loaded_config, config_errors> load_with_origins(const config_sources& sources) {
  return loader{sources}.run();
}

tl::expected<config, config_errors> load_config(const config_sources& sources) {
  return load_with_origins(sources).map([](loaded_config&& x) { return std::move(x.values); });
}

} // namespace corral

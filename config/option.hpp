// One row of the table of options, and the kinds of values that rows are made of.

#pragma once

#include "config/config.hpp"
#include "config/config_error.hpp"
#include "config/yaml_node.hpp"
#include "messages/wire/names.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corral {

/// Where an option's value lives: a daemon-wide one in the first, a pool's in the second.
struct config_target {
  config& daemon;
  pool_config& pool;
};

/// Where a value that is being set came from, and who is told what is wrong with it.
struct value_context {
  std::string file;
  std::string key;
  config_errors& errors;

  /// `below` is appended to the key: "[0].target".
  void fail(unsigned line, const std::string& below, std::string message) const {
    errors.push_back({file, line, key + below, std::move(message)});
  }
};

struct option {
  std::string name{};     ///< As in the file, within its scope: "limits.memory".
  bool in_pool = false;   ///< In the scope of a pool, else of the daemon.
  std::string expected{}; ///< "a whole number from 1 to 64": for messages and documentation.
  bool scalar = true;     ///< Else a list or mapping, written as YAML where only text fits.
  std::string doc{};      ///< One or two sentences.
  std::string computed{}; ///< A sample of a default that depends on other things; else empty.
  bool live = false;      ///< A change takes effect on reload, without a restart.
  std::string formerly{}; ///< What the predecessor called it, where that differs.

  std::function<void(config_target, const yaml_node&, const value_context&)> set{};
  std::function<yaml_node(config_target)> get{};

  /// "CORRAL_DATA_DIR", "CORRAL_POOL_LIMITS_MEMORY".
  std::string environment_name() const;
};

/// Every option, in the order of the file; a group's ("limits.") stand together.
const std::vector<option>& option_table();

/// Text to value and back: parse(format(x)) == x for every x that parse can give.
template <class T>
struct value_kind {
  std::string expected{};
  std::function<std::optional<T>(std::string_view)> parse;
  std::function<std::string(const T&)> format;
};

namespace kinds {

/// What an `off` says makes 0 a valid value below `least`: "no limit".
value_kind<uint64_t> whole_number(uint64_t least, uint64_t most, const std::string& off = {});
value_kind<double> number(double least, double most, const std::string& off = {});
value_kind<uint64_t> size(uint64_t least, uint64_t most, const std::string& off = {});
value_kind<std::chrono::milliseconds> duration(std::chrono::milliseconds least,
                                               std::chrono::milliseconds most,
                                               const std::string& off = {});

/// Absolute, below PATH_MAX, without control characters, `.` and `..`; repeated and trailing
/// slashes are dropped. `none` says what the empty text stands for, if it may be given.
value_kind<std::string> absolute_path(const std::string& none = {});

/// A group's name or number; empty for the daemon's own.
value_kind<std::string> group_name();

value_kind<bool> true_or_false();
value_kind<uid_range> range_of_uids();

template <class E>
value_kind<E> choice(std::vector<std::pair<std::string, E>> words) {
  std::string expected = words.size() == 1 ? "" : "one of ";
  for (size_t i = 0; i < words.size(); ++i)
    expected += (i == 0 ? "" : ", ") + words[i].first;
  auto parse = [words](std::string_view text) -> std::optional<E> {
    for (const auto& [word, value] : words)
      if (word == text)
        return value;
    return std::nullopt;
  };
  auto format = [words](const E& x) {
    for (const auto& [word, value] : words)
      if (value == x)
        return word;
    return std::string{};
  };
  return {expected, parse, format};
}

} // namespace kinds

/// Sets `x` from a scalar, or says what was expected and found.
template <class T>
void set_scalar(T& x, const value_kind<T>& kind, const yaml_node& node,
                const value_context& context, const std::string& below = {}) {
  auto value = node.type == yaml_node::kind::scalar ? kind.parse(node.text) : std::nullopt;
  if (value)
    x = *value;
  else
    context.fail(node.line, below, "expected " + kind.expected + ", found " + describe(node));
}

/// `[{source: DIR, target: DIR, read_only: false}]`
void set_mounts(std::vector<mount_config>& x, const yaml_node& node, const value_context& context);
yaml_node mounts_node(const std::vector<mount_config>& x);

/// `{NAME: value}`
void set_environment(std::map<std::string, std::string>& x, const yaml_node& node,
                     const value_context& context);
yaml_node environment_node(const std::map<std::string, std::string>& x);

/// `[tcp://HOST:PORT]`
void set_endpoints(std::vector<std::string>& x, const yaml_node& node,
                   const value_context& context);
yaml_node endpoints_node(const std::vector<std::string>& x);

/// `[{name: NAME, key: KEY, users: "*" or a list, ops: "*" or a list}]`
void set_keys(std::vector<key_config>& x, const yaml_node& node, const value_context& context);
yaml_node keys_node(const std::vector<key_config>& x);

} // namespace corral

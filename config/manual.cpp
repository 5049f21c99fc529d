// docs/configuration.md: the table of options as people read it.

#include "config/load.hpp"
#include "config/option.hpp"

namespace corral {

namespace {

constexpr auto introduction = R"(# Configuration

<!-- Made from config/options.cpp by `ninja config_docs`. Change the table, not this page. -->

Every option of `corrald`. What counts is the first that is given of:

1. the command line: `--set NAME=VALUE`, several times if need be;
2. the environment: `CORRAL_...`;
3. the file: `--config FILE`, in which pools' options stand below `pools: NAME:`;
4. the default.

On the command line and in the environment `pool` stands for the first pool, which is the default,
whatever its name; on the command line `pools.NAME` names any. Lists and mappings are written there
as YAML. A value of `$NAME` is taken from the environment, `$$` is a
dollar sign. Sizes: 4096 (bytes), 100MB, 512MiB; durations: 30 (seconds), 250ms, 30s, 10m, 4h, 7d.

After a change of the file, SIGHUP or `corral reload` puts into effect what is marked so below and
names what needs a restart.

`corrald --check-config` names each error with file, line and key; `corrald --print-config` shows
the values in effect and where each came from. [config/corral.yaml](../config/corral.yaml) is the
same table as a file to start from, [operations.md](operations.md) says how the options work
together.
)";

/// `name`, as it may be told wherever the pool's own name isn't known.
std::string full_name(const option& x) {
  return (x.in_pool ? "pool." : "") + x.name;
}

std::string code(const std::string& text) {
  return "`" + text + "`";
}

/// An argument of a shell.
std::string argument(const std::string& text) {
  auto plain = text.find_first_of(" \"'$[]{}()&;<>|*?#") == std::string::npos;
  return plain ? text : "'" + text + "'";
}

/// The default as --set takes it.
std::string value_text(const option& x, const yaml_node& value) {
  if (!x.computed.empty())
    return x.computed;
  return value.type == yaml_node::kind::scalar ? value.text : to_yaml(value);
}

std::string shown_default(const option& x, const yaml_node& value) {
  if (!x.computed.empty())
    return code(x.computed) + (x.in_pool ? ", computed from other options" : ", as root");
  return code(to_yaml(value));
}

std::string section(const option& x, const yaml_node& value) {
  auto result = "\n### " + code(full_name(x)) + "\n\n" + x.doc + "\n\n";
  result += "- Value: " + x.expected + "\n";
  result += "- Default: " + shown_default(x, value) + "\n";
  result += "- Environment: " + code(x.environment_name()) + "\n";
  result += "- Command line: "
            + code("--set " + argument(full_name(x) + "=" + value_text(x, value))) + "\n";
  if (x.live)
    result += "- Takes effect on reload, without a restart\n";
  return x.formerly.empty() ? result : result + "- Known elsewhere as: " + code(x.formerly) + "\n";
}

} // namespace

std::string configuration_manual() {
  config daemon;
  pool_config pool;
  std::string result = introduction;
  std::string title;
  for (const auto& x : option_table()) {
    std::string belongs = x.in_pool ? "The pool" : "The daemon";
    if (belongs != title)
      result += "\n## " + belongs + "\n";
    title = belongs;
    result += section(x, x.get({daemon, pool}));
  }
  return result;
}

} // namespace corral

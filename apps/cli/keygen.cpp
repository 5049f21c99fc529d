#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"
#include "bridge/key_pair.hpp"
#include "config/yaml_node.hpp"

#include <cerrno>

namespace corral::cli {

namespace {

yaml_node names_of(const std::vector<std::string>& names) {
  yaml_node result{.type = yaml_node::kind::list};
  for (auto& x : names)
    result.items.push_back(yaml_node::scalar(x));
  return names.empty() ? yaml_node::scalar("*") : result;
}

/// An item of the configuration's `keys`.
std::string configuration_line(const keygen_options& x, const std::string& public_key) {
  yaml_node item{.type = yaml_node::kind::mapping, .keys = {"name", "key", "users", "ops"}};
  item.items = {yaml_node::scalar(x.name), yaml_node::scalar(public_key), names_of(x.users),
                names_of(x.ops)};
  return to_yaml(item);
}

} // namespace

cli_result<int> keygen(const keygen_options& x, bool json) {
  auto keys = key_pair::make();
  if (auto written = write_key_file(x.file, keys); !written) {
    auto& why = written.error();
    return failed("input_output", why.number == EEXIST
                                      ? x.file + " exists already, and keys are never written over"
                                      : why.what);
  }
  auto line = configuration_line(x, keys.public_key);
  if (json)
    return print_json(
        fields{}.set("file", x.file).set("public", keys.public_key).set("configuration", line));
  auto text = keys.public_key + "\n\nIts line in the daemon's configuration, below keys:\n  - "
              + line + "\n";
  return write_to(stream::out, text).map([] { return int{exit_ok}; });
}

} // namespace corral::cli

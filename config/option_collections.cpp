// The two options that are no scalars: mounts and environment.

#include "config/option.hpp"
#include "messages/wire/names.hpp"

namespace corral {

namespace {

const std::vector<std::string> mount_keys = {"source", "target", "read_only"};

bool has_shape(const yaml_node& node, yaml_node::kind shape, const std::string& expected,
               const value_context& context, const std::string& below = {}) {
  if (node.type == shape)
    return true;
  context.fail(node.line, below, "expected " + expected + ", found " + describe(node));
  return false;
}

std::string known_mount_key(const std::string& key) {
  if (key == "host_path")
    return "source";
  if (key == "container_path")
    return "target";
  return nearest(key, mount_keys);
}

void set_mount_key(mount_config& x, const std::string& key, const yaml_node& value,
                   const value_context& context, const std::string& at) {
  auto below = at + "." + key;
  if (key == "source")
    set_scalar(x.source, kinds::absolute_path(), value, context, below);
  else if (key == "target")
    set_scalar(x.target, kinds::absolute_path(), value, context, below);
  else if (key == "read_only")
    set_scalar(x.read_only, kinds::true_or_false(), value, context, below);
  else
    context.fail(value.line, below,
                 "unknown key, the nearest known one is " + known_mount_key(key));
}

/// A mount that lacks something is left out: the errors stand for it.
void add_mount(std::vector<mount_config>& xs, const yaml_node& node, const value_context& context,
               const std::string& at) {
  if (!has_shape(node, yaml_node::kind::mapping, "a mapping of source, target and read_only",
                 context, at))
    return;
  auto errors_before = context.errors.size();
  mount_config x;
  for (size_t i = 0; i < node.keys.size(); ++i)
    set_mount_key(x, node.keys[i], node.items[i], context, at);
  if (context.errors.size() == errors_before && x.source.empty())
    context.fail(node.line, at + ".source",
                 "expected " + kinds::absolute_path().expected + ", found nothing");
  if (context.errors.size() == errors_before && x.target.empty())
    context.fail(node.line, at + ".target",
                 "expected " + kinds::absolute_path().expected + ", found nothing");
  // Kept even so: its place in the list is the number that messages use.
  xs.push_back(std::move(x));
}

} // namespace

void set_mounts(std::vector<mount_config>& x, const yaml_node& node, const value_context& context) {
  x.clear();
  if (node.type == yaml_node::kind::null
      || !has_shape(node, yaml_node::kind::list, "a list of mounts", context))
    return;
  for (size_t i = 0; i < node.items.size(); ++i)
    add_mount(x, node.items[i], context, "[" + std::to_string(i) + "]");
}

yaml_node mounts_node(const std::vector<mount_config>& x) {
  yaml_node result{.type = yaml_node::kind::list};
  for (const auto& m : x) {
    yaml_node item{.type = yaml_node::kind::mapping, .keys = mount_keys};
    item.items = {yaml_node::scalar(m.source), yaml_node::scalar(m.target),
                  yaml_node::scalar(m.read_only ? "true" : "false")};
    result.items.push_back(std::move(item));
  }
  return result;
}

void set_environment(std::map<std::string, std::string>& x, const yaml_node& node,
                     const value_context& context) {
  x.clear();
  if (node.type == yaml_node::kind::null
      || !has_shape(node, yaml_node::kind::mapping, "a mapping of names to values", context))
    return;
  for (size_t i = 0; i < node.keys.size(); ++i) {
    const auto& name = node.keys[i];
    const auto& value = node.items[i];
    if (!is_environment_name(name))
      context.fail(value.line, "",
                   "expected names of letters, digits and _, not starting with a digit, found "
                       + quoted_for_message(name));
    else if (has_shape(value, yaml_node::kind::scalar, "text", context, "." + name))
      x[name] = value.text;
  }
}

yaml_node environment_node(const std::map<std::string, std::string>& x) {
  yaml_node result{.type = yaml_node::kind::mapping};
  for (const auto& [name, value] : x) {
    result.keys.push_back(name);
    result.items.push_back(yaml_node::scalar(value));
  }
  return result;
}

} // namespace corral

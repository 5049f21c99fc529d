// The options that say who may connect: endpoints and keys.

#include "config/option.hpp"
#include "config/units.hpp"
#include "messages/wire/names.hpp"
#include "messages/wire/ops.hpp"

namespace corral {

namespace {

constexpr std::string_view tcp = "tcp://";
const std::vector<std::string> key_fields = {"name", "key", "users", "ops"};

bool has_shape(const yaml_node& node, yaml_node::kind shape, const std::string& expected,
               const value_context& context, const std::string& below) {
  if (node.type == shape)
    return true;
  context.fail(node.line, below, "expected " + expected + ", found " + describe(node));
  return false;
}

/// A host, an address, an interface or *, and a port.
std::optional<std::string> parse_endpoint(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789.-_:*[]%";
  auto colon = text.rfind(':');
  if (!text.starts_with(tcp) || colon <= tcp.size() || colon == std::string_view::npos)
    return std::nullopt;
  auto host = text.substr(tcp.size(), colon - tcp.size());
  auto port = parse_whole_number(text.substr(colon + 1));
  auto usable = host.find_first_not_of(letters) == std::string_view::npos && port && *port >= 1
                && *port <= 65535;
  return usable ? std::optional{std::string{text}} : std::nullopt;
}

std::optional<std::string> parse_key(std::string_view text) {
  constexpr std::string_view z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   ".-:+=^!/*?&<>()[]{}@%$#";
  if (text.size() != 40 || text.find_first_not_of(z85) != std::string_view::npos)
    return std::nullopt;
  return std::string{text};
}

std::optional<std::string> parse_principal(std::string_view text) {
  return is_valid_name(text) && text != "ipc" ? std::optional{std::string{text}} : std::nullopt;
}

std::optional<std::string> parse_user(std::string_view text) {
  return is_valid_name(text) ? std::optional{std::string{text}} : std::nullopt;
}

std::optional<std::string> parse_op(std::string_view text) {
  return find_op(text) != nullptr ? std::optional{std::string{text}} : std::nullopt;
}

std::string as_given(const std::string& x) {
  return x;
}

value_kind<std::string> texts(std::string expected,
                              std::optional<std::string> (*parse)(std::string_view)) {
  return {std::move(expected), parse, as_given};
}

/// `"*"`, or a list.
void set_names(std::optional<std::vector<std::string>>& x, const value_kind<std::string>& kind,
               const yaml_node& node, const value_context& context, const std::string& below) {
  x.reset();
  if (node.type == yaml_node::kind::scalar && node.text == "*")
    return;
  x.emplace();
  if (!has_shape(node, yaml_node::kind::list, "\"*\" for all, or a list", context, below))
    return;
  for (size_t i = 0; i < node.items.size(); ++i)
    set_scalar(x->emplace_back(), kind, node.items[i], context,
               below + "[" + std::to_string(i) + "]");
}

void set_key_field(key_config& x, const std::string& name, const yaml_node& value,
                   const value_context& context, const std::string& at) {
  auto below = at + "." + name;
  if (name == "name")
    set_scalar(x.name, texts("1 to 64 letters, digits, - and _, but not ipc", parse_principal),
               value, context, below);
  else if (name == "key")
    set_scalar(x.key,
               texts("the 40 characters of a public key, as corral keygen prints it", parse_key),
               value, context, below);
  else if (name == "users")
    set_names(x.users, texts("a user: 1 to 64 letters, digits, - and _", parse_user), value,
              context, below);
  else if (name == "ops")
    set_names(x.ops, texts("the name of an op", parse_op), value, context, below);
  else
    context.fail(value.line, below,
                 "unknown key, the nearest known one is " + nearest(name, key_fields));
}

key_config key_from(const yaml_node& node, const value_context& context, const std::string& at) {
  key_config x;
  if (!has_shape(node, yaml_node::kind::mapping, "a mapping of name, key, users and ops", context,
                 at))
    return x;
  for (size_t i = 0; i < node.keys.size(); ++i)
    set_key_field(x, node.keys[i], node.items[i], context, at);
  for (auto required : {"name", "key", "users"})
    if (std::find(node.keys.begin(), node.keys.end(), required) == node.keys.end())
      context.fail(node.line, at + "." + required, "expected a value, found nothing");
  return x;
}

yaml_node names_node(const std::optional<std::vector<std::string>>& x) {
  if (!x)
    return yaml_node::scalar("*");
  yaml_node result{.type = yaml_node::kind::list};
  for (auto& name : *x)
    result.items.push_back(yaml_node::scalar(name));
  return result;
}

} // namespace

void set_endpoints(std::vector<std::string>& x, const yaml_node& node,
                   const value_context& context) {
  x.clear();
  if (node.type == yaml_node::kind::null
      || !has_shape(node, yaml_node::kind::list, "a list of endpoints", context, ""))
    return;
  auto kind =
      texts("tcp://HOST:PORT, such as tcp://127.0.0.1:5700 or tcp://*:5700", parse_endpoint);
  for (size_t i = 0; i < node.items.size(); ++i)
    set_scalar(x.emplace_back(), kind, node.items[i], context, "[" + std::to_string(i) + "]");
}

yaml_node endpoints_node(const std::vector<std::string>& x) {
  return names_node(x);
}

void set_keys(std::vector<key_config>& x, const yaml_node& node, const value_context& context) {
  x.clear();
  if (node.type == yaml_node::kind::null
      || !has_shape(node, yaml_node::kind::list, "a list of keys", context, ""))
    return;
  for (size_t i = 0; i < node.items.size(); ++i)
    x.push_back(key_from(node.items[i], context, "[" + std::to_string(i) + "]"));
}

yaml_node keys_node(const std::vector<key_config>& x) {
  yaml_node result{.type = yaml_node::kind::list};
  for (auto& k : x) {
    yaml_node item{.type = yaml_node::kind::mapping, .keys = key_fields};
    item.items = {yaml_node::scalar(k.name), yaml_node::scalar(k.key), names_node(k.users),
                  names_node(k.ops)};
    result.items.push_back(std::move(item));
  }
  return result;
}

} // namespace corral

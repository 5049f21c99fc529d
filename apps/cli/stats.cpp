#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"

#include <nlohmann/json.hpp>

namespace corral::cli {

namespace {

using nlohmann::json;
using table = std::vector<std::vector<std::string>>;

/// An element of a list is called by what it says it is, such as a pool's name.
std::string name_of(const json& x, size_t index) {
  if (x.is_object())
    if (auto pool = x.find("pool"); pool != x.end() && pool->is_string())
      return pool->get<std::string>();
  return std::to_string(index);
}

std::string text_of(const json& x) {
  if (x.is_string())
    return printable(x.get<std::string>());
  if (x.is_number_float())
    return std::to_string(static_cast<int64_t>(x.get<double>() + 0.5));
  return x.dump();
}

/// One row "a.b.c  value" for every value in a tree.
void flatten(const json& x, const std::string& prefix, table& rows) {
  auto below = [&](const std::string& name) {
    return prefix.empty() ? name : prefix + "." + printable(name);
  };
  if (x.is_object())
    for (auto& [name, value] : x.items())
      flatten(value, below(name), rows);
  else if (x.is_array())
    for (size_t i = 0; i < x.size(); ++i)
      flatten(x[i], below(name_of(x[i], i)), rows);
  else
    rows.push_back({prefix, text_of(x)});
}

} // namespace

cli_result<int> stats(daemon_client& client, bool as_json) {
  message r;
  r.header.set("op", "stats");
  auto reply = client.call(std::move(r));
  if (!reply)
    return tl::unexpected{reply.error()};
  if (as_json)
    return print_json(reply->header);
  reply->header.erase("re").erase("ok");
  table rows{{"COUNTER", "VALUE"}};
  flatten(json::parse(reply->header.dump()), "", rows);
  return write_to(stream::out, format_table(rows)).map([] { return int{exit_ok}; });
}

cli_result<int> reload(daemon_client& client, bool as_json) {
  message r;
  r.header.set("op", "reload");
  auto reply = client.call(std::move(r));
  if (!reply)
    return tl::unexpected{reply.error()};
  if (as_json)
    return print_json(reply->header);
  std::string text;
  for (auto [name, what] : {std::pair{"applied", "took effect"}, {"restart", "needs a restart"}})
    for (auto& x : reply->header.texts(name).value_or(std::vector<std::string>{}))
      text += x + ": " + what + "\n";
  return write_to(stream::out, text.empty() ? "nothing has changed\n" : text).map([] {
    return int{exit_ok};
  });
}

} // namespace corral::cli

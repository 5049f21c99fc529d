#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"
#include "messages/wire/owner.hpp"

namespace corral::cli {

void set_target(fields& header, const target& to) {
  if (!to.sandbox.empty()) {
    header.set("sandbox", to.sandbox);
    return;
  }
  header.set("thread", to.thread).set("user", to.user);
  if (!to.pool.empty())
    header.set("pool", to.pool);
}

std::vector<fields> rows_of(const message& reply) {
  std::vector<fields> rows;
  auto part = reply.part_of("results");
  for (auto left = part.view(); !left.empty();) {
    auto end = std::min(left.find('\n'), left.size());
    if (auto row = fields::parse(left.substr(0, end), max_payload_bytes))
      rows.push_back(std::move(*row));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return rows;
}

cli_result<fields> inspect(daemon_client& client, const target& to) {
  message get;
  get.header.set("op", "get");
  get.header.set("sandbox", to.sandbox.empty() ? sandbox_id_of({to.user, to.thread}) : to.sandbox);
  auto reply = client.call(std::move(get));
  if (!reply)
    return tl::unexpected{reply.error()};
  auto& x = reply->header;
  auto found = x.flag("found") == true;
  if (!to.sandbox.empty() && !found)
    return failed("sandbox_not_found",
                  "there is no sandbox " + to.sandbox + "; `corral ls` shows those that there are");
  // Two owners may share an id, so the owner is checked.
  if (to.sandbox.empty() && (!found || x.text("user") != to.user || x.text("thread") != to.thread))
    return failed("sandbox_not_found",
                  "thread " + to.thread + " of user " + to.user + " has no sandbox");
  return x.erase("re").erase("ok");
}

cli_result<std::string> id_of(daemon_client& client, const target& to) {
  if (!to.sandbox.empty())
    return to.sandbox;
  return inspect(client, to).map([](const fields& x) { return x.text("sandbox").value_or(""); });
}

cli_result<int> print_json(fields x, int status) {
  x.erase("re").erase("ok");
  return write_to(stream::out, x.dump() + "\n").map([status] { return status; });
}

cli_result<int> list(daemon_client& client, const list_options& x, bool json) {
  message r;
  r.header.set("op", "list");
  if (!x.state.empty())
    r.header.set("state", x.state);
  if (!x.user.empty())
    r.header.set("user", x.user);
  auto reply = client.call(std::move(r));
  if (!reply)
    return tl::unexpected{reply.error()};
  auto sandboxes = rows_of(*reply);
  if (json)
    return print_json(fields{}.set("sandboxes", sandboxes));
  std::vector<std::vector<std::string>> table{{"ID", "USER", "THREAD", "STATE", "LEASES"}};
  for (auto& row : sandboxes)
    table.push_back({row.text("sandbox").value_or(""), row.text("user").value_or(""),
                     row.text("thread").value_or("-"), row.text("state").value_or(""),
                     std::to_string(row.integer("leases").value_or(0))});
  return write_to(stream::out, format_table(table)).map([] { return int{exit_ok}; });
}

cli_result<int> get(daemon_client& client, const get_options& x, bool json) {
  auto found = inspect(client, x.to);
  if (!found)
    return tl::unexpected{found.error()};
  if (json)
    return print_json(*found);
  auto usage = found->object("usage").value_or(fields{});
  auto number = [](const fields& x, std::string_view name) {
    return std::to_string(x.integer(name).value_or(0));
  };
  std::vector<std::vector<std::string>> table{
      {"sandbox", found->text("sandbox").value_or("")},
      {"user", found->text("user").value_or("")},
      {"thread", found->text("thread").value_or("-")},
      {"pool", found->text("pool").value_or("")},
      {"state", found->text("state").value_or("")},
      {"leases", number(*found, "leases")},
      {"queue", number(*found, "queue")},
      {"session", number(*found, "session")},
      {"running", usage.flag("running") == true ? "yes" : "no"},
      {"execs", number(usage, "execs")},
      {"idle", number(usage, "idle_ms") + " ms"}};
  return write_to(stream::out, format_table(table)).map([] { return int{exit_ok}; });
}

cli_result<int> reset(daemon_client& client, const reset_options& x, bool json) {
  auto id = id_of(client, x.to); // A thread without a sandbox has no shell to replace.
  if (!id)
    return tl::unexpected{id.error()};
  message r;
  r.header.set("op", "reset_session").set("sandbox", *id);
  auto reply = client.call(std::move(r));
  if (!reply)
    return tl::unexpected{reply.error()};
  if (json)
    return print_json(reply->header.set("sandbox", *id));
  auto session = reply->header.integer("session").value_or(0);
  return write_to(stream::out, "session " + std::to_string(session) + "\n").map([] {
    return int{exit_ok};
  });
}

cli_result<int> destroy(daemon_client& client, const destroy_options& x, bool json) {
  auto id = id_of(client, x.to);
  if (!id)
    return tl::unexpected{id.error()};
  message r;
  r.header.set("op", "destroy").set("sandbox", *id).set("force", x.force).set("purge", x.purge);
  auto reply = client.call(std::move(r));
  if (!reply) {
    auto why = reply.error();
    if (why.code == "busy" && !x.force)
      why.message += " (--force)";
    return tl::unexpected{why};
  }
  reply->header.set("sandbox", *id);
  return json ? print_json(reply->header) : exit_ok;
}

} // namespace corral::cli

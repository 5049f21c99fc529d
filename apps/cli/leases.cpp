// acquire and release: the two ends of a lease.

#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"

#include <algorithm>

namespace corral::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds held_heartbeat{10'000};
constexpr milliseconds between_looks{2'000}; // Each is a heartbeat too.

message acquire_request(const target& to) {
  message r;
  r.header.set("op", "acquire").set("user", to.user);
  if (!to.thread.empty())
    r.header.set("thread", to.thread);
  if (!to.pool.empty())
    r.header.set("pool", to.pool);
  return r;
}

cli_result<fields> give_back(daemon_client& client, const std::string& id,
                             const std::string& lease) {
  message r;
  r.header.set("op", "release").set("sandbox", id).set("lease", lease);
  return client.call(std::move(r)).map([&](message x) {
    return x.header.erase("re").erase("ok").set("sandbox", id);
  });
}

/// Whether the sandbox is still there and held.
cli_result<void> look_after(daemon_client& client, const std::string& id) {
  target to;
  to.sandbox = id;
  auto found = inspect(client, to);
  if (!found && found.error().code != "sandbox_not_found")
    return tl::unexpected{found.error()};
  if (!found)
    return failed("sandbox_lost", "sandbox " + id + " ended while it was held");
  if (found->integer("leases").value_or(0) == 0)
    return failed("sandbox_lost", "the lease on sandbox " + id
                                      + " has ended: it was released, or this command was stopped "
                                        "for longer than "
                                      + std::to_string(3 * held_heartbeat.count() / 1000) + " s");
  return {};
}

cli_result<int> hold(daemon_client& client, interrupts& signals, const std::string& id,
                     const std::string& lease) {
  for (;;) {
    auto x = client.receive(between_looks, {signals.fd()});
    if (!x)
      return tl::unexpected{x.error()};
    if (signals.take())
      return give_back(client, id, lease).map([](const fields&) { return int{exit_ok}; });
    if (*x)
      continue;
    if (auto there = look_after(client, id); !there)
      return tl::unexpected{there.error()};
  }
}

cli_result<int> show(const fields& granted, bool json) {
  if (json)
    return print_json(granted);
  std::vector<std::vector<std::string>> table{
      {"sandbox", granted.text("sandbox").value_or("")},
      {"origin", granted.text("origin").value_or("")},
      {"session", std::to_string(granted.integer("session").value_or(0))}};
  if (auto lease = granted.text("lease"))
    table.push_back({"lease", *lease});
  return write_to(stream::out, format_table(table)).map([] { return int{exit_ok}; });
}

} // namespace

client_identity identity_for(const acquire_options& x) {
  if (!x.wants_lease())
    return {};
  // Three missed heartbeats end a lease: the last one is missed when its time is over.
  return {x.client, x.hold ? held_heartbeat : (x.keep + milliseconds{2}) / 3};
}

client_identity identity_for(const release_options& x) {
  return {x.lease.client, held_heartbeat};
}

cli_result<int> acquire(daemon_client& client, interrupts& signals, const acquire_options& x,
                        bool json) {
  client.interrupt_by(&signals);
  auto reply = client.call(acquire_request(x.to));
  client.interrupt_by(nullptr);
  if (!reply)
    return tl::unexpected{reply.error()};
  auto& granted = reply->header;
  auto lease = granted.text("lease").value_or("");
  if (!lease.empty())
    granted.set("lease", held_lease{x.client, lease}.text());
  auto shown = show(granted, json);
  if (!shown || !x.hold)
    return shown;
  if (is_terminal(stream::err))
    notice("holding it; Ctrl-C gives it back");
  return hold(client, signals, granted.text("sandbox").value_or(""), lease);
}

cli_result<int> release(daemon_client& client, const release_options& x, bool json) {
  auto id = id_of(client, x.to);
  if (!id)
    return tl::unexpected{id.error()};
  auto left = give_back(client, *id, x.lease.lease);
  if (!left)
    return tl::unexpected{left.error()};
  return json ? print_json(*left) : exit_ok;
}

} // namespace corral::cli

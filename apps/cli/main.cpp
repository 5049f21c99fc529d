// corral: the command line to corrald.

#include "apps/cli/command_line.hpp"
#include "apps/cli/endpoint.hpp"
#include "apps/cli/terminal.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

namespace {

using namespace corral::cli;

std::optional<std::string> variable(const std::string& name) {
  auto value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>{value} : std::nullopt;
}

/// For every command that speaks to the daemon.
struct with_daemon {
  daemon_client& client;
  interrupts* signals;
  bool json;

  cli_result<int> operator()(const exec_options& x) { return exec(client, *signals, x, json); }
  cli_result<int> operator()(const list_options& x) { return list(client, x, json); }
  cli_result<int> operator()(const get_options& x) { return get(client, x, json); }
  cli_result<int> operator()(const acquire_options& x) {
    return acquire(client, *signals, x, json);
  }
  cli_result<int> operator()(const release_options& x) { return release(client, x, json); }
  cli_result<int> operator()(const reset_options& x) { return reset(client, x, json); }
  cli_result<int> operator()(const destroy_options& x) { return destroy(client, x, json); }
  cli_result<int> operator()(const read_options& x) { return read(client, x, json); }
  cli_result<int> operator()(const write_options& x) { return write(client, x, json); }
  cli_result<int> operator()(const copy_options& x) { return copy(client, signals, x, json); }
  cli_result<int> operator()(const grep_options& x) { return grep(client, x, json); }
  cli_result<int> operator()(const glob_options& x) { return glob(client, x, json); }
  cli_result<int> operator()(const top_options& x) { return top(client, *signals, x, json); }
  cli_result<int> operator()(const stats_options&) { return stats(client, json); }
  cli_result<int> operator()(const reload_options&) { return reload(client, json); }
  cli_result<int> operator()(const events_options& x) { return events(client, x, json); }
  // Served before.
  cli_result<int> operator()(const keygen_options&) { return exit_failed; }
  cli_result<int> operator()(const completion_options&) { return exit_failed; }
  cli_result<int> operator()(const complete_options&) { return exit_failed; }
  cli_result<int> operator()(const doctor_options&) { return exit_failed; }
};

/// Whether it does something of its own when a signal comes, rather than just end.
bool heeds_signals(const command& x) {
  if (auto copy = std::get_if<copy_options>(&x))
    return !copy->upload && copy->local != "-";
  return std::holds_alternative<exec_options>(x) || std::holds_alternative<acquire_options>(x)
         || std::holds_alternative<top_options>(x);
}

client_identity identity_of(const command& x) {
  if (auto acquire = std::get_if<acquire_options>(&x))
    return identity_for(*acquire);
  if (auto release = std::get_if<release_options>(&x))
    return identity_for(*release);
  return {};
}

cli_result<int> run(command_line& line) {
  auto endpoint = to_endpoint(line.endpoint);
  if (std::holds_alternative<complete_options>(line.what)) // Its words are not parsed.
    endpoint = to_endpoint(variable("CORRAL_ENDPOINT").value_or(""));
  if (auto x = std::get_if<doctor_options>(&line.what)) {
    x->endpoint = endpoint;
    return doctor(*x, line.json);
  }
  if (auto x = std::get_if<completion_options>(&line.what))
    return print_completion(*x);
  if (auto x = std::get_if<keygen_options>(&line.what))
    return keygen(*x, line.json);
  if (endpoint.empty())
    endpoint = default_endpoint(::geteuid(), variable);
  if (auto x = std::get_if<complete_options>(&line.what))
    return print_candidates(*x, endpoint);
  // Before the client, whose threads are to inherit it.
  std::optional<interrupts> signals;
  if (heeds_signals(line.what))
    signals.emplace();
  daemon_client::settings settings{.endpoint = endpoint, .identity = identity_of(line.what)};
  auto keys = keys_for(endpoint, line.key_file, line.server_key);
  if (!keys)
    return tl::unexpected{keys.error()};
  settings.keys = *keys;
  auto client = daemon_client::connect(std::move(settings));
  if (!client)
    return tl::unexpected{client.error()};
  return std::visit(with_daemon{*client, signals ? &*signals : nullptr, line.json}, line.what);
}

int report(const cli_error& x, bool json) {
  if (json)
    (void)write_to(stream::err, x.to_fields().dump() + "\n");
  else
    notice(x.code == "usage" || x.code == "no_daemon" ? x.message : x.code + ": " + x.message);
  return x.code == "interrupted" ? exit_cancelled : exit_failed;
}

int run(const std::vector<std::string>& words) {
  auto parsed = parse_command_line(words, ::isatty(STDIN_FILENO) == 1);
  if (!parsed) {
    auto command_at = std::find(words.begin(), words.end(), "--");
    return report(parsed.error(), std::find(words.begin(), command_at, "--json") != command_at);
  }
  if (auto text = std::get_if<only_text>(&*parsed))
    return write_to(stream::out, text->text) ? exit_ok : exit_failed;
  auto& line = std::get<command_line>(*parsed);
  auto status = run(line);
  return status ? *status : report(status.error(), line.json);
}

} // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN); // A reader that leaves shows as a failed write.
  try {
    return run(std::vector<std::string>{argv + 1, argv + argc});
  } catch (const std::exception& e) {
    notice(std::string{"a fault of corral's own: "} + e.what());
    return exit_failed;
  }
}

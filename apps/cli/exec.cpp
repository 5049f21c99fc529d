#include "apps/cli/commands.hpp"
#include "apps/cli/exec_run.hpp"
#include "apps/cli/terminal.hpp"

namespace corral::cli {

namespace {

message exec_request(const exec_options& x, const target& to, bool json) {
  message r;
  r.header.set("op", "exec");
  set_target(r.header, to);
  if (x.timeout)
    r.header.set("timeout_ms", x.timeout->count());
  fields env;
  for (auto& [name, value] : x.env)
    env.set(name, value);
  if (!x.env.empty())
    r.header.set("env", env);
  if (!x.cwd.empty())
    r.header.set("cwd", x.cwd);
  if (!x.key.empty())
    r.header.set("key", x.key);
  if (!json)
    r.header.set("want", std::vector<std::string>{"stdout", "stderr"});
  r.add_part("command", blob::copy_of(x.script));
  return r;
}

void tell_end(const fields& result) {
  if (result.flag("timed_out") == true)
    notice("timed out");
  if (result.flag("cancelled") == true)
    notice("cancelled");
  if (auto kills = result.object("oom").value_or(fields{}).integer("kills").value_or(0); kills > 0)
    notice(std::to_string(kills) + " processes were ended: the sandbox's memory limit was reached");
  if (result.text("session_reset") == "initial")
    notice("the sandbox's shell was replaced; its variables and functions are lost");
}

cli_result<int> run_in(daemon_client& client, interrupts& signals, const exec_options& x,
                       const target& to, bool json) {
  exec_run run{client, signals, {x.feed_stdin, !json}};
  auto reply = run.run(exec_request(x, to, json));
  if (!reply)
    return tl::unexpected{reply.error()};
  auto status = exit_status_of(reply->header);
  if (!json) {
    tell_end(reply->header);
    return status;
  }
  for (auto name : {"output", "stdout", "stderr"})
    reply->header.set(name, reply->part_of(name).view());
  return print_json(reply->header, status);
}

cli_result<target> make_throwaway(daemon_client& client, const std::string& pool) {
  message acquire;
  acquire.header.set("op", "acquire");
  if (!pool.empty())
    acquire.header.set("pool", pool);
  return client.call(std::move(acquire)).map([](const message& x) {
    target to;
    to.sandbox = x.header.text("sandbox").value_or("");
    return to;
  });
}

} // namespace

int exit_status_of(const fields& result) {
  if (result.flag("timed_out") == true)
    return exit_timed_out;
  if (result.flag("cancelled") == true)
    return exit_cancelled;
  if (auto code = result.integer("exit_code"))
    return static_cast<int>(*code & 0xff);
  if (auto signal = result.integer("signal"); signal && *signal > 0 && *signal < 127)
    return static_cast<int>(128 + *signal);
  return exit_failed;
}

cli_result<int> exec(daemon_client& client, interrupts& signals, const exec_options& x, bool json) {
  if (!x.to.empty())
    return run_in(client, signals, x, x.to, json);
  auto to = make_throwaway(client, x.to.pool);
  if (!to)
    return tl::unexpected{to.error()};
  auto status = run_in(client, signals, x, *to, json);
  message gone;
  gone.header.set("op", "destroy").set("sandbox", to->sandbox);
  gone.header.set("force", true).set("purge", true);
  if (!status && status.error().code == "interrupted")
    (void)client.send(std::move(gone)); // Whoever interrupts twice does not want to wait.
  else if (auto done = client.call(std::move(gone)); !done && status)
    notice("sandbox " + to->sandbox + " was not destroyed: " + done.error().message);
  return status;
}

} // namespace corral::cli

// The rows of commands about sandboxes and what runs in them.

#include "apps/cli/command_table.hpp"
#include "apps/cli/described.hpp"
#include "apps/cli/help.hpp"
#include "apps/cli/shell_words.hpp"
#include "os/random.hpp"

namespace corral::cli {

namespace {

void add_exec(CLI::App& app, given& x) {
  add_target(app, x.to);
  add_pool(app, x.to);
  app.add_option("--timeout", x.timeout, "End it after this long [10m unless configured]")
      ->check(checked_by(parse_timeout), "")
      ->option_text("DURATION");
  app.add_option("-e,--env", x.env, "A variable for this command; may be given several times")
      ->check(checked_by(parse_variable), "")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--cwd", x.exec.cwd, "The directory it runs in")->option_text("DIR");
  app.add_option("--key", x.exec.key, "Run at most once under this key; later ones get its result")
      ->check(
          [](const std::string& key) {
            return key.empty() ? std::string{"an empty key would protect nothing"} : std::string{};
          },
          "")
      ->option_text("KEY");
  auto always = app.add_flag("-i,--stdin", x.always_stdin, "Pass stdin on even from a terminal");
  app.add_flag("--no-stdin", x.no_stdin, "Do not pass stdin on")->excludes(always);
}

cli_result<command> finish_exec(given& x) {
  if (x.words.empty())
    return failed("usage", "exec: no command; give it after --, such as corral exec -- ls -l");
  x.exec.to = x.to;
  x.exec.script = to_script(x.words);
  if (!x.timeout.empty())
    x.exec.timeout = *parse_timeout(x.timeout);
  for (auto& text : x.env)
    x.exec.env.insert_or_assign(parse_variable(text)->first, parse_variable(text)->second);
  x.exec.feed_stdin = x.always_stdin || (!x.stdin_is_terminal && !x.no_stdin);
  return x.exec;
}

void add_list(CLI::App& app, given& x) {
  app.add_option("--state", x.list.state, "Only those in this state")
      ->check(CLI::IsMember({"starting", "leased", "borrowed", "parked", "ending"}), "")
      ->option_text("starting|leased|borrowed|parked|ending");
  add_user(app, x.list.user, "Only those of this user");
}

cli_result<command> finish_list(given& x) {
  return x.list;
}

/// The sandbox that a command is about, or that one is missing.
cli_result<target> existing(const char* name, const given& x) {
  if (x.to.empty())
    return failed("usage", std::string{name} + ": say which sandbox, by its id or with --thread");
  return x.to;
}

void add_get(CLI::App& app, given& x) {
  add_existing(app, x.to);
}

cli_result<command> finish_get(given& x) {
  return existing("get", x).map([](const target& to) { return command{get_options{to}}; });
}

void add_acquire(CLI::App& app, given& x) {
  add_thread(app, x.to, "The thread that the sandbox is for [a new sandbox, of no thread]");
  add_user(app, x.to.user);
  add_pool(app, x.to);
  auto hold = app.add_flag("--hold", x.acquire.hold, "Keep a lease until Ctrl-C");
  app.add_option("--for", x.keep, "Leave a lease behind that ends by itself after this long")
      ->check(checked_by(parse_lease_time), "")
      ->option_text("DURATION")
      ->excludes(hold);
}

cli_result<command> finish_acquire(given& x) {
  x.acquire.to = x.to;
  x.acquire.client = "corral-" + random_hex(8);
  if (!x.keep.empty())
    x.acquire.keep = *parse_lease_time(x.keep);
  return x.acquire;
}

void add_release(CLI::App& app, given& x) {
  add_existing(app, x.to);
  app.add_option("--lease", x.lease, "The lease, as `corral acquire` printed it")
      ->check(checked_by(parse_lease), "")
      ->option_text("LEASE")
      ->required();
}

cli_result<command> finish_release(given& x) {
  return existing("release", x).map([&](const target& to) {
    return command{release_options{to, *parse_lease(x.lease)}};
  });
}

cli_result<command> finish_reset(given& x) {
  return existing("reset", x).map([](const target& to) { return command{reset_options{to}}; });
}

void add_destroy(CLI::App& app, given& x) {
  add_existing(app, x.to);
  app.add_flag("--force", x.destroy.force, "Even if commands run in it or others hold it");
  app.add_flag("--purge", x.destroy.purge, "Its files too");
}

cli_result<command> finish_destroy(given& x) {
  return existing("destroy", x).map([&](const target& to) {
    x.destroy.to = to;
    return command{x.destroy};
  });
}

} // namespace

std::vector<command_row> sandbox_commands() {
  return {
      {"exec", "Run a command in a sandbox: exec [OPTIONS] -- COMMAND...", help::exec, add_exec,
       finish_exec},
      {"ls", "List sandboxes", help::list, add_list, finish_list},
      {"get", "Show a sandbox: its state, leases and work", help::get, add_get, finish_get},
      {"acquire", "Make a sandbox ready, and hold it if asked to", help::acquire, add_acquire,
       finish_acquire},
      {"release", "Give a lease back", help::release, add_release, finish_release},
      {"reset", "Start a sandbox's shell anew", help::reset, add_get, finish_reset},
      {"destroy", "End a sandbox", help::destroy, add_destroy, finish_destroy},
  };
}

} // namespace corral::cli

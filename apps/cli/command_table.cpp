#include "apps/cli/command_table.hpp"

#include "apps/cli/described.hpp"
#include "apps/cli/help.hpp"

namespace corral::cli {

namespace {

CLI::Option& add_name(CLI::App& app, const char* name, std::string& x, const char* kind,
                      const char* summary) {
  return *app.add_option(name, x, summary)
              ->check(checked_by(parse_name), "")
              ->type_name(kind)
              ->option_text("NAME");
}

cli_result<command> finish_stats(given&) {
  return stats_options{};
}

cli_result<command> finish_reload(given&) {
  return reload_options{};
}

void add_top(CLI::App& app, given& x) {
  app.add_option("--interval", x.interval, "The time between two looks [2s]")
      ->check(checked_by(parse_interval), "")
      ->option_text("DURATION");
}

cli_result<command> finish_top(given& x) {
  return x.interval.empty() ? top_options{} : top_options{*parse_interval(x.interval)};
}

void add_completion(CLI::App& app, given& x) {
  app.add_option("SHELL", x.completion.shell, "bash or zsh")
      ->check(CLI::IsMember({"bash", "zsh"}), "")
      ->option_text("bash|zsh")
      ->required();
}

cli_result<command> finish_completion(given& x) {
  return x.completion;
}

void add_events(CLI::App& app, given& x) {
  app.add_option("TOPIC", x.events.topics, "Only topics that begin so, such as exec. [all]");
  add_name(app, "-t,--thread", x.events.thread, value_of::thread, "Only what concerns this thread");
}

cli_result<command> finish_events(given& x) {
  return x.events;
}

void add_keygen(CLI::App& app, given& x) {
  app.add_option("FILE", x.keygen.file, "The file to make; never written over")
      ->type_name(value_of::file)
      ->required();
  app.add_option("--name", x.keygen.name, "What the daemon shall call its holder")
      ->check(checked_by(parse_name), "")
      ->option_text("NAME");
  app.add_option("-u,--user", x.keygen.users, "A user that it may name; several times [all]")
      ->check(checked_by(parse_name), "")
      ->type_name(value_of::user)
      ->option_text("NAME")
      ->allow_extra_args(false);
  app.add_option("--op", x.keygen.ops, "An op that it may use; several times [all]")
      ->check(checked_by(parse_op), "")
      ->option_text("OP")
      ->allow_extra_args(false);
}

cli_result<command> finish_keygen(given& x) {
  return x.keygen;
}

void add_doctor(CLI::App& app, given& x) {
  app.add_option("-c,--config", x.doctor.config_file, "The daemon's configuration file")
      ->type_name(value_of::file)
      ->option_text("FILE");
}

cli_result<command> finish_doctor(given& x) {
  return x.doctor;
}

} // namespace

void add_thread(CLI::App& app, target& to, const char* summary) {
  add_name(app, "-t,--thread", to.thread, value_of::thread, summary);
}

void add_user(CLI::App& app, std::string& user, const char* summary) {
  add_name(app, "-u,--user", user, value_of::user, summary);
}

void add_pool(CLI::App& app, target& to) {
  add_name(app, "--pool", to.pool, value_of::pool, "The pool that the sandbox lives in");
}

void add_target(CLI::App& app, target& to) {
  add_thread(app, to, "The thread whose sandbox is meant; made if it has none");
  auto sandbox = app.add_option("-s,--sandbox", to.sandbox, "A sandbox's id, or its first digits");
  add_user(app, to.user);
  sandbox->check(checked_by(parse_sandbox_id), "")
      ->type_name(value_of::sandbox)
      ->option_text("ID")
      ->excludes(app.get_option("--thread"))
      ->excludes(app.get_option("--user"));
}

void add_existing(CLI::App& app, target& to) {
  auto id = app.add_option("ID", to.sandbox, "The sandbox's id, or its first digits");
  add_thread(app, to, "The thread whose sandbox is meant");
  add_user(app, to.user);
  id->check(checked_by(parse_sandbox_id), "")
      ->type_name(value_of::sandbox)
      ->excludes(app.get_option("--thread"))
      ->excludes(app.get_option("--user"));
}

std::vector<command_row> daemon_commands() {
  return {
      {"top", "Watch sandboxes and what they do", help::top, add_top, finish_top},
      {"stats", "Show the daemon's counters and latencies", help::stats, [](CLI::App&, given&) {},
       finish_stats},
      {"reload", "Have the daemon read its configuration anew", help::reload,
       [](CLI::App&, given&) {}, finish_reload},
      {"events", "Print what happens to sandboxes and execs", help::events, add_events,
       finish_events},
      {"keygen", "Make a key pair for TCP", help::keygen, add_keygen, finish_keygen},
      {"completion", "Print a shell's completion of this command", help::completion, add_completion,
       finish_completion},
      {"doctor", "Check this machine and say what to fix", help::doctor, add_doctor, finish_doctor},
  };
}

std::vector<command_row> command_table() {
  std::vector<command_row> result;
  for (auto rows : {sandbox_commands(), file_commands(), daemon_commands()})
    result.insert(result.end(), rows.begin(), rows.end());
  return result;
}

void describe(CLI::App& app, command_line& line, given& x) {
  app.require_subcommand(0, 1); // None gets words of its own later, not CLI11's.
  app.footer(help::general);
  app.set_version_flag("--version", "corral " CORRAL_VERSION);
  app.add_option("--endpoint", line.endpoint,
                 "The daemon's socket, a path or ipc://PATH, or tcp://HOST:PORT")
      ->envname("CORRAL_ENDPOINT")
      ->type_name(value_of::file)
      ->option_text("ENDPOINT");
  app.add_option("--key", line.key_file, "For tcp://: this client's key file, see corral keygen")
      ->envname("CORRAL_KEY_FILE")
      ->type_name(value_of::file)
      ->option_text("FILE");
  app.add_option("--server-key", line.server_key, "For tcp://: the daemon's public key")
      ->envname("CORRAL_SERVER_KEY")
      ->option_text("KEY");
  app.add_flag("--json", line.json, "Results on stdout and errors on stderr as JSON");
  for (auto& row : command_table()) {
    auto& command = *app.add_subcommand(row.name, row.summary);
    command.footer(row.examples);
    command.fallthrough();
    row.add(command, x);
  }
}

} // namespace corral::cli

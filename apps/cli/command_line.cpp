#include "apps/cli/command_line.hpp"

#include "apps/cli/help.hpp"
#include "apps/cli/shell_words.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

namespace corral::cli {

namespace {

/// Adapts a parser to CLI11, which wants the complaint or nothing.
template <class Parser>
auto checked_by(Parser parse) {
  return [parse](const std::string& text) {
    auto x = parse(text);
    return x ? std::string{} : x.error();
  };
}

/// The options as text, as long as CLI11 is at work.
struct given {
  target to;
  std::string timeout;
  std::vector<std::string> env;
  std::string lines;
  bool no_stdin = false;
  bool always_stdin = false;
  exec_options exec;
  list_options list;
  destroy_options destroy;
  read_options read;
  write_options write;
  events_options events;
  keygen_options keygen;
  doctor_options doctor;
};

void add_target(CLI::App& app, target& to) {
  auto thread = app.add_option("-t,--thread", to.thread,
                               "The thread whose sandbox is meant; made if it has none");
  auto sandbox = app.add_option("-s,--sandbox", to.sandbox, "A sandbox's id, or its first digits");
  auto user = app.add_option("-u,--user", to.user, "The thread's user [default]");
  thread->check(checked_by(parse_name), "")->option_text("NAME")->excludes(sandbox);
  sandbox->check(checked_by(parse_sandbox_id), "")->option_text("ID")->excludes(user);
  user->check(checked_by(parse_name), "")->option_text("NAME");
}

void add_pool(CLI::App& app, target& to) {
  app.add_option("--pool", to.pool, "The pool that the sandbox lives in")
      ->check(checked_by(parse_name), "")
      ->option_text("NAME");
}

CLI::App& add_command(CLI::App& app, const char* name, const char* summary, const char* examples) {
  auto& sub = *app.add_subcommand(name, summary);
  sub.footer(examples);
  sub.fallthrough();
  return sub;
}

void add_exec(CLI::App& app, given& x) {
  auto& sub = add_command(app, "exec", "Run a command in a sandbox: exec [OPTIONS] -- COMMAND...",
                          help::exec);
  add_target(sub, x.to);
  add_pool(sub, x.to);
  sub.add_option("--timeout", x.timeout, "End it after this long [10m unless configured]")
      ->check(checked_by(parse_timeout), "")
      ->option_text("DURATION");
  sub.add_option("-e,--env", x.env, "A variable for this command; may be given several times")
      ->check(checked_by(parse_variable), "")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  sub.add_option("--cwd", x.exec.cwd, "The directory it runs in")->option_text("DIR");
  sub.add_option("--key", x.exec.key, "Run at most once under this key; later ones get its result")
      ->option_text("KEY");
  auto always = sub.add_flag("-i,--stdin", x.always_stdin, "Pass stdin on even from a terminal");
  sub.add_flag("--no-stdin", x.no_stdin, "Do not pass stdin on")->excludes(always);
}

void add_list(CLI::App& app, given& x) {
  auto& sub = add_command(app, "ls", "List sandboxes", help::list);
  sub.add_option("--state", x.list.state, "Only those in this state")
      ->check(CLI::IsMember({"starting", "leased", "borrowed", "parked", "ending"}), "")
      ->option_text("starting|leased|borrowed|parked|ending");
  sub.add_option("-u,--user", x.list.user, "Only those of this user")
      ->check(checked_by(parse_name), "")
      ->option_text("NAME");
}

void add_destroy(CLI::App& app, given& x) {
  auto& sub = add_command(app, "destroy", "End a sandbox", help::destroy);
  auto id = sub.add_option("ID", x.to.sandbox, "The sandbox's id, or its first digits");
  auto thread = sub.add_option("-t,--thread", x.to.thread, "The thread whose sandbox is meant");
  auto user = sub.add_option("-u,--user", x.to.user, "The thread's user [default]");
  id->check(checked_by(parse_sandbox_id), "")->excludes(thread)->excludes(user);
  thread->check(checked_by(parse_name), "")->option_text("NAME");
  user->check(checked_by(parse_name), "")->option_text("NAME");
  sub.add_flag("--force", x.destroy.force, "Even if commands run in it or others hold it");
  sub.add_flag("--purge", x.destroy.purge, "Its files too");
}

void add_read(CLI::App& app, given& x) {
  auto& sub = add_command(app, "read", "Print a file of a sandbox", help::read);
  sub.add_option("PATH", x.read.path, "The file, as the sandbox sees it")->required();
  add_target(sub, x.to);
  add_pool(sub, x.to);
  auto raw = sub.add_flag("--raw", x.read.raw, "Any file, byte for byte");
  sub.add_option("--lines", x.lines, "Only these lines, from 1, both ends included")
      ->check(checked_by(parse_lines), "")
      ->option_text("A:B")
      ->excludes(raw);
}

void add_write(CLI::App& app, given& x) {
  auto& sub = add_command(app, "write", "Write a file of a sandbox", help::write);
  sub.add_option("PATH", x.write.path, "The file, as the sandbox sees it")->required();
  add_target(sub, x.to);
  add_pool(sub, x.to);
  sub.add_option("--from", x.write.from, "A file of this machine [stdin]")->option_text("FILE");
  sub.add_flag("--append", x.write.append, "Add to the end of the file");
}

void add_events(CLI::App& app, given& x) {
  auto& sub = add_command(app, "events", "Print what happens to sandboxes and execs", help::events);
  sub.add_option("TOPIC", x.events.topics, "Only topics that begin so, such as exec. [all]");
  sub.add_option("-t,--thread", x.events.thread, "Only what concerns this thread")
      ->check(checked_by(parse_name), "")
      ->option_text("NAME");
}

void add_keygen(CLI::App& app, given& x) {
  auto& sub = add_command(app, "keygen", "Make a key pair for TCP", help::keygen);
  sub.add_option("FILE", x.keygen.file, "The file to make; never written over")->required();
  sub.add_option("--name", x.keygen.name, "What the daemon shall call its holder")
      ->check(checked_by(parse_name), "")
      ->option_text("NAME");
  sub.add_option("-u,--user", x.keygen.users, "A user that it may name; several times [all]")
      ->check(checked_by(parse_name), "")
      ->option_text("NAME")
      ->allow_extra_args(false);
  sub.add_option("--op", x.keygen.ops, "An op that it may use; several times [all]")
      ->check(checked_by(parse_op), "")
      ->option_text("OP")
      ->allow_extra_args(false);
}

void add_doctor(CLI::App& app, given& x) {
  auto& sub = add_command(app, "doctor", "Check this machine and say what to fix", help::doctor);
  sub.add_option("-c,--config", x.doctor.config_file, "The daemon's configuration file")
      ->option_text("FILE");
}

/// Words after "--" belong to exec's command, whatever they look like.
std::vector<std::string> cut_command(std::vector<std::string>& words) {
  auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end())
    return {};
  std::vector<std::string> result{mark + 1, words.end()};
  words.erase(mark, words.end());
  return result;
}

cli_result<command> finish_exec(given& x, const std::vector<std::string>& words,
                                bool stdin_is_terminal) {
  if (words.empty())
    return failed("usage", "exec: no command; give it after --, such as corral exec -- ls -l");
  x.exec.to = x.to;
  x.exec.script = to_script(words);
  if (!x.timeout.empty())
    x.exec.timeout = *parse_timeout(x.timeout);
  for (auto& text : x.env)
    x.exec.env.insert_or_assign(parse_variable(text)->first, parse_variable(text)->second);
  x.exec.feed_stdin = x.always_stdin || (!stdin_is_terminal && !x.no_stdin);
  return x.exec;
}

cli_result<command> finish_file(given& x, const std::string& name) {
  if (x.to.empty())
    return failed("usage", name + ": say whose file it is with --thread or --sandbox");
  x.read.to = x.write.to = x.to;
  if (!x.lines.empty())
    x.read.lines = *parse_lines(x.lines);
  return name == "read" ? command{x.read} : command{x.write};
}

cli_result<command> finish(const std::string& name, given& x, const std::vector<std::string>& words,
                           bool stdin_is_terminal) {
  if (name == "exec")
    return finish_exec(x, words, stdin_is_terminal);
  if (!words.empty())
    return failed("usage", name + ": only exec takes a command after --");
  if (name == "read" || name == "write")
    return finish_file(x, name);
  if (name == "ls")
    return x.list;
  if (name == "doctor")
    return x.doctor;
  if (name == "stats")
    return stats_options{};
  if (name == "keygen")
    return x.keygen;
  if (name == "events")
    return x.events;
  if (x.to.empty())
    return failed("usage", "destroy: say which sandbox, by its id or with --thread");
  x.destroy.to = x.to;
  return x.destroy;
}

/// CLI11's own words, which name the argument and what was wrong with it.
tl::unexpected<cli_error> usage_error(const CLI::App& app, const CLI::ParseError& e) {
  auto used = app.get_subcommands();
  auto command = used.empty() ? std::string{"corral"} : "corral " + used.front()->get_name();
  return failed("usage", std::string{e.what()} + "; see " + command + " --help");
}

void add_everything(CLI::App& app, command_line& line, given& x) {
  app.require_subcommand(0, 1); // None gets words of its own later, not CLI11's.
  app.footer(help::general);
  app.set_version_flag("--version", "corral " CORRAL_VERSION);
  app.add_option("--endpoint", line.endpoint,
                 "The daemon's socket, a path or ipc://PATH, or tcp://HOST:PORT")
      ->envname("CORRAL_ENDPOINT")
      ->option_text("ENDPOINT");
  app.add_option("--key", line.key_file, "For tcp://: this client's key file, see corral keygen")
      ->envname("CORRAL_KEY_FILE")
      ->option_text("FILE");
  app.add_option("--server-key", line.server_key, "For tcp://: the daemon's public key")
      ->envname("CORRAL_SERVER_KEY")
      ->option_text("KEY");
  app.add_flag("--json", line.json, "Results on stdout and errors on stderr as JSON");
  for (auto add : {add_exec, add_list, add_destroy, add_read, add_write, add_events, add_keygen})
    add(app, x);
  add_command(app, "stats", "Show the daemon's counters and latencies", help::stats);
  add_doctor(app, x);
}

} // namespace

cli_result<std::variant<command_line, only_text>> parse_command_line(std::vector<std::string> words,
                                                                     bool stdin_is_terminal) {
  command_line result;
  given x;
  auto script = cut_command(words);
  CLI::App app{"Runs commands and keeps files in isolated sandboxes.", "corral"};
  add_everything(app, result, x);
  std::reverse(words.begin(), words.end()); // As CLI11 takes them.
  try {
    app.parse(words);
  } catch (const CLI::Success& e) {
    std::ostringstream text;
    app.exit(e, text, text);
    return only_text{text.str()};
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e);
  }
  if (app.get_subcommands().empty())
    return failed("usage", "no command; see corral --help");
  auto what = finish(app.get_subcommands().front()->get_name(), x, script, stdin_is_terminal);
  if (!what)
    return tl::unexpected{what.error()};
  result.what = std::move(*what);
  return result;
}

} // namespace corral::cli

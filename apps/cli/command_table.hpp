// The table of commands: for each its name, help, arguments, and what they come to. The command
// line, the help texts and the shells' completion are made from it.

#pragma once

#include "apps/cli/command_line.hpp"

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace corral::cli {

/// What was said, as text for as long as CLI11 is at work.
struct given {
  std::vector<std::string> words; ///< After "--": the command of an exec.
  bool stdin_is_terminal = false;
  target to;
  std::string timeout;
  std::string keep;
  std::string lease;
  std::vector<std::string> env;
  std::string lines;
  bool no_stdin = false;
  bool always_stdin = false;
  exec_options exec;
  list_options list;
  acquire_options acquire;
  destroy_options destroy;
  read_options read;
  write_options write;
  std::string from;
  std::string into;
  std::string interval;
  completion_options completion;
  search_options search;
  grep_options grep;
  glob_options glob;
  events_options events;
  keygen_options keygen;
  doctor_options doctor;
};

struct command_row {
  const char* name;
  const char* summary;
  const char* examples; ///< The end of its help text.
  void (*add)(CLI::App&, given&);
  cli_result<command> (*finish)(given&);
};

/// Every command, in the order of the help text.
std::vector<command_row> command_table();

/// The whole command line as CLI11 takes it.
void describe(CLI::App& app, command_line& line, given& x);

// The rows by what they are about.
std::vector<command_row> sandbox_commands();
std::vector<command_row> file_commands();
std::vector<command_row> daemon_commands();

} // namespace corral::cli

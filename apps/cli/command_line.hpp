#pragma once

#include "apps/cli/commands.hpp"
#include "apps/cli/doctor.hpp"

#include <string>
#include <variant>
#include <vector>

namespace corral::cli {

struct stats_options {};
struct reload_options {};

/// Which command, with what was said to it.
using command =
    std::variant<exec_options, list_options, get_options, acquire_options, release_options,
                 reset_options, destroy_options, read_options, write_options, copy_options,
                 grep_options, glob_options, top_options, completion_options, complete_options,
                 stats_options, reload_options, events_options, keygen_options, doctor_options>;

struct command_line {
  std::string endpoint; ///< As given; empty: neither option nor variable.
  std::string key_file;
  std::string server_key;
  bool json = false;
  command what;
};

/// What ends the program without a command: help, the version.
struct only_text {
  std::string text;
};

/// Reads the command line without the program's name. `usage` names the argument and what was
/// expected. `stdin_is_terminal` decides whether exec passes stdin on unless told.
cli_result<std::variant<command_line, only_text>> parse_command_line(std::vector<std::string> words,
                                                                     bool stdin_is_terminal);

} // namespace corral::cli

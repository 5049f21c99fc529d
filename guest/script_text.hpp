// The texts that the session makes bash read. Pure functions: what they guarantee is tested without
// a shell.
//
// Names are quoted (\builtin) so that no alias of the agent's can take their place.

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corral::guest {

/// The files through which the session and bash talk, in a private directory.
struct control_paths {
  explicit control_paths(std::filesystem::path directory);

  std::filesystem::path directory;
  std::string command; ///< The command under way.
  std::string enter;   ///< Sets what holds for this command only; empty otherwise.
  std::string leave;   ///< Undoes that.
  std::string saved;   ///< What the variables were before; written by bash.
  std::string code;    ///< Returns its argument: how `$?` is handed on.
  std::string abort;   ///< What the trap runs that stops a command.
  std::string dump;    ///< Writes the session's state.
  std::string fresh;   ///< The state as last written, perhaps not wholly.
  std::string state;   ///< The last whole state.
  std::string where;   ///< The directory that goes with `fresh`.
  std::string mark;    ///< A FIFO that the command's first line opens.

  std::string fifo(char kind, unsigned number) const;
};

/// What holds for one command only.
struct command_scope {
  std::vector<std::pair<std::string, std::string>>
      variables{}; ///< Valid names, values without NUL.
  std::optional<std::string> directory{};

  bool empty() const { return variables.empty() && !directory; }
};

/// What `enter` ends with if a variable is read-only or the directory can't be entered; the command
/// has not run then.
constexpr int scope_failure = 77;

std::string quote(std::string_view text);

/// True if bash would find nothing to run: blanks and comments only.
bool is_blank(std::string_view script);

// Files of the control directory.
std::string code_text();
std::string abort_text(const control_paths& paths);
std::string dump_text(const control_paths& paths);
std::string enter_text(const control_paths& paths, const command_scope& scope);
/// Puts everything back, to unset where it was unset. A variable that the command made read-only
/// can't be: the shell then kills itself, so that its value reaches no dump.
std::string leave_text(const control_paths& paths, const command_scope& scope,
                       std::string_view session_directory);

/// The command file. It is parsed as a whole before any of it runs, after its first line has opened
/// the mark; `last_code` becomes its `$?`.
std::string command_text(const control_paths& paths, std::string_view script, int last_code,
                         bool scoped);

// Lines for the control pipe.
std::string first_line(const control_paths& paths, bool restore,
                       const std::optional<std::string>& directory);
std::string run_line(const control_paths& paths, unsigned fifos, bool with_input);
std::string status_line(const control_paths& paths, std::string_view nonce, bool scoped);
/// The same after clearing away what may have kept the first from being printed.
std::string rescue_line(const control_paths& paths, std::string_view nonce, bool scoped);
/// Ends the state that the abort trap leaves behind.
std::string recover_line(const control_paths& paths);
std::string dump_line(const control_paths& paths);

/// The end of a whole dump.
constexpr std::string_view dump_end = "#END\n";

} // namespace corral::guest

#include "guest/script_text.hpp"

#include <algorithm>

namespace corral::guest {

namespace {

constexpr std::string_view plain_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";

std::string names_of(const command_scope& scope) {
  std::string result;
  for (auto& [name, value] : scope.variables)
    result += " " + name;
  return result;
}

std::string print_status(std::string_view nonce) {
  std::string result = "\\builtin printf '%s\\0' ";
  result.append(nonce);
  return result + " \"$?\" \"${PWD-}\"; \\set +e\n";
}

} // namespace

control_paths::control_paths(std::filesystem::path where)
    : directory{std::move(where)}, command{directory / "cmd"}, enter{directory / "enter"},
      leave{directory / "leave"}, saved{directory / "saved"}, code{directory / "rc"},
      abort{directory / "abort"}, dump{directory / "dump"}, fresh{directory / "state.new"},
      state{directory / "state"}, where{directory / "where"}, mark{directory / "mark"} {}

std::string control_paths::fifo(char kind, unsigned number) const {
  return directory / (kind + std::to_string(number));
}

std::string quote(std::string_view text) {
  if (!text.empty() && text.find_first_not_of(plain_characters) == std::string_view::npos)
    return std::string{text};
  std::string result = "'";
  for (auto c : text)
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  return result + "'";
}

bool is_blank(std::string_view script) {
  while (!script.empty()) {
    auto line = script.substr(0, script.find('\n'));
    auto start = line.find_first_not_of(" \t\r");
    if (start != std::string_view::npos && line[start] != '#')
      return false;
    script.remove_prefix(std::min(line.size() + 1, script.size()));
  }
  return true;
}

std::string code_text() {
  return "return \"$1\"\n";
}

// With extdebug, a DEBUG trap that returns 2 makes the shell return from the sourced file: no
// further command of the aborted one runs, while our own files still may.
std::string abort_text(const control_paths& p) {
  return "\\builtin shopt -s extdebug; \\builtin trap 'if ((${#BASH_SOURCE[@]})); then case "
         "${BASH_SOURCE[0]} in "
         + quote(p.leave) + "|" + quote(p.saved) + "|" + quote(p.dump) + ") ;; *) . "
         + quote(p.code) + " 2 ;; esac; fi' DEBUG\n";
}

std::string dump_text(const control_paths& p) {
  return "if [[ -s " + quote(p.leave) + " ]]; then \\. " + quote(p.leave)
         + " 0; fi\n\\builtin printf %s \"${PWD-}\" 2>/dev/null >|" + quote(p.where)
         + "\n{ \\builtin umask -p; \\builtin declare -p; \\builtin declare -f; \\builtin declare "
           "-Fx; \\builtin alias -p; \\builtin trap -p; \\builtin shopt -p; \\builtin set +o; "
           "\\builtin printf 'set +e\\nbuiltin cd -- %q\\n"
         + std::string{dump_end.substr(0, dump_end.size() - 1)} + "\\n' \"${PWD-}\"; } >|"
         + quote(p.fresh) + " 2>/dev/null\n";
}

std::string enter_text(const control_paths& p, const command_scope& scope) {
  if (scope.empty())
    return "";
  auto names = names_of(scope);
  auto give_up = "{ \\builtin printf 'return " + std::to_string(scope_failure) + "\\n' >|"
                 + quote(p.leave) + "; \\. " + quote(p.saved) + "; return "
                 + std::to_string(scope_failure) + "; }\n";
  auto text = "\\builtin declare -p" + names + (scope.directory ? " OLDPWD" : "") + " >|"
              + quote(p.saved) + " 2>/dev/null\n";
  for (auto& [name, value] : scope.variables)
    text += "[[ -v " + name + " && ${" + name + "@a} == *r* ]] && " + give_up;
  if (!scope.variables.empty())
    text += "\\builtin unset -v" + names + " || " + give_up;
  for (auto& [name, value] : scope.variables)
    text += "\\builtin export " + name + "=" + quote(value) + " || " + give_up;
  if (scope.directory)
    text += "\\builtin cd -- " + quote(*scope.directory) + " || " + give_up;
  return text;
}

std::string leave_text(const control_paths& p, const command_scope& scope,
                       std::string_view session_directory) {
  if (scope.empty())
    return "";
  std::string text;
  if (!scope.variables.empty())
    text += "\\builtin unset -v" + names_of(scope) + " || \\builtin kill -KILL $$\n";
  if (scope.directory)
    text += "\\builtin cd -- " + quote(session_directory) + " 2>/dev/null\n";
  return text + "\\. " + quote(p.saved) + "\nreturn \"$1\"\n";
}

std::string command_text(const control_paths& p, std::string_view script, int last_code,
                         bool scoped) {
  std::string text;
  if (scoped)
    text = "\\. " + quote(p.enter) + " || return\n";
  text += "9>|" + quote(p.mark) + " || return 1";
  // `&&` because what `code` ends with is no failure to a trap on ERR.
  if (last_code != 0)
    text += "; \\. " + quote(p.code) + " " + std::to_string(last_code) + " && :";
  text += "\n{ ";
  text.append(is_blank(script) ? ":" : script);
  return text + "\n\n}\n";
}

std::string first_line(const control_paths& p, bool restore,
                       const std::optional<std::string>& directory) {
  auto text = "PS1= PS2= PROMPT_COMMAND=; set +o history +H; unset HISTFILE MAILCHECK; shopt -s "
              "execfail extglob; trap "
              + quote(". " + quote(p.dump)) + " EXIT; trap " + quote(". " + quote(p.abort))
              + " RTMAX";
  if (restore)
    text += "; . " + quote(p.state) + " </dev/null >/dev/null 2>&1; set +e";
  if (directory)
    text += "; builtin cd -- " + quote(*directory);
  return text + "\n";
}

std::string run_line(const control_paths& p, unsigned fifos, bool with_input) {
  auto input = with_input ? p.fifo('i', fifos) : "/dev/null";
  return "\\. " + quote(p.command) + " <" + quote(input) + " >|" + quote(p.fifo('o', fifos))
         + " 2>|" + quote(p.fifo('e', fifos)) + "\n";
}

std::string status_line(const control_paths& p, std::string_view nonce, bool scoped) {
  // One line with what leaves the scope: an interrupt discards both or neither.
  return (scoped ? "\\. " + quote(p.leave) + " \"$?\"; " : "") + print_status(nonce);
}

std::string rescue_line(const control_paths& p, std::string_view nonce, bool scoped) {
  return "\\unset -f builtin . printf trap shopt set unset enable; \\enable builtin printf trap "
         "shopt set\n"
         "\\builtin trap - DEBUG; \\builtin shopt -u extdebug; "
         + status_line(p, nonce, scoped);
}

std::string recover_line(const control_paths& p) {
  return "\\builtin trap - DEBUG; \\builtin shopt -u extdebug; \\builtin trap "
         + quote(". " + quote(p.abort)) + " RTMAX\n";
}

std::string dump_line(const control_paths& p) {
  return "\\. " + quote(p.dump) + " </dev/null\n";
}

} // namespace corral::guest

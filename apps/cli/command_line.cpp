#include "apps/cli/command_line.hpp"

#include "apps/cli/command_table.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

namespace corral::cli {

namespace {

/// Words after "--" belong to exec's command, whatever they look like.
std::vector<std::string> cut_command(std::vector<std::string>& words) {
  auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end())
    return {};
  std::vector<std::string> result{mark + 1, words.end()};
  words.erase(mark, words.end());
  return result;
}

cli_result<command> finish(const std::string& name, given& x) {
  if (name != "exec" && !x.words.empty())
    return failed("usage", name + ": only exec takes a command after --");
  for (auto& row : command_table())
    if (row.name == name)
      return row.finish(x);
  return failed("usage", "no command " + name + "; see corral --help");
}

/// CLI11's own words, which name the argument and what was wrong with it.
tl::unexpected<cli_error> usage_error(const CLI::App& app, const CLI::ParseError& e) {
  auto used = app.get_subcommands();
  auto command = used.empty() ? std::string{"corral"} : "corral " + used.front()->get_name();
  return failed("usage", std::string{e.what()} + "; see " + command + " --help");
}

} // namespace

cli_result<std::variant<command_line, only_text>> parse_command_line(std::vector<std::string> words,
                                                                     bool stdin_is_terminal) {
  command_line result;
  if (!words.empty() && words.front() == "__complete") {
    result.what = complete_options{{words.begin() + 1, words.end()}};
    return result;
  }
  given x;
  x.words = cut_command(words);
  x.stdin_is_terminal = stdin_is_terminal;
  CLI::App app{"Runs commands and keeps files in isolated sandboxes.", "corral"};
  describe(app, result, x);
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
  auto what = finish(app.get_subcommands().front()->get_name(), x);
  if (!what)
    return tl::unexpected{what.error()};
  result.what = std::move(*what);
  return result;
}

} // namespace corral::cli

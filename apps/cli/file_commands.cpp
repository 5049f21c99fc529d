// The rows of commands about files.

#include "apps/cli/command_table.hpp"
#include "apps/cli/described.hpp"
#include "apps/cli/help.hpp"

namespace corral::cli {

namespace {

/// Whose files a command is about, or that it was not said.
cli_result<target> owner_of(const char* name, const given& x) {
  if (x.to.empty())
    return failed("usage", std::string{name} + ": say whose file it is with --thread or --sandbox");
  return x.to;
}

void add_read(CLI::App& app, given& x) {
  app.add_option("PATH", x.read.path, "The file, as the sandbox sees it")->required();
  add_target(app, x.to);
  add_pool(app, x.to);
  auto raw = app.add_flag("--raw", x.read.raw, "Any file, byte for byte");
  app.add_option("--lines", x.lines, "Only these lines, from 1, both ends included")
      ->check(checked_by(parse_lines), "")
      ->option_text("A:B")
      ->excludes(raw);
}

cli_result<command> finish_read(given& x) {
  return owner_of("read", x).map([&](const target& to) {
    x.read.to = to;
    if (!x.lines.empty())
      x.read.lines = *parse_lines(x.lines);
    return command{x.read};
  });
}

void add_write(CLI::App& app, given& x) {
  app.add_option("PATH", x.write.path, "The file, as the sandbox sees it")->required();
  add_target(app, x.to);
  add_pool(app, x.to);
  app.add_option("--from", x.write.from, "A file of this machine [stdin]")
      ->type_name(value_of::file)
      ->option_text("FILE");
  app.add_flag("--append", x.write.append, "Add to the end of the file");
}

cli_result<command> finish_write(given& x) {
  return owner_of("write", x).map([&](const target& to) {
    x.write.to = to;
    return command{x.write};
  });
}

} // namespace

std::vector<command_row> file_commands() {
  return {
      {"read", "Print a file of a sandbox", help::read, add_read, finish_read},
      {"write", "Write a file of a sandbox", help::write, add_write, finish_write},
  };
}

} // namespace corral::cli

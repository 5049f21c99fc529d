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

void add_copy(CLI::App& app, given& x) {
  auto add = [&](const char* name, std::string& value, const char* summary) {
    app.add_option(name, value, summary)
        ->check(checked_by(parse_copy_place), "")
        ->type_name(value_of::place)
        ->option_text(" ")
        ->required();
  };
  add("FROM", x.from, "A file here, THREAD:PATH, or - for stdin");
  add("TO", x.into, "The same, a directory here, or THREAD:DIR/; - is stdout");
  add_user(app, x.to.user);
  add_pool(app, x.to);
}

cli_result<command> finish_copy(given& x) {
  auto from = *parse_copy_place(x.from);
  auto into = *parse_copy_place(x.into);
  if (from.thread.empty() == into.thread.empty())
    return failed("usage", "cp: exactly one of FROM and TO has to be in a sandbox, as THREAD:PATH");
  auto upload = from.thread.empty();
  auto& [thread, path] = upload ? into : from;
  auto is_directory = path.empty() || path.ends_with('/');
  if (is_directory && (!upload || from.path == "-"))
    return failed("usage", "cp: " + thread + ":" + path + " is a directory; name the file");
  x.to.thread = thread;
  return copy_options{x.to, upload, upload ? from.path : into.path, path};
}

/// What grep and glob take alike, after their own pattern.
void add_search(CLI::App& app, given& x, const char* pattern) {
  app.add_option("PATTERN", x.search.pattern, pattern)->required();
  app.add_option("PATH", x.search.path, "Where to search [the workspace]");
  add_target(app, x.to);
  add_pool(app, x.to);
  app.add_option("-m,--max-results", x.search.most, "No more than this many")
      ->check(CLI::Range(1, 100'000), "")
      ->option_text("N");
  app.add_flag("--all", x.search.all, "Also in what is left out else, such as .git");
}

void add_grep(CLI::App& app, given& x) {
  add_search(app, x, "A regular expression, as RE2 takes it");
  app.add_option("--glob", x.grep.files, "Only in files whose name matches, such as *.py")
      ->option_text("PATTERN");
  app.add_flag("-F,--literal", x.grep.literal, "Take the pattern as it is");
  app.add_flag("--case-sensitive", x.grep.case_sensitive, "Tell upper case from lower case");
}

cli_result<command> finish_grep(given& x) {
  return owner_of("grep", x).map([&](const target& to) {
    x.search.to = to;
    x.grep.search = x.search;
    return command{x.grep};
  });
}

void add_glob(CLI::App& app, given& x) {
  add_search(app, x, "What paths must match, such as **/*.py");
  app.add_flag("--dirs", x.glob.directories, "Directories too");
}

cli_result<command> finish_glob(given& x) {
  return owner_of("glob", x).map([&](const target& to) {
    x.search.to = to;
    x.glob.search = x.search;
    return command{x.glob};
  });
}

} // namespace

std::vector<command_row> file_commands() {
  return {
      {"read", "Print a file of a sandbox", help::read, add_read, finish_read},
      {"write", "Write a file of a sandbox", help::write, add_write, finish_write},
      {"cp", "Copy a file to a sandbox or back", help::copy, add_copy, finish_copy},
      {"grep", "Search the content of a sandbox's files", help::grep, add_grep, finish_grep},
      {"glob", "Find a sandbox's files by name", help::glob, add_glob, finish_glob},
  };
}

} // namespace corral::cli

// Measures Corral against what the same machine does without it, in the same run and under the same
// load, and holds the ratios against their budgets.

#include "apps/cli/terminal.hpp"
#include "bench/context.hpp"
#include "os/files.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <signal.h>
#include <stdexcept>

namespace {

using namespace corral;
using namespace corral::bench;

struct measurement {
  const char* name;
  const char* what;
  std::vector<row> (*run)(context&);
};

constexpr measurement measurements[] = {
    {"exec", "exec of a builtin against an echo of the same frames", measure_exec},
    {"fan-out", "32 clients on 32 sandboxes against the same guests driven directly",
     measure_fan_out},
    {"acquire", "acquire of an active and a warm sandbox against an echo", measure_acquire},
    {"create", "acquire of a new sandbox and its first command against bubblewrap alone",
     measure_create},
    {"memory", "the daemon's memory per idle sandbox, and a guest's", measure_memory},
    {"yes", "what an endless output does to memory and to neighbours", measure_flood},
    {"download", "a download of 100 MiB against the same bytes through the echo", measure_download},
};

std::string description() {
  std::string text = "\nRows:\n";
  for (auto& x : measurements)
    text += "  " + std::string{x.name} + std::string(10 - std::string{x.name}.size(), ' ') + x.what
            + "\n";
  return text + R"(
Each ratio is of medians of 5 rounds, in each of which both sides take turns; first with the machine
idle, then with all its cores busy.

Exit status: 0 all budgets are met, 1 one is missed, 2 wrong usage or nothing could be measured.)";
}

std::vector<row> run(const std::vector<std::string>& names, context& x) {
  std::vector<row> rows;
  for (auto& m : measurements) {
    if (!names.empty() && std::find(names.begin(), names.end(), m.name) == names.end())
      continue;
    x.tell(std::string{m.name} + ": " + m.what);
    auto more = m.run(x);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

int report(const std::vector<row>& rows, const std::string& file) {
  std::vector<fields> lines;
  bool met = true;
  for (auto& x : rows) {
    lines.push_back(to_fields(x));
    met = met && x.met();
  }
  std::cout << format(rows);
  fields all;
  all.set("rows", lines).set("met", met);
  if (auto written = write_file_atomically(file, all.dump() + "\n", 0644); !written)
    throw std::runtime_error{written.error().what};
  return met ? 0 : 1;
}

int run(int argc, char** argv) {
  CLI::App app{"Measures Corral.", "scripts/bench"};
  auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  std::vector<std::string> names, known;
  for (auto& x : measurements)
    known.emplace_back(x.name);
  bool quick = false;
  std::string output = "build/bench.json";
  app.add_option("--row", names, "Only this row; may be given several times")
      ->check(CLI::IsMember(known), "")
      ->option_text("NAME");
  app.add_flag("--quick", quick, "Fewer rounds and calls: rough figures");
  app.add_option("--output", output, "Where the figures go as JSON")->option_text("FILE");
  app.footer(description());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  context x{build, quick};
  return report(run(names, x), output);
}

} // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  std::string role = argc > 1 ? argv[1] : "";
  try {
    if (role == "--echo" && argc == 3)
      return serve_echo(argv[2]);
    if (role == "--spin")
      spin();
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "bench: " << e.what() << '\n';
    return 2;
  }
}

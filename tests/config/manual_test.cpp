#include <doctest/doctest.h>

#include "config/option.hpp"
#include "tests/config/support.hpp"

#include <fstream>
#include <regex>
#include <sstream>

using namespace corral;
using namespace corral::testing;

namespace {

/// NAME=VALUE of every `--set` that the manual shows for an option, as a shell passes it on.
std::vector<std::string> shown_settings() {
  std::vector<std::string> result;
  std::istringstream lines{configuration_manual()};
  std::regex form{"- Command line: `--set '?(.*?)'?`"};
  for (std::string line; std::getline(lines, line);)
    if (std::smatch found; std::regex_match(line, found, form))
      result.push_back(found[1]);
  return result;
}

} // namespace

TEST_CASE("docs/configuration.md in the tree is what the table gives") {
  std::ifstream file{CORRAL_MANUAL};
  std::ostringstream text;
  text << file.rdbuf();
  CHECK_MESSAGE(text.str() == configuration_manual(), "run `ninja config_docs`");
}

TEST_CASE("the manual has every option with type, default, environment and documentation") {
  auto text = configuration_manual();
  for (const auto& x : option_table()) {
    auto start = text.find("### `" + std::string{x.in_pool ? "pool." : ""} + x.name + "`\n");
    REQUIRE_MESSAGE(start != std::string::npos, x.name);
    auto section = text.substr(start, text.find("\n#", start + 1) - start);
    for (auto part : {x.doc, "- Value: " + x.expected,
                      "- Environment: `" + x.environment_name() + "`", std::string{"- Default: "}})
      CHECK_MESSAGE(section.find(part) != std::string::npos, x.name << ": " << part);
  }
}

TEST_CASE("what the manual sets on the command line is valid and means the defaults") {
  auto settings = shown_settings();
  REQUIRE(settings.size() == option_table().size());
  for (auto& setting : settings) {
    machine m{.overrides = {setting}};
    CHECK_MESSAGE(errors_of(m) == "", setting);
    if (errors_of(m).empty())
      CHECK_MESSAGE(loaded(m) == loaded({}), setting);
  }
}

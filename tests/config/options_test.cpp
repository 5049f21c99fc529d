#include "config/option.hpp"

#include <doctest/doctest.h>

#include "config/units.hpp"

#include <set>
#include <sstream>

using namespace corral;

namespace {

/// One option on values of its own.
struct bench {
  const option& x;
  config daemon{};
  pool_config pool{};
  config_errors errors{};

  explicit bench(const option& o) : x{o} {}

  /// The error that setting `node` gives, empty if none.
  std::string set(const yaml_node& node) {
    errors.clear();
    x.set({daemon, pool}, node, {"f", x.name, errors});
    return errors.empty() ? "" : to_string(errors.front());
  }

  bool takes(const std::string& text) { return set(yaml_node::scalar(text)).empty(); }

  std::string text() { return x.get({daemon, pool}).text; }
};

/// X and Y of "from X to Y"; both empty where the option has no such limits.
std::pair<std::string, std::string> limits_of(const option& x) {
  auto from =
      x.expected.find("a ") == std::string::npos ? std::string::npos : x.expected.find(" from ");
  if (from == std::string::npos)
    return {};
  std::istringstream words{x.expected.substr(from + 6)};
  std::string least, to, most;
  words >> least >> to >> most;
  return {least, most};
}

bool expects(const option& x, const char* what) {
  return x.expected.find(what) != std::string::npos;
}

/// Just outside the limits, in the option's unit.
std::pair<std::string, std::string> outside(const option& x, const std::string& least,
                                            const std::string& most) {
  if (expects(x, "a size"))
    return {std::to_string(*parse_size(least) - 1), std::to_string(*parse_size(most) + 1)};
  if (expects(x, "a duration"))
    return {std::to_string(parse_duration(least)->count() - 1) + "ms",
            std::to_string(parse_duration(most)->count() + 1) + "ms"};
  if (expects(x, "a number"))
    return {format_number(*parse_number(least) / 2), format_number(*parse_number(most) + 0.5)};
  return {std::to_string(*parse_whole_number(least) - 1),
          std::to_string(*parse_whole_number(most) + 1)};
}

} // namespace

TEST_CASE("names and variables of options are unique and every option is documented") {
  std::set<std::string> names, variables;
  for (const auto& x : option_table()) {
    CAPTURE(x.name);
    CHECK(names.insert((x.in_pool ? "pool." : "") + x.name).second);
    CHECK(variables.insert(x.environment_name()).second);
    CHECK(x.doc.ends_with("."));
    CHECK(!x.expected.empty());
  }
  CHECK(variables.contains("CORRAL_DATA_DIR"));
  CHECK(variables.contains("CORRAL_POOL_LIMITS_MEMORY"));
}

TEST_CASE("every scalar option takes its own default and keeps it") {
  for (const auto& x : option_table()) {
    CAPTURE(x.name);
    bench b{x};
    auto before = b.text();
    if (!x.scalar)
      continue;
    CHECK(b.takes(x.computed.empty() ? before : x.computed));
    CHECK(b.text() == (x.computed.empty() ? before : x.computed));
    if (x.computed.empty())
      CHECK(b.pool == pool_config{});
  }
}

TEST_CASE("every limited option takes its limits and nothing beyond") {
  size_t limited = 0;
  for (const auto& x : option_table()) {
    auto [least, most] = limits_of(x);
    if (least.empty())
      continue;
    CAPTURE(x.name);
    ++limited;
    bench b{x};
    CHECK(b.takes(least));
    CHECK(b.takes(most));
    auto [below, above] = outside(x, least, most);
    if (least != "0")
      CHECK(!b.takes(below));
    CHECK(!b.takes(above));
    CHECK(b.takes("0") == (least == "0" || x.expected.starts_with("0 (")));
  }
  CHECK(limited >= 25);
}

TEST_CASE("every choice takes its words and nothing else") {
  size_t choices = 0;
  for (const auto& x : option_table()) {
    if (!x.expected.starts_with("one of "))
      continue;
    CAPTURE(x.name);
    ++choices;
    bench b{x};
    std::istringstream words{x.expected.substr(7)};
    for (std::string word; words >> word;) {
      word = word.substr(0, word.find(','));
      CHECK(b.takes(word));
      CHECK(b.text() == word);
      CHECK(!b.takes(word + "x"));
    }
  }
  CHECK(choices == 6);
}

TEST_CASE("a wrong value leaves the option as it was and says what was expected and found") {
  for (const auto& x : option_table()) {
    CAPTURE(x.name);
    bench b{x};
    auto before = b.text();
    auto wrong = yaml_node::scalar("\x01 wrong", 7);
    CHECK(b.set(wrong).find("f:7: " + x.name + ": expected ") == 0);
    CHECK(b.set(wrong).find(", found \"\\x01 wrong\"") != std::string::npos);
    auto is_list = x.expected.starts_with("a list");
    yaml_node other{.type = is_list ? yaml_node::kind::mapping : yaml_node::kind::list};
    CHECK(b.set(other).find(", found a ") != std::string::npos);
    CHECK(b.text() == before);
  }
}

TEST_CASE("paths are absolute and lose what is redundant") {
  auto path = kinds::absolute_path();
  CHECK(path.parse("/") == "/");
  CHECK(path.parse("//a///b/") == "/a/b");
  CHECK(path.parse("/a/..b/.c") == "/a/..b/.c");
  for (auto text : {"", "a", "./a", "~/a", "/a/../b", "/..", "/a/.", "/a\nb", "/a\x7f"})
    CHECK_MESSAGE(!path.parse(text), text);
  CHECK(!path.parse("/" + std::string(5000, 'a')));
  CHECK(kinds::absolute_path("none").parse("") == "");
}

TEST_CASE("a range of user ids spares the system's users, nobody and -1") {
  auto range = kinds::range_of_uids();
  CHECK(range.parse("1000-65533") == uid_range{1000, 65533});
  CHECK(range.parse("65536-2147483647") == uid_range{65536, 2147483647});
  CHECK(range.parse("70000-70000")->size() == 1);
  for (auto text : {"", "-", "1000", "999-2000", "0-70000", "2000-1000", "60000-70000",
                    "65534-65534", "65535-65535", "70000-2147483648", "70000-4294967295",
                    "-1-70000", "70000-80000-90000", "70000 - 80000", "a-b"})
    CHECK_MESSAGE(!range.parse(text), text);
}

TEST_CASE("groups are names or numbers") {
  auto group = kinds::group_name();
  for (auto text : {"", "corral", "1001", "_a-b.c"})
    CHECK_MESSAGE(group.parse(text) == text, text);
  for (auto text : {"-g", "a b", "a:b", "a/b"})
    CHECK_MESSAGE(!group.parse(text), text);
  CHECK(!group.parse(std::string(33, 'a')));
}

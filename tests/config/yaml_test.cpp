#include "config/yaml_node.hpp"

#include <doctest/doctest.h>

using namespace corral;

namespace {

std::string parse_error(const std::string& text) {
  auto x = parse_yaml(text, "f");
  auto errors = x ? std::string{} : to_string(x.error());
  return errors.substr(0, errors.find_last_not_of('\n') + 1);
}

} // namespace

TEST_CASE("values keep their text and their line") {
  auto x = parse_yaml("a: 010\nb:\n  - yes\n  - ~\nc: {d: \"e f\"}\n", "f").value();
  REQUIRE(x.keys == std::vector<std::string>{"a", "b", "c"});
  CHECK(x.items[0].text == "010");
  CHECK(x.items[1].items[0].text == "yes");
  CHECK(x.items[1].items[0].line == 3);
  CHECK(x.items[1].items[1].type == yaml_node::kind::null);
  CHECK(x.items[2].items[0].text == "e f");
  CHECK(x.items[2].line == 5);
}

TEST_CASE("an empty document, or one of comments, is nothing") {
  CHECK(parse_yaml("", "f")->type == yaml_node::kind::null);
  CHECK(parse_yaml("# nothing\n", "f")->type == yaml_node::kind::null);
}

TEST_CASE("every key that is given twice is an error with both lines") {
  CHECK(parse_error("a: 1\nb: {c: 1, c: 2}\na: 2\n")
        == "f:2: expected each key once, found \"c\" again (first in line 2)\n"
           "f:3: expected each key once, found \"a\" again (first in line 1)");
}

TEST_CASE("anchors and aliases are refused before they can grow") {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 100; ++i) {
    auto earlier = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + earlier + ", " + earlier
            + "]\n";
  }
  auto refused = "f:1: anchors and aliases are not supported; write the value out";
  CHECK(parse_error(bomb) == refused);
  CHECK(parse_error("a: &x 1\n") == refused);
  CHECK(parse_error("a: *x\n").starts_with("f:1: "));
}

TEST_CASE("nesting is allowed to the limit and refused beyond") {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(parse_error(nested(max_yaml_depth)) == "");
  CHECK(parse_error(nested(max_yaml_depth + 1)) == "f:1: expected at most 16 levels of nesting");
  CHECK(parse_error(std::string(500'000, '[')).find("levels of nesting") != std::string::npos);
  CHECK(parse_error(std::string(500'000, '{')) != "");
  std::string stairs;
  for (size_t i = 0; i < 100; ++i)
    stairs += std::string(i, ' ') + "a:\n";
  CHECK(parse_error(stairs).find("levels of nesting") != std::string::npos);
}

TEST_CASE("a document above 1 MiB is refused unread") {
  CHECK(parse_error(std::string(max_yaml_bytes + 1, '#')) == "f: expected at most 1048576 bytes");
  CHECK(parse_error(std::string(max_yaml_bytes, '#')) == "");
}

TEST_CASE("what is not UTF-8 text is refused with its line and byte") {
  using namespace std::string_literals;
  CHECK(parse_error("a: 1\nb: \0\n"s) == "f:2: expected UTF-8 text, found the byte \"\\x00\"");
  CHECK(parse_error("\x7f"
                    "ELF")
        == "f:1: expected UTF-8 text, found the byte \"\\x7f\"");
  for (auto text : {"\xff\xfe"
                    "a",
                    "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                    "\xf0\x9f\x98", "a: \x1b[0m"})
    CHECK_MESSAGE(parse_error(text).starts_with("f:1: expected UTF-8"), text);
  CHECK(parse_error("a: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\r\n") == "");
}

TEST_CASE("escapes can't bring in control characters") {
  CHECK(parse_error("a: \"x\\0y\"") == "f:1: expected text without control characters");
  CHECK(parse_error("a: \"x\\e[0m\"") == "f:1: expected text without control characters");
}

TEST_CASE("tags, other keys than text and second documents are refused") {
  CHECK(parse_error("a: !!binary aGk=").starts_with("f:1: expected a value without a tag"));
  CHECK(parse_error("? [a, b]\n: 1\n") == "f:1: expected a name as key, found a list");
  CHECK(parse_error("~: 1\n") == "f:1: expected a name as key, found nothing");
  CHECK(parse_error("a: 1\n---\nb: 2\n") == "f: expected a single YAML document");
}

TEST_CASE("broken YAML is an error with its line") {
  CHECK(parse_error("a: 1\nb: [1, 2\n").starts_with("f:"));
  CHECK(parse_error("a: 1\n  b: 2\n").starts_with("f:2: not YAML: "));
  CHECK(parse_error("%YAML 9.9\n---\na: 1\n") != "");
}

TEST_CASE("what is written is read back the same") {
  for (std::string text : {"",
                           "plain",
                           "null",
                           "~",
                           "-",
                           "--- x",
                           "a: b",
                           "# c",
                           "\"q\" \\ 's'",
                           "two\nlines\t",
                           "\xe2\x82\xac",
                           "{}",
                           "[",
                           "*x",
                           "&x",
                           "!x",
                           "%x",
                           "@x",
                           "1.5",
                           "...",
                           ", ",
                           " edge "}) {
    yaml_node list{.type = yaml_node::kind::list, .items = {yaml_node::scalar(text)}};
    auto back = parse_yaml(to_yaml(list), "f");
    REQUIRE_MESSAGE(back, text);
    CHECK(back->items.at(0).type == yaml_node::kind::scalar);
    CHECK(back->items.at(0).text == text);
  }
}

#include "apps/cli/arguments.hpp"

#include <doctest/doctest.h>

using namespace corral::cli;
using namespace std::chrono_literals;

TEST_CASE("a timeout is a duration from 1 ms to 24 h, seconds unless it has a unit") {
  CHECK(parse_timeout("250ms") == 250ms);
  CHECK(parse_timeout("30s") == 30s);
  CHECK(parse_timeout("10m") == 10min);
  CHECK(parse_timeout("4h") == 4h);
  CHECK(parse_timeout("90") == 90s);
  CHECK(parse_timeout("24h") == 24h);
}

TEST_CASE("what is no timeout says what was expected") {
  for (auto text : {"", "0", "0ms", "-1s", "25h", "2d", "abc", "1.5h", "10 minutes"}) {
    auto x = parse_timeout(text);
    REQUIRE_MESSAGE(!x, text);
    CHECK(x.error().find("1ms to 24h") != std::string::npos);
  }
}

TEST_CASE("a variable is a name and any value, which may be empty or hold equal signs") {
  CHECK(parse_variable("A=b") == std::pair<std::string, std::string>{"A", "b"});
  CHECK(parse_variable("A=") == std::pair<std::string, std::string>{"A", ""});
  CHECK(parse_variable("_a1=x=y") == std::pair<std::string, std::string>{"_a1", "x=y"});
}

TEST_CASE("what a shell can't export is no variable") {
  for (auto text : {"", "A", "=b", "1A=b", "A B=c", "A-B=c"})
    CHECK_MESSAGE(!parse_variable(text), text);
}

TEST_CASE("lines are a range with both, one or equal ends") {
  CHECK(parse_lines("3:7")->first == 3);
  CHECK(parse_lines("3:7")->last == 7);
  CHECK(parse_lines("3:")->first == 3);
  CHECK(!parse_lines("3:")->last);
  CHECK(!parse_lines(":7")->first);
  CHECK(parse_lines(":7")->last == 7);
  CHECK(parse_lines("5")->first == 5);
  CHECK(parse_lines("5")->last == 5);
}

TEST_CASE("lines that are empty, reversed, not positive or no numbers are refused") {
  for (auto text : {"", ":", "0:3", "7:3", "a:b", "-1:2", "1:2:3", "9223372036854775808:"})
    CHECK_MESSAGE(!parse_lines(text), text);
}

TEST_CASE("a sandbox is named by 8 to 16 lower-case hex digits") {
  CHECK(parse_sandbox_id("2c26b46b"));
  CHECK(parse_sandbox_id("2c26b46b68ffc68f"));
  for (auto text : {"", "2c26b46", "2C26B46B", "2c26b46b68ffc68f0", "2c26b46g"})
    CHECK_MESSAGE(!parse_sandbox_id(text), text);
}

TEST_CASE("a name has 1 to 64 letters, digits, dashes and underscores") {
  CHECK(parse_name("a-B_9"));
  CHECK(parse_name(std::string(64, 'x')));
  for (auto text : {std::string{}, std::string{"a b"}, std::string{"../x"}, std::string(65, 'x')})
    CHECK_MESSAGE(!parse_name(text), text);
}

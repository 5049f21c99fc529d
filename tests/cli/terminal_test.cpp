#include "apps/cli/terminal.hpp"

#include <doctest/doctest.h>

using namespace corral::cli;

TEST_CASE("columns are as wide as their widest cell, without blanks at the end of a line") {
  CHECK(format_table({{"ID", "STATE"}, {"abcd", "parked"}, {"e", "x"}})
        == "ID    STATE\nabcd  parked\ne     x\n");
}

TEST_CASE("a table without rows is empty") {
  CHECK(format_table({}) == "");
}

TEST_CASE("control characters can't reach a terminal") {
  CHECK(printable("a\x1b[31mb\rc\x7f") == "a\\x1b[31mb\\x0dc\\x7f");
  CHECK(printable("two\nlines, é") == "two\nlines, é");
}

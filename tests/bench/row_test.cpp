#include "bench/row.hpp"

#include <doctest/doctest.h>

using namespace corral::bench;

TEST_CASE("a ratio is the median of the rounds' ratios, not the ratio of medians") {
  auto x = ratio_row("r", "idle", "us", {{10, 20}, {100, 500}, {50, 150}}, limit_kind::at_most, 4);
  CHECK(x.value == 3);
  CHECK(x.measured == 150);
  CHECK(x.baseline == 50);
}

TEST_CASE("a budget is met up to and including its limit, on the side that it bounds") {
  auto met = [](double measured, limit_kind kind) {
    return ratio_row("r", "", "us", {{1, measured}}, kind, 4).met();
  };
  CHECK(met(4, limit_kind::at_most));
  CHECK(!met(4.01, limit_kind::at_most));
  CHECK(met(4, limit_kind::at_least));
  CHECK(!met(3.99, limit_kind::at_least));
  CHECK(absolute_row("r", "KiB", 64, 64).met());
  CHECK(!absolute_row("r", "KiB", 65, 64).met());
}

TEST_CASE("a row that explains another has no budget and no verdict") {
  auto x = ratio_row("r", "busy", "us", {{10, 90}}, limit_kind::none, 0);
  CHECK(x.met());
  CHECK(format({x}).find("<=") == std::string::npos);
  CHECK(format({x}).find("met") == std::string::npos);
  CHECK(to_fields(x).number("ratio") == 9);
  CHECK(!to_fields(x).has("at_most"));
  CHECK(!to_fields(x).has("at_least"));
}

TEST_CASE("a missed row says so in the table and in the JSON") {
  auto x = absolute_row("memory", "KiB", 65, 64);
  CHECK(format({x}).find("MISSED") != std::string::npos);
  CHECK(to_fields(x).flag("met") == false);
  CHECK(to_fields(x).number("at_most") == 64);
  CHECK(!to_fields(x).has("baseline"));
}

#include "bench/samples.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace corral::bench;

TEST_CASE("a percentile is the least sample that so large a share does not exceed") {
  samples x;
  for (int i = 100; i > 0; --i)
    x.push_back(i);
  CHECK(percentile(x, 0.5) == 50);
  CHECK(percentile(x, 0.99) == 99);
  CHECK(percentile(x, 1) == 100);
  CHECK(percentile(x, 0) == 1);
  CHECK(percentile({7}, 0.99) == 7);
  CHECK(percentile({}, 0.5) == 0);
}

TEST_CASE("both sides take turns, as often as asked") {
  std::string order;
  by_turns(
      3, [&] { order += 'a'; }, [&] { order += 'b'; });
  CHECK(order == "ababab");
}

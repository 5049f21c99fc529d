#include "bridge/token_bucket.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

TEST_CASE("a bucket lets its burst pass and then tells how long to wait") {
  token_bucket x{10};
  token_bucket::time_point now{1h};
  for (int i = 0; i < 10; ++i)
    CHECK_FALSE(x.take(now));
  auto wait = x.take(now);
  REQUIRE(wait);
  CHECK(*wait > 99ms);
  CHECK(*wait < 101ms);
  CHECK_FALSE(x.take(now + *wait));
  CHECK(x.take(now + *wait));
}

TEST_CASE("refused asks cost nothing, and a pause saves no more than a burst") {
  token_bucket x{2};
  token_bucket::time_point now{1h};
  x.take(now);
  x.take(now);
  for (int i = 0; i < 100; ++i)
    CHECK(x.take(now + 100ms));
  CHECK_FALSE(x.take(now + 500ms));
  int passed = 0;
  for (int i = 0; i < 10; ++i)
    passed += x.take(now + 1h) ? 0 : 1;
  CHECK(passed == 2);
}

TEST_CASE("a clock that goes back neither fills nor empties it") {
  token_bucket x{1};
  token_bucket::time_point now{1h};
  CHECK_FALSE(x.take(now));
  CHECK(x.take(now - 1min));
  CHECK(x.take(now + 500ms));
  CHECK_FALSE(x.take(now + 1s));
}

TEST_CASE("a rate of 0 is no limit") {
  token_bucket x;
  for (int i = 0; i < 1000; ++i)
    CHECK_FALSE(x.take({}));
}

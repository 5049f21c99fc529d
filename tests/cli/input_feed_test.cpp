#include "apps/cli/input_feed.hpp"

#include <doctest/doctest.h>

using namespace corral::cli;
using namespace std::chrono_literals;

namespace {

const input_feed::time_point start{};

} // namespace

TEST_CASE("what was read is sent as one request and nothing more is read meanwhile") {
  input_feed x{"7"};
  CHECK(x.wants_bytes());
  CHECK(!x.next(start));
  x.offer("abc");
  CHECK(!x.wants_bytes());
  auto sent = x.next(start);
  REQUIRE(sent);
  CHECK(sent->header.text("op") == "input");
  CHECK(sent->header.text("request") == "7");
  CHECK(!sent->header.has("eof"));
  CHECK(sent->encode_payload().view() == "abc");
  CHECK(!x.next(start));
  x.accepted(3, start);
  CHECK(x.wants_bytes());
}

TEST_CASE("bytes that were not accepted are offered again a little later") {
  input_feed x{"7"};
  x.offer("abcdef");
  REQUIRE(x.next(start));
  x.accepted(2, start);
  CHECK(!x.wants_bytes());
  CHECK(!x.next(start));
  CHECK(x.due_in(start) == input_feed::retry);
  auto again = x.next(start + input_feed::retry);
  REQUIRE(again);
  CHECK(again->encode_payload().view() == "cdef");
}

TEST_CASE("the end is told once, after all was accepted") {
  input_feed x{"7"};
  x.offer("ab");
  REQUIRE(x.next(start));
  x.accepted(2, start);
  x.offer("");
  CHECK(!x.wants_bytes());
  auto end = x.next(start);
  REQUIRE(end);
  CHECK(end->header.flag("eof") == true);
  CHECK(end->payload_size() == 0);
  x.accepted(0, start);
  CHECK(!x.next(start));
  CHECK(!x.due_in(start));
}

TEST_CASE("a command that takes no input is not offered any more") {
  input_feed x{"7"};
  x.offer("ab");
  REQUIRE(x.next(start));
  x.refused();
  CHECK(!x.wants_bytes());
  CHECK(!x.next(start + 1h));
}

TEST_CASE("a reply that claims more than was sent does no harm") {
  input_feed x{"7"};
  x.offer("ab");
  REQUIRE(x.next(start));
  x.accepted(1000, start);
  CHECK(x.wants_bytes());
}

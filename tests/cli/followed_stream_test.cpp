#include "apps/cli/followed_stream.hpp"

#include <doctest/doctest.h>

using corral::cli::followed_stream;

TEST_CASE("chunks without a gap pass as they come and nothing is left for the end") {
  for (bool live : {false, true}) {
    followed_stream x{live};
    CHECK(x.take(0, "abc") == "abc");
    CHECK(x.take(3, "de") == "de");
    CHECK(x.rest("abcde", 5) == "");
    CHECK(x.lost() == 0);
  }
}

TEST_CASE("after a gap nothing passes until the reply fills it") {
  followed_stream x{false};
  CHECK(x.take(0, "ab") == "ab");
  CHECK(x.take(5, "fg") == "");
  CHECK(x.take(7, "hi") == "");
  CHECK(x.rest("abcdefghi", 9) == "cdefghi");
  CHECK(x.lost() == 0);
}

TEST_CASE("what a reply could not keep either counts as lost") {
  followed_stream x{false};
  CHECK(x.take(0, "ab") == "ab");
  CHECK(x.take(5, "fg") == "");
  CHECK(x.rest("ab...", 100) == "");
  CHECK(x.lost() == 98);
}

TEST_CASE("a live stream goes on after a gap and counts it") {
  followed_stream x{true};
  CHECK(x.take(0, "ab") == "ab");
  CHECK(x.take(5, "fg") == "fg");
  CHECK(x.lost() == 3);
  CHECK(x.rest("abcdefg", 7) == "");
}

TEST_CASE("what was never sent as a chunk is written from the reply") {
  followed_stream x{true};
  CHECK(x.rest("retained", 8) == "retained");
  CHECK(x.lost() == 0);
}

TEST_CASE("a chunk that repeats what was written is not written again") {
  followed_stream x{false};
  CHECK(x.take(0, "abc") == "abc");
  CHECK(x.take(1, "bcd") == "");
  CHECK(x.take(3, "d") == "d");
}

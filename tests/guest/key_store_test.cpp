#include "guest/key_store.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::guest;
using namespace std::chrono_literals;

namespace {

using claim = key_store::claim;
const key_store::time_point t0{};

retained_result result_of(std::string out) {
  return {fields{}.set("exit_code", 0), std::move(out), ""};
}

} // namespace

TEST_SUITE("key store") {
  TEST_CASE("a key runs once: later claims join, then get the result") {
    key_store x;
    CHECK(x.begin("k", "d", t0) == claim::run);
    CHECK(x.begin("k", "d", t0) == claim::join);
    CHECK_FALSE(x.find("k"));
    x.finish("k", result_of("out"), t0);
    CHECK(x.begin("k", "d", t0) == claim::finished);
    REQUIRE(x.find("k"));
    CHECK(x.find("k")->out == "out");
  }

  TEST_CASE("the same key for another command is a conflict, running or finished") {
    key_store x;
    x.begin("k", "d", t0);
    CHECK(x.begin("k", "other", t0) == claim::conflict);
    x.finish("k", result_of(""), t0);
    CHECK(x.begin("k", "other", t0) == claim::conflict);
  }

  TEST_CASE("a command that did not run frees its key") {
    key_store x;
    x.begin("k", "d", t0);
    x.abandon("k");
    CHECK(x.begin("k", "other", t0) == claim::run);
    x.finish("k", result_of(""), t0);
    x.abandon("k");
    CHECK(x.begin("k", "other", t0) == claim::finished);
  }

  TEST_CASE("a result is kept for its time and no longer") {
    key_store x;
    x.begin("k", "d", t0);
    x.finish("k", result_of("out"), t0);
    CHECK(x.next_expiry() == t0 + 600s);
    CHECK(x.begin("k", "d", t0 + 599s) == claim::finished);
    CHECK(x.begin("k", "other", t0 + 600s) == claim::run);
    CHECK(x.memory() == 0);
  }

  TEST_CASE("a running command's key never expires") {
    key_store x;
    x.begin("k", "d", t0);
    CHECK(x.begin("k", "d", t0 + 24h) == claim::join);
  }

  TEST_CASE("a stream is kept up to its limit, with both ends") {
    key_store x{{600'000ms, 10, 10, 1000}};
    x.begin("k", "d", t0);
    x.finish("k", result_of("0123456789abcdefghij"), t0);
    CHECK(x.find("k")->out.starts_with("01234\n"));
    CHECK(x.find("k")->out.ends_with("\nfghij"));
    CHECK(x.find("k")->outcome.flag("truncated") == true);
  }

  TEST_CASE("when memory runs out the oldest output goes, its key and outcome stay") {
    key_store x{{600'000ms, 10, 100, 150}};
    for (std::string key : {"a", "b"}) {
      x.begin(key, "d", t0);
      x.finish(key, result_of(std::string(100, 'x')), t0);
    }
    CHECK(x.find("a")->out.empty());
    CHECK(x.find("a")->outcome.integer("exit_code") == 0);
    CHECK(x.find("a")->outcome.flag("truncated") == true);
    CHECK(x.find("b")->out.size() == 100);
    CHECK(x.memory() == 100);
    CHECK(x.begin("a", "d", t0) == claim::finished);
  }

  TEST_CASE("at the limit no key is taken, and known ones still work") {
    key_store x{{600'000ms, 1, 100, 100}};
    x.begin("a", "d", t0);
    CHECK(x.begin("b", "d", t0) == claim::full);
    CHECK(x.begin("a", "d", t0) == claim::join);
  }

  TEST_CASE("tells running keys first, then the newest") {
    key_store x;
    for (std::string key : {"old", "new", "running"})
      x.begin(key, "d", t0);
    x.finish("old", result_of(""), t0);
    x.finish("new", result_of(""), t0);
    CHECK(x.keys(2) == std::vector<std::string>{"running", "new"});
  }

  TEST_CASE("the digest tells parts apart") {
    CHECK(digest_of({"ab", "c"}) != digest_of({"a", "bc"}));
    CHECK(digest_of({"ab", "c"}) == digest_of({"ab", "c"}));
    CHECK(digest_of({"a"}).size() == 64);
  }
}

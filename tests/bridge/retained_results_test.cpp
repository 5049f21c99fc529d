#include "bridge/retained_results.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

struct fixture {
  retained_results kept{{.ttl = 1000ms, .count = 3, .memory = 100, .part_bytes = 60}};
  retained_results::time_point now{};

  void keep(const std::string& name, const std::string& output) {
    auto x = make_reply(fields{}.set("exit_code", 3));
    x.add_part("stdout", blob::copy_of(output));
    kept.keep(name, x, now);
  }
  std::string output_of(const std::string& name) {
    auto x = kept.find(name, now);
    REQUIRE(x);
    CHECK(x->header.integer("exit_code") == 3);
    CHECK(x->header.flag("truncated").value_or(false) == x->part_of("stdout").empty());
    return std::string{x->part_of("stdout").view()};
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a reply is kept with its parts until its time is over") {
  keep("a", "out");
  CHECK(output_of("a") == "out");
  CHECK_FALSE(kept.find("b", now));
  now += 999ms;
  CHECK(kept.find("a", now));
  now += 1ms;
  CHECK_FALSE(kept.find("a", now));
  CHECK(kept.memory() == 0);
}

TEST_CASE_FIXTURE(fixture, "when memory runs out the oldest outputs go and the outcomes stay") {
  keep("a", std::string(50, 'a'));
  keep("b", std::string(50, 'b'));
  CHECK(output_of("a").size() == 50);
  keep("c", std::string(40, 'c'));
  CHECK(output_of("a").empty());
  CHECK(output_of("b").size() == 50);
  CHECK(kept.memory() == 90);
}

TEST_CASE_FIXTURE(fixture, "an output beyond the limit of one is not kept, its outcome is") {
  keep("a", std::string(61, 'a'));
  CHECK(output_of("a").empty());
  CHECK(kept.memory() == 0);
}

TEST_CASE_FIXTURE(fixture,
                  "beyond the count the oldest goes; a later one of a name takes its place") {
  keep("a", "1");
  keep("b", "1");
  keep("a", "22");
  keep("c", "1");
  keep("d", "1");
  CHECK_FALSE(kept.find("b", now));
  CHECK(output_of("a") == "22");
  CHECK(kept.size() == 3);
  CHECK(kept.memory() == 4);
  kept.erase("a");
  CHECK(kept.memory() == 2);
}

TEST_CASE_FIXTURE(fixture, "payloads go in order, whatever has gone before them") {
  keep("a", std::string(50, 'a'));
  keep("b", std::string(50, 'b'));
  kept.erase("a");
  keep("c", std::string(50, 'c'));
  CHECK(kept.memory() == 100);
  keep("b", std::string(40, 'b')); // The newest now.
  keep("d", std::string(20, 'd'));
  CHECK(output_of("c").empty());
  CHECK(output_of("b").size() == 40);
  CHECK(output_of("d").size() == 20);
}

TEST_CASE_FIXTURE(fixture, "all of a prefix can go") {
  for (auto* x : {"a", "ba", "bb"})
    keep(x, "1");
  kept.erase_all("b");
  CHECK(kept.size() == 1);
  CHECK(kept.memory() == 1);
}

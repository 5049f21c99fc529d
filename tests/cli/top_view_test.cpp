#include "apps/cli/top_view.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace corral;
using namespace corral::cli;
using namespace std::chrono_literals;

namespace {

fields counted(int64_t n) {
  return fields{}.set("count", n);
}

fields stats(int64_t execs, int64_t reads, int64_t writes) {
  fields pool, latency;
  pool.set("sandboxes", 3).set("active", 1).set("warm", 2).set("replicas", 64);
  pool.set("max_sandboxes", 256).set("leases", 5);
  latency.set("exec", counted(execs)).set("read_file", counted(reads));
  latency.set("write_file", counted(writes)).set("acquire", counted(7));
  fields x;
  x.set("clients", 4).set("open", 1).set("latency", latency);
  return x.set("errors", fields{}.set("busy", 1)).set("pools", std::vector<fields>{pool});
}

fields sandbox(const char* id, const char* thread, const char* state, int64_t execs,
               int64_t active = 0) {
  fields usage;
  usage.set("execs", execs).set("active", active).set("running", active > 0);
  usage.set("idle_ms", 125'000);
  fields x;
  x.set("sandbox", id).set("user", "default").set("thread", thread).set("state", state);
  return x.set("leases", 0).set("queue", 2).set("usage", usage);
}

top_sample sample(std::chrono::seconds at, const fields& counters, std::vector<fields> rows) {
  return top_sample::of(top_sample::time_point{} + at, counters, std::move(rows));
}

} // namespace

TEST_CASE("rates are what was counted between two looks, per second") {
  auto before = sample(10s, stats(100, 10, 10), {sandbox("aa", "t", "parked", 50)});
  auto now = sample(14s, stats(120, 20, 20), {sandbox("aa", "t", "parked", 58)});
  auto x = top_view{before, now}.json();
  auto rates = *x.object("per_second");
  CHECK(rates.number("execs") == 5);
  CHECK(rates.number("files") == 5);
  CHECK(rates.number("acquires") == 0);
  CHECK(top_view{before, now}.text(0, 0).find("  2.0  ") != std::string::npos);
}

TEST_CASE("a counter that fell and a first look have no rate") {
  auto before = sample(0s, stats(100, 0, 0), {});
  auto after_restart = sample(1s, stats(3, 0, 0), {});
  CHECK(top_view{before, after_restart}.json().object("per_second")->number("execs") == 0);
  CHECK(top_view{before, before}.json().object("per_second")->number("execs") == 0);
}

TEST_CASE("sandboxes in use come first, and one that runs isn't idle") {
  auto now = sample(0s, stats(0, 0, 0),
                    {sandbox("aa", "a", "parked", 1), sandbox("bb", "b", "leased", 2, 1)});
  auto text = top_view{now, now}.text(0, 0);
  CHECK(text.find("3 sandboxes: 1 in use, 2 warm; replicas 64, at most 256.") == 0);
  auto b = text.find("bb  default  b"), a = text.find("aa  default  a");
  REQUIRE(b != std::string::npos);
  CHECK(b < a);
  CHECK(text.find("0.0      -\n") != std::string::npos);
  CHECK(text.find("0.0      2m5s\n") != std::string::npos);
}

TEST_CASE("a table fits the screen") {
  auto now = sample(0s, stats(0, 0, 0),
                    {sandbox("aa", "a", "parked", 1), sandbox("bb", "b", "parked", 2)});
  auto text = top_view{now, now}.text(4, 20);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  for (size_t start = 0, end; start < text.size(); start = end + 1) {
    end = text.find('\n', start);
    CHECK(end - start <= 20);
  }
}

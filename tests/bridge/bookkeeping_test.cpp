#include "bridge/latency.hpp"
#include "bridge/open_requests.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace corral;
using namespace std::chrono_literals;

namespace {

using requests = open_requests<int>;
using admission = requests::admission;

requests::entry entry(std::string client, std::string id, size_t bytes = 0) {
  return {std::move(client), std::move(id), bytes, 0};
}

} // namespace

TEST_CASE("an open request is found by its ticket and by its client's name for it") {
  requests open{{}};
  auto [verdict, ticket] = open.add({"ann", "1", 5, 42});
  REQUIRE(verdict == admission::ok);
  CHECK(ticket != 0);
  CHECK(open.find(ticket)->context == 42);
  CHECK(open.find("ann", "1") == ticket);
  CHECK(open.find("bob", "1") == 0);
  CHECK(open.find(ticket + 1) == nullptr);
  CHECK(open.has("ann"));
  CHECK_FALSE(open.has("bob"));
}

TEST_CASE("an id is used once at a time by one client, and by another client as it likes") {
  requests open{{}};
  auto first = open.add(entry("ann", "1")).second;
  CHECK(open.add(entry("ann", "1")).first == admission::duplicate);
  CHECK(open.add(entry("bob", "1")).first == admission::ok);
  open.take(first);
  CHECK(open.add(entry("ann", "1")).first == admission::ok);
}

TEST_CASE("client and id are not told apart by how they are joined") {
  requests open{{}};
  CHECK(open.add(entry("a", "bc")).first == admission::ok);
  CHECK(open.add(entry("ab", "c")).first == admission::ok);
}

TEST_CASE("a request is taken once") {
  requests open{{}};
  auto ticket = open.add(entry("ann", "1")).second;
  CHECK(open.take(ticket)->id == "1");
  CHECK_FALSE(open.take(ticket));
  CHECK_FALSE(open.has("ann"));
  CHECK(open.size() == 0);
}

TEST_CASE("neither the number of requests nor a client's bytes exceed their limits") {
  requests open{{.requests = 3, .bytes_per_client = 100}};
  auto a = open.add(entry("ann", "1", 60)).second;
  CHECK(open.add(entry("ann", "2", 41)).first == admission::client_full);
  CHECK(open.add(entry("ann", "3", 40)).first == admission::ok);
  CHECK(open.add(entry("bob", "1", 100)).first == admission::ok);
  CHECK(open.add(entry("cat", "1")).first == admission::full);
  open.take(a);
  CHECK(open.add(entry("ann", "4", 60)).first == admission::ok);
}

TEST_CASE("a request larger than the limit is taken if it is the client's only one") {
  requests open{{.requests = 9, .bytes_per_client = 100}};
  CHECK(open.add(entry("ann", "1", 500)).first == admission::ok);
  CHECK(open.add(entry("ann", "2", 0)).first == admission::client_full);
}

TEST_CASE("a refused request leaves nothing behind") {
  requests open{{.requests = 1, .bytes_per_client = 100}};
  auto a = open.add(entry("ann", "1")).second;
  open.add(entry("bob", "1"));
  CHECK_FALSE(open.has("bob"));
  CHECK(open.find("bob", "1") == 0);
  open.take(a);
  CHECK(open.add(entry("bob", "1")).first == admission::ok);
}

TEST_CASE("tickets are listed in order, by what they are for") {
  requests open{{}};
  for (int i = 0; i < 10; ++i)
    open.add({"ann", std::to_string(i), 0, i % 2});
  auto odd = open.tickets_if([](auto& e) { return e.context == 1; });
  CHECK(odd.size() == 5);
  CHECK(std::is_sorted(odd.begin(), odd.end()));
}

TEST_CASE("a percentile is at most a quarter too high and never too low") {
  latency_histogram h;
  std::mt19937_64 rng{7};
  std::vector<double> us;
  for (int i = 0; i < 10'000; ++i) {
    auto ns = 1000 + rng() % (uint64_t{1} << (10 + rng() % 30));
    us.push_back(static_cast<double>(ns) / 1000);
    h.record(std::chrono::nanoseconds{ns});
  }
  std::sort(us.begin(), us.end());
  for (auto share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    auto exact = us[static_cast<size_t>(share * 10'000) - 1];
    CHECK(h.percentile_us(share) >= exact * 0.999);
    CHECK(h.percentile_us(share) <= exact * 1.251);
  }
  CHECK(h.count() == 10'000);
}

TEST_CASE("a histogram takes any duration") {
  latency_histogram h;
  CHECK(h.percentile_us(0.5) == 0);
  h.record(-5ns);
  h.record(0ns);
  CHECK(h.percentile_us(1) == 1);
  h.record(std::chrono::nanoseconds::max());
  CHECK(h.percentile_us(1) > 1e9);
  CHECK(h.count() == 3);
}

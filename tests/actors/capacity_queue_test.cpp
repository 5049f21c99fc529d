#include "actors/capacity_queue.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

using namespace corral;
using namespace std::chrono_literals;

namespace {

struct fixture {
  capacity_queue queue;

  void add(const std::string& id) { queue.add(id.substr(0, 1), id); } // The client is the letter.
  std::string take() {
    return queue.take([](auto&) { return true; }).value_or("-");
  }
  std::string take_all() {
    std::string all;
    for (auto x = take(); x != "-"; x = take())
      all += x + " ";
    return all;
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "clients take turns, and each one's own are in order") {
  for (auto* x : {"a1", "a2", "a3", "b1", "c1", "b2"})
    add(x);
  CHECK(queue.size() == 6);
  CHECK(take_all() == "a1 b1 c1 a2 b2 a3 ");
  CHECK(queue.empty());
}

TEST_CASE_FIXTURE(fixture, "who comes late is behind one turn of each, not behind all") {
  for (auto* x : {"a1", "a2", "a3"})
    add(x);
  CHECK(take() == "a1");
  add("b1");
  CHECK(take_all() == "a2 b1 a3 ");
}

TEST_CASE_FIXTURE(fixture, "who can't go holds nobody up and keeps its turn") {
  for (auto* x : {"a1", "a2", "b1", "c1"})
    add(x);
  auto not_a1 = [](const std::string& id) { return id != "a1"; };
  CHECK(queue.take(not_a1) == "a2");
  CHECK(queue.take(not_a1) == "b1");
  CHECK(take_all() == "c1 a1 ");
  add("a1");
  CHECK_FALSE(queue.take(not_a1));
  CHECK(queue.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "a turn that came to nothing is the next one again") {
  for (auto* x : {"a1", "a2", "b1"})
    add(x);
  CHECK(take() == "a1");
  queue.put_back("a", "a1");
  CHECK(take_all() == "a1 b1 a2 ");
  queue.put_back("a", "a1");
  CHECK(take_all() == "a1 ");
}

TEST_CASE_FIXTURE(fixture, "who leaves is out of it") {
  for (auto* x : {"a1", "a2", "b1"})
    add(x);
  queue.erase("a1");
  queue.erase("unknown");
  CHECK(take_all() == "a2 b1 ");
}

TEST_CASE_FIXTURE(fixture, "a position is the number of turns before its own") {
  std::mt19937 random{7};
  for (int round = 0; round < 50; ++round) {
    std::map<std::string, size_t> expected;
    for (int i = 0; i < 12; ++i)
      add(std::string(1, static_cast<char>('a' + random() % 4)) + std::to_string(i));
    for (int i = 0; i < 12; ++i)
      for (char c : {'a', 'b', 'c', 'd'})
        if (auto at = queue.position(c + std::to_string(i)))
          expected[c + std::to_string(i)] = *at;
    CHECK(expected.size() == 12);
    size_t turn = 0;
    for (auto x = take(); x != "-"; x = take())
      CHECK(expected[x] == turn++);
  }
  CHECK_FALSE(queue.position("a1"));
}

TEST_CASE_FIXTURE(fixture, "the estimate follows how often there was room") {
  capacity_queue::time_point now{};
  CHECK(queue.estimate(0) == 1s);
  CHECK(queue.estimate(4) == 5s);
  for (int i = 0; i < 20; ++i)
    queue.freed(now += 200ms);
  CHECK(queue.estimate(0) == 200ms);
  CHECK(queue.estimate(9) == 2s);
  CHECK(queue.estimate(1'000'000'000) == 60s);
  for (int i = 0; i < 50; ++i)
    queue.freed(now += 1ms);
  CHECK(queue.estimate(0) == 100ms);
}

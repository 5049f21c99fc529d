#include "guest/files/keyed_queue.hpp"

#include <doctest/doctest.h>

#include <string>

using corral::guest::keyed_queue;

namespace {

struct fixture {
  keyed_queue queue;
  std::string ran;

  void push(const std::string& key, char name) {
    queue.push({key, [this, name] { ran += name; }});
  }

  /// Runs the next one without giving its key back.
  bool start() {
    auto x = queue.take();
    if (x)
      x->task();
    return x.has_value();
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "tasks without a key start in their order and wait for nobody") {
  push("", 'a');
  push("", 'b');
  CHECK(start());
  CHECK(start());
  CHECK_FALSE(start());
  CHECK(ran == "ab");
}

TEST_CASE_FIXTURE(fixture, "tasks of one key follow one another in the order they came") {
  push("k", 'a');
  push("k", 'b');
  push("k", 'c');
  CHECK(start());
  CHECK_FALSE(start());
  CHECK_FALSE(queue.has_ready());
  queue.finish("k");
  CHECK(start());
  CHECK_FALSE(start());
  queue.finish("k");
  CHECK(start());
  CHECK(ran == "abc");
}

TEST_CASE_FIXTURE(fixture, "a task that waits for its key holds nothing else up") {
  push("k", 'a');
  push("k", 'b');
  push("l", 'c');
  push("", 'd');
  CHECK(start());
  CHECK(queue.ready() == 2);
  CHECK(start());
  CHECK(start());
  CHECK_FALSE(start());
  CHECK(ran == "acd");
  CHECK_FALSE(queue.empty());
}

TEST_CASE_FIXTURE(fixture, "the last one pushed can be taken back") {
  push("k", 'a');
  push("k", 'b');
  queue.pop_last();
  CHECK(start());
  queue.finish("k");
  CHECK_FALSE(start());
  CHECK(queue.empty());
}

#include "tests/support/fake_pool.hpp"

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

struct fixture : fake_pool {
  fixture() {
    settings.replicas = 3;
    settings.max_sandboxes = 5;
    settings.idle_timeout = 10min;
  }
  later_ptr<caf::ok_atom> drain(duration limit) {
    return ask<caf::ok_atom>(pool, drain_atom::value, limit);
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "what an earlier run left is warm once its guest has dialled") {
  leave_behind("t1");
  start();
  CHECK(state_name("t1") == "parked");
  CHECK(events == std::vector<std::string>{"adopted t1"});
  auto g = acquire("t1");
  CHECK(g->value().origin == "warm");
  CHECK(g->value().session == 7);
  CHECK(backend.created.empty());
}

TEST_CASE_FIXTURE(fixture, "who comes before the guest has dialled waits for it") {
  leave_behind("t1");
  guests_answer = false;
  start();
  auto g = acquire("t1");
  CHECK_FALSE(g->answered());
  hello(id_of("t1"));
  settle();
  CHECK(g->value().origin == "discovered");
}

TEST_CASE_FIXTURE(fixture, "an adopted sandbox's idle clock starts with its adoption") {
  leave_behind("t1");
  start();
  run_for(10min - 1s);
  reap();
  CHECK(exists("t1"));
  run_for(1s);
  reap();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "adopted sandboxes count against the pool's limits") {
  for (auto* t : {"t1", "t2", "t3"})
    leave_behind(t);
  start();
  acquire("t4");
  CHECK(told("evicted t1") == 1);
  CHECK(exists("t4"));
}

TEST_CASE_FIXTURE(fixture, "a guest that never dials is given up, and who waits gets a fresh one") {
  leave_behind("t1");
  guests_answer = false;
  start();
  auto g = acquire("t1");
  guests_answer = true;
  run_for(settings.found_limit);
  CHECK(backend.destroyed == std::vector{id_of("t1")});
  CHECK(g->value().origin == "created");
}

TEST_CASE_FIXTURE(fixture,
                  "one that ends before its guest has dialled gives way to a fresh one too") {
  leave_behind("t1");
  guests_answer = false;
  start();
  auto g = acquire("t1");
  guests_answer = true;
  box("t1").die();
  settle();
  CHECK(g->value().origin == "created");
}

TEST_CASE_FIXTURE(fixture, "one made with other settings is made anew for whoever waits for it") {
  leave_behind("t1", true);
  guests_answer = false;
  start();
  auto g = acquire("t1");
  guests_answer = true;
  hello(id_of("t1"));
  settle();
  CHECK(g->value().origin == "created");
  CHECK(state("t1").flag("stale") == false);
}

TEST_CASE_FIXTURE(fixture,
                  "one made with other settings that works is lent to whoever waits for it") {
  leave_behind("t1", true);
  guests_answer = false;
  start();
  box("t1").in_use = true;
  auto g = acquire("t1");
  hello(id_of("t1"));
  settle();
  CHECK(g->succeeded());
  CHECK(state("t1").flag("stale") == true);
  box("t1").in_use = false;
  reap();
  CHECK(exists("t1")); // It is leased.
  release("t1");
  settle();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "one made with other settings goes at once if nothing uses it") {
  leave_behind("t1", true);
  start();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "one made with other settings that works is finished first") {
  leave_behind("t1", true);
  guests_answer = false;
  start();
  box("t1").in_use = true;
  hello(id_of("t1"));
  settle();
  CHECK(exists("t1"));
  auto g = acquire("t1"); // Works still: the caller gets it.
  CHECK(g->value().origin == "warm");
  release("t1");
  box("t1").in_use = false;
  reap();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "a drain that keeps leaves what is idle at once and the rest in time") {
  settings.keep_on_drain = true;
  start();
  acquire("idle");
  park("warm");
  acquire("busy");
  box("busy").in_use = true;
  auto d = drain(30s);
  CHECK(box("idle").left);
  CHECK(box("warm").left);
  CHECK_FALSE(box("busy").left);
  CHECK_FALSE(d->answered());
  run_for(30s);
  CHECK(box("busy").left);
  CHECK(d->succeeded());
  for (auto* t : {"idle", "warm", "busy"}) {
    CHECK(exists(t));
    CHECK(told(std::string{"left "} + t) == 1);
    CHECK_FALSE(box(t).killed);
  }
}

TEST_CASE_FIXTURE(fixture, "a drain that keeps destroys what nobody could find again") {
  settings.keep_on_drain = true;
  start();
  auto g = ask<grant>(pool, acquire_atom::value, acquire_order{{"default", ""}, "ann", true});
  auto id = g->value().id;
  guests_answer = false;
  acquire("starts");
  auto d = drain(1s);
  run_for(1s);
  CHECK(backend.existing.empty());
  CHECK(d->succeeded());
}

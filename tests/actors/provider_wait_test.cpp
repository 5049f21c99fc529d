#include "tests/support/fake_pool.hpp"

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

struct fixture : fake_pool {
  fixture() {
    settings.replicas = 2;
    settings.max_sandboxes = 4;
    settings.overflow = when_full::wait;
    settings.wait_timeout = 60s;
  }
  later_ptr<grant> wait_for(const std::string& thread, const std::string& client, duration limit) {
    auto x = order(thread, client);
    x.wait = limit;
    return ask<grant>(pool, acquire_atom::value, x);
  }
};

/// Two sandboxes that ann holds.
struct full : fixture {
  full() {
    start();
    acquire("t1");
    acquire("t2");
  }
};

struct per_user : fake_pool {
  per_user() {
    settings.replicas = 5;
    settings.max_sandboxes = 8;
    settings.max_per_user = 2;
  }
  static owner of_eve(const std::string& thread) { return {"eve", thread}; }
  void park_of_eve(const std::string& thread) {
    auto g = acquire_for(of_eve(thread));
    ask<fields_ptr>(pool, release_atom::value, client_key{"ann"}, g->value().id, std::string{});
    settle();
  }
};

} // namespace

TEST_CASE_FIXTURE(full, "who finds no room waits until a sandbox is released and takes its place") {
  auto g = acquire("t3", "bob");
  CHECK_FALSE(g->answered());
  CHECK(state_name("t3") == "starting");
  CHECK(stats().integer("waiting") == 1);
  release("t1");
  settle();
  CHECK(g->value().origin == "created");
  CHECK(told("evicted t1") == 1);
  CHECK(stats().integer("waiting") == 0);
}

TEST_CASE_FIXTURE(full, "who waits goes on when a sandbox ends in whatever way") {
  auto g = acquire("t3", "bob");
  box("t1").die();
  settle();
  CHECK(g->succeeded());
  auto h = acquire("t4", "bob");
  destroy("t2");
  settle();
  CHECK(h->succeeded());
}

TEST_CASE_FIXTURE(full, "each client has its turn, however many another wants") {
  std::vector<later_ptr<grant>> many;
  for (auto* t : {"b1", "b2", "b3"})
    many.push_back(acquire(t, "bob"));
  auto one = acquire("c1", "cat");
  release("t1");
  settle();
  CHECK(many[0]->succeeded());
  release("t2");
  settle();
  CHECK(one->succeeded());
  CHECK_FALSE(many[1]->answered());
  release("b1", "bob");
  settle();
  CHECK(many[1]->succeeded());
}

TEST_CASE_FIXTURE(full, "a wait ends in time, says where it stood and leaves nothing behind") {
  wait_for("t3", "bob", 10s);
  auto g = wait_for("t4", "cat", 5s);
  run_for(5s - 1ns);
  CHECK_FALSE(g->answered());
  run_for(1ns);
  CHECK(g->code() == errc::capacity_exceeded);
  auto& d = g->failed().details;
  CHECK(d.integer("position") == 1);
  CHECK(d.integer("active") == 2);
  CHECK(d.integer("retry_after_ms").value_or(0) >= 100);
  CHECK(state_name("t4") == "none");
  CHECK(rows() == 3);
}

TEST_CASE_FIXTURE(full, "an order that doesn't say waits as long as the pool lets it") {
  auto g = acquire("t3");
  run_for(60s);
  CHECK(g->code() == errc::capacity_exceeded);
}

TEST_CASE_FIXTURE(full, "one who gives up does not end the wait of others for the same thread") {
  auto brief = wait_for("t3", "bob", 1s);
  auto patient = wait_for("t3", "cat", 1h);
  run_for(1s);
  CHECK(brief->code() == errc::capacity_exceeded);
  release("t1");
  settle();
  CHECK(patient->succeeded());
}

TEST_CASE_FIXTURE(full, "a client that goes takes its turn along") {
  auto g = acquire("t3", "bob");
  gone("bob");
  settle();
  CHECK(g->code() == errc::invalid_request);
  CHECK(stats().integer("waiting") == 0);
  release("t1");
  settle();
  CHECK(exists("t1"));
  CHECK_FALSE(exists("t3"));
}

TEST_CASE_FIXTURE(fixture, "what is warm but works is asked again until it is idle") {
  start();
  park("t1");
  park("t2");
  box("t1").in_use = box("t2").in_use = true;
  auto g = acquire("t3", "bob");
  run_for(5s);
  CHECK_FALSE(g->answered());
  box("t2").in_use = false;
  run_for(1s);
  CHECK(g->succeeded());
  CHECK(told("evicted t2") == 1);
}

TEST_CASE_FIXTURE(full, "a drain answers those who wait") {
  auto g = acquire("t3", "bob");
  ask<caf::ok_atom>(pool, drain_atom::value, duration{0s});
  run_for(1s);
  CHECK(g->code() == errc::shutting_down);
  CHECK(rows() == 0);
}

TEST_CASE_FIXTURE(fixture, "a refusal without a queue says when to try again, too") {
  settings.overflow = when_full::reject;
  start();
  acquire("t1");
  acquire("t2");
  auto g = acquire("t3");
  CHECK(g->code() == errc::capacity_exceeded);
  CHECK(g->failed().details.integer("retry_after_ms").has_value());
  CHECK(g->failed().details.integer("position") == 0);
}

TEST_CASE_FIXTURE(per_user,
                  "a user with too many sandboxes loses its own warm one, not another's") {
  start();
  park("t1"); // User default's, used before.
  park_of_eve("e1");
  acquire_for(of_eve("e2"));
  CHECK(acquire_for(of_eve("e3"))->succeeded());
  CHECK(told("evicted e1") == 1);
  CHECK(exists("t1"));
}

TEST_CASE_FIXTURE(per_user, "a user whose sandboxes are all in use is refused, others are not") {
  start();
  acquire_for(of_eve("e1"));
  acquire_for(of_eve("e2"));
  auto g = acquire_for(of_eve("e3"));
  CHECK(g->code() == errc::capacity_exceeded);
  CHECK(g->failed().details.integer("max_per_user") == 2);
  CHECK(acquire_for({"bob", "b1"})->succeeded());
  for (auto* t : {"t1", "t2", "t3"}) // Nobody in particular.
    CHECK(acquire(t)->succeeded());
}

TEST_CASE_FIXTURE(per_user, "a user that waits for its own does not hold up others") {
  settings.overflow = when_full::wait;
  start();
  acquire_for(of_eve("e1"));
  acquire_for(of_eve("e2"));
  auto eve = acquire_for(of_eve("e3"));
  CHECK_FALSE(eve->answered());
  CHECK(acquire_for({"bob", "b1"})->succeeded());
  ask<fields_ptr>(pool, release_atom::value, client_key{"ann"}, sandbox_id_of(of_eve("e1")),
                  std::string{});
  settle();
  CHECK(eve->succeeded());
}

TEST_CASE_FIXTURE(fake_pool, "a reap that comes late finds nothing idle for the time it was late") {
  settings.idle_timeout = 10min;
  settings.reap_interval = 1min;
  start();
  park("t1");
  reap();
  stand_still(1h);
  reap();
  CHECK(exists("t1"));
  for (int i = 0; i < 9; ++i) { // A minute of its ten had passed before.
    CHECK(exists("t1"));
    run_for(1min);
    reap();
  }
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fake_pool, "a reap that is late by less is an ordinary one") {
  settings.idle_timeout = 10min;
  settings.reap_interval = 4min;
  start();
  park("t1");
  reap();
  stand_still(11min);
  reap();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fake_pool, "a late reap tells the sandboxes, whose word counts") {
  settings.idle_timeout = 8s;
  settings.reap_interval = 1s;
  start();
  park("t1");
  reap();
  run_for(1s);
  use("t1"); // By the short way, of which the provider knows nothing.
  reap();
  stand_still(15s);
  reap();
  for (int i = 0; i < 7; ++i) {
    CHECK(exists("t1"));
    run_for(1s);
    reap();
  }
  run_for(2s);
  reap();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture,
                  "a sandbox that becomes ready and is nobody's makes room for who waits") {
  settings.replicas = 1;
  start();
  guests_answer = false;
  auto borrowed = ask<grant>(pool, acquire_atom::value, order("b1", "", false));
  auto waits = acquire("t1", "bob");
  run_for(1s); // The retry finds it starting.
  guests_answer = true;
  hello(id_of("b1"));
  settle();
  CHECK(borrowed->succeeded());
  run_for(1s);
  CHECK(waits->succeeded());
}

TEST_CASE_FIXTURE(full, "a sandbox that is wanted again while it is destroyed waits for its turn") {
  auto waits = acquire("b1", "bob");
  backend.hold = true;
  destroy("t1", true);
  auto again = acquire("t1", "ann");
  backend.go();
  settle();
  backend.go();
  settle();
  CHECK(waits->succeeded());
  CHECK_FALSE(again->answered());
}

TEST_CASE_FIXTURE(full, "those who borrow take turns by their clients too") {
  auto borrow = [&](const std::string& thread, const std::string& turn) {
    auto x = order(thread, "", false);
    x.turn = turn;
    return ask<grant>(pool, acquire_atom::value, x);
  };
  auto first = borrow("b1", "bob"), second = borrow("b2", "bob"), other = borrow("c1", "cat");
  release("t1");
  run_for(50ms);
  CHECK(first->succeeded());
  box("b1").in_use = true;
  release("t2");
  run_for(1s);
  CHECK(other->succeeded());
  CHECK(second->succeeded());
  auto made = backend.created;
  CHECK(std::vector(made.end() - 3, made.end())
        == std::vector{id_of("b1"), id_of("c1"), id_of("b2")});
}

TEST_CASE_FIXTURE(fake_pool, "what another daemon has is refused and not touched") {
  start();
  backend.refuse = errc::moved;
  CHECK(acquire("t1")->code() == errc::moved);
  CHECK(backend.destroyed.empty());
  CHECK(state_name("t1") == "none");
}

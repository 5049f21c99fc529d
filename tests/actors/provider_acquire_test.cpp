#include "tests/support/fake_pool.hpp"

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

struct fixture : fake_pool {
  fixture() {
    settings.replicas = 3;
    settings.max_sandboxes = 5;
    settings.crew.workers = 2;
    start();
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a thread's first acquire creates its sandbox") {
  auto g = acquire("t1");
  CHECK(g->value().id == id_of("t1"));
  CHECK(g->value().origin == "created");
  CHECK(g->value().session == 7);
  CHECK(g->value().who == owner{"default", "t1"});
  CHECK(g->value().sandbox == box("t1").actor);
  CHECK_FALSE(g->value().lease.empty());
  CHECK(exists("t1"));
  CHECK(state_name("t1") == "leased");
  CHECK(events == std::vector<std::string>{"created t1", "acquired t1"});
}

TEST_CASE_FIXTURE(fixture, "a leased sandbox is handed out as it is, with a lease of its own") {
  auto first = acquire("t1");
  auto second = acquire("t1");
  CHECK(second->value().origin == "active");
  CHECK(second->value().sandbox == first->value().sandbox);
  CHECK(second->value().lease != first->value().lease);
  CHECK(box("t1").pings == 0);
  CHECK(state("t1").integer("leases") == 2);
}

TEST_CASE_FIXTURE(fixture, "a warm sandbox is handed out once it has answered a ping") {
  park("t1");
  box("t1").hold = true;
  auto g = acquire("t1", "bob");
  CHECK_FALSE(g->answered());
  CHECK(box("t1").pings == 1);
  box("t1").go();
  settle();
  CHECK(g->value().origin == "warm");
  CHECK(backend.created.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "a warm sandbox that does not answer gives way to a fresh one") {
  park("t1");
  auto& old = box("t1");
  old.answers_pings = false;
  auto g = acquire("t1");
  CHECK(g->value().origin == "created");
  CHECK(g->value().sandbox != old.actor);
  CHECK(old.killed);
  CHECK(backend.destroyed.size() == 1);
  CHECK(backend.existing.size() == 1);
  CHECK(told("lost t1") == 1);
}

TEST_CASE_FIXTURE(fixture, "what an earlier run left is discovered") {
  backend.left.insert(id_of("t1"));
  CHECK(acquire("t1")->value().origin == "discovered");
}

TEST_CASE_FIXTURE(fixture, "a sandbox that another owner left is not handed out and not harmed") {
  backend.left.insert(id_of("t1"));
  backend.left_by = owner{"eve", "t1"};
  CHECK(acquire("t1")->code() == errc::identity_collision);
  CHECK(backend.destroyed.empty());
  CHECK(sandboxes.empty());
  CHECK(rows() == 0);
}

TEST_CASE_FIXTURE(fixture, "two owners whose ids are the same never share a sandbox") {
  // Names can't hold a colon, so no client reaches this; ids could still collide.
  owner one{"default", "u:t"}, other{"u", "t"};
  REQUIRE(sandbox_id_of(one) == sandbox_id_of(other));
  acquire_for(one)->value();
  CHECK(acquire_for(other)->code() == errc::identity_collision);
  CHECK(acquire_for(one)->value().origin == "active");
}

TEST_CASE_FIXTURE(fixture, "concurrent acquires of one owner share one attempt and its success") {
  backend.hold = true;
  auto a = acquire("t1", "ann"), b = acquire("t1", "bob"), c = acquire("t1", "cat", false);
  backend.go();
  settle();
  CHECK(backend.created.size() == 1);
  CHECK(a->value().sandbox == b->value().sandbox);
  CHECK(c->value().lease.empty());
  CHECK(state("t1").integer("leases") == 2);
}

TEST_CASE_FIXTURE(fixture, "concurrent acquires share a failure, and it leaves nothing behind") {
  backend.hold = true;
  backend.failing_creates = 1;
  auto a = acquire("t1", "ann"), b = acquire("t1", "bob");
  backend.go();
  settle();
  for (auto& x : {a, b}) {
    CHECK(x->failed().code == errc::sandbox_runtime);
    CHECK(x->failed().details.text("step") == "mount");
  }
  backend.go();
  settle();
  CHECK(rows() == 0);
  CHECK(backend.existing.empty());
  CHECK(find(id_of("t1"))->code() == errc::sandbox_not_found); // It never was.
  backend.hold = false;
  CHECK(acquire("t1")->value().origin == "created");
}

TEST_CASE_FIXTURE(fixture, "acquires of different owners do not wait for each other") {
  backend.hold = true;
  auto a = acquire("t1"), b = acquire("t2");
  backend.go_last();
  settle();
  CHECK_FALSE(a->answered());
  CHECK(b->value().id == id_of("t2"));
}

TEST_CASE_FIXTURE(fixture, "more attempts than workers wait for their turn") {
  backend.hold = true;
  auto a = acquire("t1"), b = acquire("t2"), c = acquire("t3");
  CHECK(stats().integer("backend_queue") == 1);
  backend.go();
  settle();
  CHECK_FALSE(c->answered());
  backend.go();
  settle();
  CHECK(c->value().id == id_of("t3"));
}

TEST_CASE_FIXTURE(fixture, "a worker that hangs is replaced, and its order fails in time") {
  backend.hang = true;
  auto a = acquire("t1");
  auto before = backend.workers;
  run_for(60s - 1ns);
  CHECK_FALSE(a->answered());
  backend.hang = false;
  run_for(1ns);
  CHECK(a->failed().code == errc::sandbox_runtime);
  CHECK(a->failed().details.text("step") == "create");
  CHECK(backend.workers == before + 1);
  CHECK(backend.destroyed == std::vector{id_of("t1")}); // Whatever it may still bring up.
  CHECK(acquire("t2")->succeeded());
  CHECK(acquire("t3")->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a guest that never says hello fails the attempt in time") {
  guests_answer = false;
  auto a = acquire("t1");
  run_for(60s - 1ns);
  CHECK_FALSE(a->answered());
  run_for(1ns);
  CHECK(a->failed().code == errc::sandbox_runtime);
  CHECK(a->failed().details.text("step") == "connect");
  CHECK(box("t1").killed);
  CHECK(backend.existing.empty());
  CHECK(rows() == 0);
}

TEST_CASE_FIXTURE(fixture, "a guest that dies before its hello fails the attempt at once") {
  guests_answer = false;
  auto a = acquire("t1");
  box("t1").die();
  settle();
  CHECK(a->failed().details.text("step") == "connect");
  CHECK(backend.existing.empty());
}

TEST_CASE_FIXTURE(fixture, "a late hello of a failed attempt does not stand for the next one's") {
  guests_answer = false;
  auto a = acquire("t1");
  run_for(60s);
  REQUIRE(a->answered());
  backend.hold = true;
  auto b = acquire("t1");
  hello(id_of("t1"));
  settle();
  CHECK_FALSE(b->answered());
  backend.hold = false;
  backend.go();
  settle();
  hello(id_of("t1"));
  settle();
  CHECK(b->value().sandbox == box("t1").actor);
}

TEST_CASE_FIXTURE(fixture, "a waiter that is gone gets no lease") {
  backend.hold = true;
  auto a = acquire("t1", "ann"), b = acquire("t1", "bob");
  gone("ann");
  CHECK_FALSE(a->succeeded());
  CHECK(a->answers() == 1);
  backend.go();
  settle();
  CHECK(b->succeeded());
  CHECK(state("t1").integer("leases") == 1);
}

TEST_CASE_FIXTURE(fixture, "a sandbox whose every waiter is gone is parked") {
  backend.hold = true;
  acquire("t1", "ann");
  gone("ann");
  backend.hold = false;
  backend.go();
  settle();
  CHECK(state_name("t1") == "parked");
}

TEST_CASE_FIXTURE(fixture, "an anonymous sandbox whose client is gone is destroyed, not parked") {
  backend.hold = true;
  auto a = acquire_for({"default", ""});
  gone("ann");
  backend.hold = false;
  backend.go();
  settle();
  CHECK(rows() == 0);
  CHECK(backend.existing.empty());
}

TEST_CASE_FIXTURE(fixture, "an anonymous acquire gets a sandbox of its own, gone with its data") {
  auto a = acquire_for({"default", ""});
  auto b = acquire_for({"default", ""});
  CHECK(a->value().id != b->value().id);
  ask<fields_ptr>(pool, release_atom::value, client_key{"ann"}, a->value().id, std::string{});
  CHECK(backend.destroyed == std::vector{a->value().id});
  CHECK(backend.purged == std::vector{a->value().id});
}

TEST_CASE_FIXTURE(fixture,
                  "an anonymous sandbox at work when released is destroyed once it is done") {
  auto a = acquire_for({"default", ""})->value();
  auto& x = *sandboxes[a.id].back();
  x.in_use = true;
  ask<fields_ptr>(pool, release_atom::value, client_key{"ann"}, a.id, a.lease);
  reap();
  CHECK(backend.destroyed.empty());
  x.in_use = false;
  reap();
  CHECK(backend.destroyed == std::vector{a.id});
}

TEST_CASE_FIXTURE(fixture, "a client without heartbeats borrows: no lease, and it is parked") {
  auto g = acquire("t1", "ann", false);
  CHECK(g->value().lease.empty());
  CHECK(state_name("t1") == "parked");
  box("t1").in_use = true;
  CHECK(state_name("t1") == "borrowed");
}

TEST_CASE_FIXTURE(fixture, "a release drops one lease; the last one parks the sandbox") {
  auto a = acquire("t1", "ann")->value(), b = acquire("t1", "bob")->value();
  auto first = release("t1", "ann", a.lease);
  CHECK(first->value()->integer("remaining") == 1);
  CHECK(first->value()->text("state") == "leased");
  auto last = release("t1", "bob", b.lease);
  CHECK(last->value()->integer("remaining") == 0);
  CHECK(last->value()->text("state") == "parked");
  CHECK(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "a release of what a client does not hold changes nothing") {
  auto a = acquire("t1", "ann")->value();
  CHECK(release("t1", "bob", a.lease)->code() == errc::invalid_request);
  CHECK(release("t1", "bob")->code() == errc::invalid_request);
  CHECK(release("t1", "ann", "none")->code() == errc::invalid_request);
  CHECK(release("t2", "ann")->code() == errc::sandbox_not_found);
  CHECK(state("t1").integer("leases") == 1);
}

TEST_CASE_FIXTURE(fixture, "a client that goes drops its leases and only those") {
  acquire("t1", "ann");
  acquire("t1", "ann");
  acquire("t1", "bob");
  acquire("t2", "ann");
  CHECK(gone("ann")->value()->integer("released") == 3);
  CHECK(state("t1").integer("leases") == 1);
  CHECK(state_name("t2") == "parked");
}

TEST_CASE_FIXTURE(fixture, "at its limit a pool evicts the warm sandbox used least recently") {
  for (auto t : {"t1", "t2", "t3"}) {
    park(t);
    run_for(1s);
  }
  acquire("t4");
  CHECK(backend.destroyed == std::vector{id_of("t1")});
  CHECK(told("evicted t1") == 1);
  CHECK(rows() == 3);
}

TEST_CASE_FIXTURE(fixture, "a warm sandbox used since then is kept, and the next one goes") {
  for (auto t : {"t1", "t2", "t3"}) {
    park(t);
    run_for(1s);
  }
  use("t1"); // By a borrower, past the provider.
  acquire("t4");
  CHECK(backend.destroyed == std::vector{id_of("t2")});
  acquire("t5"); // t1 has moved behind t3.
  CHECK(backend.destroyed == std::vector{id_of("t2"), id_of("t3")});
}

TEST_CASE_FIXTURE(fixture, "a sandbox at work is passed over, and asked once") {
  for (auto t : {"t1", "t2", "t3"})
    park(t);
  box("t1").in_use = true;
  acquire("t4");
  CHECK(backend.destroyed == std::vector{id_of("t2")});
  CHECK(box("t1").retire_asks == 1);
}

TEST_CASE_FIXTURE(fixture, "when nothing can be evicted a pool bursts, up to its hard limit") {
  for (auto t : {"t1", "t2", "t3"})
    acquire(t);
  CHECK(acquire("t4")->succeeded());
  CHECK(acquire("t5")->succeeded());
  CHECK(told("burst t4") == 1);
  auto full = acquire("t6");
  CHECK(full->failed().code == errc::capacity_exceeded);
  CHECK(full->failed().details.integer("active") == 5);
  CHECK(full->failed().details.integer("warm") == 0);
  CHECK(rows() == 5);
  release("t2");
  CHECK(acquire("t6")->succeeded());
  CHECK(told("evicted t2") == 1);
}

TEST_CASE_FIXTURE(fixture, "all busy is the same as nothing warm") {
  for (auto t : {"t1", "t2", "t3"}) {
    park(t);
    box(t).in_use = true;
  }
  CHECK(acquire("t4")->succeeded());
  CHECK(backend.destroyed.empty());
  CHECK(told("burst t4") == 1);
}

TEST_CASE_FIXTURE(fixture, "a pool that rejects says so at its limit, and leaves nothing behind") {
  settings.overflow = when_full::reject;
  start();
  for (auto t : {"t1", "t2", "t3"})
    acquire(t);
  CHECK(acquire("t4")->code() == errc::capacity_exceeded);
  CHECK(rows() == 3);
  CHECK(find(id_of("t4"))->code() == errc::sandbox_not_found);
  CHECK(acquire("t1")->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a victim that dies when asked makes room all the same") {
  for (auto t : {"t1", "t2", "t3"})
    park(t);
  box("t1").hold = true;
  auto g = acquire("t4");
  CHECK_FALSE(g->answered());
  box("t1").die();
  settle();
  CHECK(g->succeeded());
  CHECK(rows() <= 3);
}

TEST_CASE_FIXTURE(fixture,
                  "an acquire of what is being evicted waits, and gets it back if it stays") {
  for (auto t : {"t1", "t2", "t3"})
    park(t);
  auto& x = box("t1");
  x.hold = true;
  auto other = acquire("t4");
  auto mine = acquire("t1");
  CHECK_FALSE(mine->answered());
  SUBCASE("it was used since") {
    x.used_at = now() + 1s;
    x.hold = false;
    x.go();
    settle();
    CHECK(mine->value().origin == "warm");
    CHECK(other->succeeded());
    CHECK_FALSE(x.retired);
  }
  SUBCASE("it retires: a fresh one, once it has ended") {
    backend.hold = true;
    x.hold = false;
    x.go();
    settle();
    CHECK(x.retired);
    CHECK(exists("t1"));
    CHECK_FALSE(mine->answered());
    while (!backend.held.empty()) {
      backend.go();
      settle();
      CHECK(backend.existing.count(id_of("t1")) <= 1);
    }
    CHECK(mine->value().origin == "created");
    CHECK(mine->value().sandbox != x.actor);
  }
}

TEST_CASE_FIXTURE(fixture, "an acquire during teardown gets a fresh sandbox only after it") {
  acquire("t1");
  backend.hold = true;
  destroy("t1");
  auto g = acquire("t1");
  CHECK(state_name("t1") == "ending");
  CHECK_FALSE(g->answered());
  CHECK(backend.created.size() == 1);
  backend.go(); // The destroy.
  settle();
  CHECK(backend.existing.empty());
  backend.go(); // The create.
  settle();
  CHECK(g->value().origin == "created");
}

TEST_CASE_FIXTURE(fixture, "a sandbox is found by its id and by a prefix that fits no other") {
  auto id = acquire("t1")->value().id;
  CHECK(find(id)->value().id == id);
  CHECK(find(id.substr(0, 8))->value().origin == "active");
  CHECK(find(id.substr(0, 7))->code() == errc::invalid_request);
  CHECK(find(id + "0")->code() == errc::sandbox_not_found);
  CHECK(find("0123456789abcdef")->code() == errc::sandbox_not_found);
  release("t1");
  CHECK(find(id)->value().origin == "warm");
}

TEST_CASE_FIXTURE(fixture, "finding a sandbox that starts waits for it, and gives no lease") {
  backend.hold = true;
  auto a = acquire("t1");
  auto f = find(id_of("t1"));
  CHECK_FALSE(f->answered());
  backend.go();
  settle();
  CHECK(f->value().lease.empty());
  CHECK(state("t1").integer("leases") == 1);
}

TEST_CASE_FIXTURE(fixture, "an ended sandbox is lost for an hour and unknown after it") {
  acquire("t1");
  destroy("t1");
  CHECK(find(id_of("t1"))->code() == errc::sandbox_lost);
  CHECK(find(id_of("t1"))->failed().details.flag("started") == false);
  CHECK(state("t1").flag("found") == false);
  run_for(1h - 1ns);
  reap();
  CHECK(find(id_of("t1"))->code() == errc::sandbox_lost);
  run_for(1ns);
  reap();
  CHECK(find(id_of("t1"))->code() == errc::sandbox_not_found);
}

TEST_CASE("a prefix that fits two sandboxes is refused, a whole id is not") {
  sandbox_table table;
  table.add("aaaaaaaa11111111", {"default", "x"}, false);
  table.add("aaaaaaaa22222222", {"default", "y"}, false);
  CHECK(table.resolve("aaaaaaaa").error().code == errc::invalid_request);
  CHECK(table.resolve("aaaaaaaa1").value()->who.thread == "x");
  CHECK(table.resolve("aaaaaaaa22222222").value()->who.thread == "y");
  table.erase("aaaaaaaa11111111", {}, time_point{1s});
  CHECK(table.resolve("aaaaaaaa").value()->who.thread == "y");
  CHECK(table.resolve("aaaaaaaa1").error().code == errc::sandbox_lost);
  table.add("aaaaaaaa11111111", {"default", "x"}, false);
  CHECK(table.resolve("aaaaaaaa1").has_value()); // It is back.
}

TEST_CASE("an ended sandbox takes no room; one that never was is not remembered") {
  sandbox_table table;
  auto& x = table.add("aaaaaaaa11111111", {"default", "x"}, false);
  table.add("bbbbbbbb11111111", {"default", "y"}, false);
  CHECK(table.occupied() == 2);
  x.state = sandbox_slot::phase::ending;
  CHECK(table.occupied() == 1);
  CHECK(table.size() == 2);
  table.forget("bbbbbbbb11111111");
  CHECK(table.resolve("bbbbbbbb").error().code == errc::sandbox_not_found);
}

#include "actors/reaper.hpp"
#include "tests/support/fake_pool.hpp"

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

struct fixture : fake_pool {
  fixture() {
    settings.idle_timeout = 10min;
    settings.lease_idle_timeout = 4h;
    settings.crew.workers = 2;
    start();
  }

  later_ptr<caf::ok_atom> drain(duration limit) {
    return ask<caf::ok_atom>(pool, drain_atom::value, limit);
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a parked sandbox is reaped after its idle time, to the instant") {
  park("t1");
  run_for(10min - 1ns);
  reap();
  CHECK(exists("t1"));
  run_for(1ns);
  reap();
  CHECK_FALSE(exists("t1"));
  CHECK(told("reaped t1") == 1);
}

TEST_CASE_FIXTURE(fixture, "use that the provider never heard of keeps a sandbox alive") {
  park("t1");
  run_for(9min);
  use("t1");
  run_for(9min);
  reap();
  CHECK(exists("t1"));
  run_for(1min);
  reap();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "a leased sandbox has the longer time, and loses its leases with it") {
  acquire("t1");
  run_for(4h - 1ns);
  reap();
  CHECK(exists("t1"));
  run_for(1ns);
  reap();
  CHECK_FALSE(exists("t1"));
  CHECK(stats().integer("leases") == 0);
  CHECK(release("t1")->code() == errc::sandbox_lost);
}

TEST_CASE_FIXTURE(fixture, "a sandbox at work is not reaped, however long it takes") {
  park("t1");
  box("t1").in_use = true;
  run_for(24h);
  reap();
  CHECK(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "an idle time of 0 means never") {
  settings.idle_timeout = settings.lease_idle_timeout = 0s;
  start();
  park("t1");
  acquire("t2");
  run_for(10000h);
  reap();
  CHECK(exists("t1"));
  CHECK(exists("t2"));
}

TEST_CASE_FIXTURE(fixture, "looking at a sandbox does not keep it alive") {
  park("t1");
  for (int i = 0; i < 10; ++i) {
    run_for(1min);
    state("t1");
    rows();
  }
  reap();
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "the reaper ticks, and keeps ticking") {
  spawn(reaper, pool, duration{1min});
  for (auto t : {"t1", "t2"}) {
    park(t);
    run_for(12min);
    CHECK_FALSE(exists(t));
  }
}

TEST_CASE_FIXTURE(fixture, "a lost sandbox leaves the table at once, leases and all") {
  acquire("t1");
  box("t1").die();
  settle();
  CHECK(rows() == 0);
  CHECK(stats().integer("leases") == 0);
  CHECK_FALSE(exists("t1"));
  CHECK(told("lost t1") == 1);
  CHECK(acquire("t1")->value().origin == "created");
}

TEST_CASE_FIXTURE(fixture, "a sandbox lost while it is pinged gives way to a fresh one") {
  park("t1");
  box("t1").hold = true;
  auto g = acquire("t1");
  box("t1").die();
  settle();
  CHECK(g->value().origin == "created");
  CHECK(backend.existing.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "a sandbox lost while it is asked to retire is destroyed once") {
  park("t1");
  run_for(1h);
  box("t1").hold = true;
  reap();
  auto g = acquire("t1");
  box("t1").die();
  settle();
  CHECK(backend.destroyed.size() == 1);
  CHECK(g->value().origin == "created");
}

TEST_CASE_FIXTURE(fixture, "a sandbox that dies while it is being destroyed is destroyed once") {
  acquire("t1");
  backend.hold = true;
  auto d = destroy("t1");
  box("t1").die();
  settle();
  backend.go();
  settle();
  CHECK(d->value()->flag("destroyed") == true);
  CHECK(backend.destroyed.size() == 1);
  CHECK(told("lost t1") == 0);
}

TEST_CASE_FIXTURE(fixture, "destroy ends one's own sandbox and keeps its data") {
  acquire("t1");
  CHECK(destroy("t1")->value()->flag("destroyed") == true);
  CHECK_FALSE(exists("t1"));
  CHECK(box("t1").ended());
  CHECK(backend.purged.empty());
  CHECK(stats().integer("leases") == 0);
  CHECK(destroy("t1")->code() == errc::sandbox_lost);
  CHECK(destroy("t2")->code() == errc::sandbox_not_found);
}

TEST_CASE_FIXTURE(fixture, "destroy with purge takes the data along") {
  acquire("t1");
  SUBCASE("by itself") {
    destroy("t1", false, true);
  }
  SUBCASE("by force") {
    destroy("t1", true, true);
  }
  CHECK(backend.purged == std::vector{id_of("t1")});
}

TEST_CASE_FIXTURE(fixture, "a purge that joins a teardown under way is not forgotten") {
  acquire("t1");
  backend.hold = true;
  auto first = destroy("t1", true, false);
  auto second = destroy("t1", true, true);
  while (!backend.held.empty()) {
    backend.go();
    settle();
  }
  CHECK(first->value()->flag("destroyed") == true);
  CHECK(second->value()->flag("destroyed") == true);
  CHECK(backend.purged == std::vector{id_of("t1")});
}

TEST_CASE_FIXTURE(fixture, "destroy of a sandbox that others hold or that works says busy") {
  acquire("t1", "ann");
  SUBCASE("another's lease") {
    acquire("t1", "bob");
  }
  SUBCASE("work") {
    box("t1").in_use = true;
  }
  CHECK(destroy("t1")->code() == errc::busy);
  CHECK(exists("t1"));
  CHECK(state("t1").integer("leases").value() > 0);
  CHECK(destroy("t1", true)->value()->flag("destroyed") == true);
  CHECK(box("t1").killed);
  CHECK_FALSE(exists("t1"));
}

TEST_CASE_FIXTURE(fixture, "whoever destroys what is being destroyed shares the result") {
  acquire("t1");
  backend.hold = true;
  auto a = destroy("t1"), b = destroy("t1", true);
  CHECK_FALSE(a->answered());
  CHECK_FALSE(b->answered());
  backend.go();
  settle();
  CHECK(a->value()->flag("destroyed") == true);
  CHECK(b->value()->flag("destroyed") == true);
  CHECK(backend.destroyed.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "a sandbox that dies when asked to end has been destroyed, not busy") {
  acquire("t1");
  box("t1").hold = true;
  auto d = destroy("t1");
  box("t1").die();
  settle();
  CHECK(d->value()->flag("destroyed") == true);
}

TEST_CASE_FIXTURE(fixture, "force ends a sandbox in whatever phase, and waiters get a fresh one") {
  later_ptr<grant> waiting;
  SUBCASE("its guest has not said hello") {
    guests_answer = false;
    waiting = acquire("t1");
  }
  SUBCASE("it is being pinged") {
    park("t1");
    box("t1").hold = true;
    waiting = acquire("t1");
  }
  SUBCASE("it is asked to retire") {
    park("t1");
    run_for(1h);
    box("t1").hold = true;
    reap();
    waiting = acquire("t1");
  }
  auto& old = box("t1");
  guests_answer = true;
  CHECK(destroy("t1", true)->value()->flag("destroyed") == true);
  CHECK(old.killed);
  CHECK(waiting->value().origin == "created");
  CHECK(waiting->value().sandbox != old.actor);
  CHECK(backend.existing.size() == 1);
}

TEST_CASE_FIXTURE(fixture, "a destroy that fails is tried again after a while") {
  acquire("t1");
  backend.failing_destroys = 2;
  auto d = destroy("t1");
  CHECK(told("destroy_failed t1") == 1);
  run_for(5s - 1ns);
  CHECK(told("destroy_failed t1") == 1);
  run_for(1ns);
  CHECK(told("destroy_failed t1") == 2);
  CHECK_FALSE(d->answered());
  run_for(5s);
  CHECK(d->value()->flag("destroyed") == true);
  CHECK(rows() == 0);
}

TEST_CASE_FIXTURE(fixture, "a destroy that never succeeds ends, and says so") {
  acquire("t1");
  backend.failing_destroys = 1000;
  auto d = destroy("t1");
  run_for(1min);
  CHECK(d->value()->flag("destroyed") == false);
  CHECK(told("destroy_failed t1") == 5);
  CHECK(rows() == 0);
}

TEST_CASE_FIXTURE(fixture, "a destroy that hangs is given a new worker and tried again") {
  acquire("t1");
  backend.hang = true;
  auto before = backend.workers;
  auto d = destroy("t1");
  run_for(30s);
  CHECK(told("destroy_failed t1") == 1);
  CHECK(backend.workers == before + 1);
  backend.hang = false;
  run_for(5s);
  CHECK(d->value()->flag("destroyed") == true);
}

TEST_CASE_FIXTURE(fixture, "a sandbox that works without a lease is listed as borrowed") {
  park("t1");
  park("t2");
  box("t2").in_use = true;
  auto states = [&](std::string state) {
    auto rows =
        ask<std::vector<fields>>(pool, list_atom::value, std::string{}, state, std::string{});
    std::string all;
    for (auto& x : rows->value())
      all += *x.text("thread") + " " + *x.text("state") + " ";
    return all;
  };
  CHECK(states("borrowed") == "t2 borrowed ");
  CHECK(states("parked") == "t1 parked ");
}

TEST_CASE_FIXTURE(fixture, "rows are listed by state and by user") {
  acquire("t1");
  park("t2");
  acquire_for({"eve", "t3"});
  auto rows_of = [&](std::string state, std::string user) {
    std::vector<std::string> threads;
    auto rows = ask<std::vector<fields>>(pool, list_atom::value, std::string{}, state, user);
    for (auto& x : rows->value())
      threads.push_back(x.text("thread").value());
    std::sort(threads.begin(), threads.end());
    return threads;
  };
  using names = std::vector<std::string>;
  CHECK(rows_of("", "") == names{"t1", "t2", "t3"});
  CHECK(rows_of("parked", "") == names{"t2"});
  CHECK(rows_of("leased", "") == names{"t1", "t3"});
  CHECK(rows_of("", "eve") == names{"t3"});
  CHECK(rows_of("ending", "").empty());
}

TEST_CASE_FIXTURE(fixture, "a draining pool takes no orders") {
  acquire("t1");
  box("t1").in_use = true;
  auto d = drain(30s);
  CHECK(box("t1").draining);
  CHECK(acquire("t1")->code() == errc::shutting_down);
  CHECK(acquire("t2")->code() == errc::shutting_down);
  CHECK_FALSE(d->answered());
}

TEST_CASE_FIXTURE(fixture, "a drain ends when everything has become idle") {
  acquire("t1");
  park("t2");
  box("t1").in_use = true;
  auto d = drain(30s);
  CHECK_FALSE(exists("t2"));
  run_for(10s);
  CHECK(exists("t1"));
  box("t1").in_use = false;
  run_for(100ms);
  CHECK_FALSE(exists("t1"));
  CHECK(d->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a drain takes everything away once its time is up") {
  acquire("t1");
  box("t1").in_use = true;
  auto d = drain(30s);
  run_for(30s - 1ns);
  CHECK(exists("t1"));
  run_for(1ms);
  CHECK(box("t1").killed);
  CHECK_FALSE(exists("t1"));
  CHECK(d->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a drain past its time waits for slow destroys without spinning") {
  acquire("t1");
  box("t1").in_use = true;
  backend.hold = true;
  auto d = drain(1s);
  run_for(1s + 1ms);
  size_t ticks = 0;
  while (now() < time_point{11s} && ticks < 10'000) {
    run_for(std::max<duration>(scheduler().clock().schedule().begin()->first - now(), 1ns));
    ++ticks;
  }
  CHECK(ticks < 1000);
  backend.go();
  settle();
  CHECK(d->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a drain of an empty pool is over at once") {
  CHECK(drain(30s)->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a second drain shortens the first, and both are answered") {
  acquire("t1");
  box("t1").in_use = true;
  auto first = drain(30s);
  auto second = drain(0s);
  run_for(1s);
  CHECK_FALSE(exists("t1"));
  CHECK(first->succeeded());
  CHECK(second->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a sandbox that is being made when a drain begins is taken away too") {
  backend.hold = true;
  auto a = acquire("t1");
  auto d = drain(30s);
  CHECK(a->code() == errc::shutting_down);
  for (int i = 0; i < 3; ++i) {
    backend.go();
    settle();
  }
  CHECK(backend.existing.empty());
  CHECK(d->succeeded());
}

TEST_CASE_FIXTURE(fixture, "a sandbox made after a drain's time is up is taken away too") {
  backend.hold = true;
  guests_answer = false;
  acquire("t1");
  auto d = drain(1s);
  run_for(2s);
  backend.hold = false;
  backend.go();
  settle();
  run_for(1s);
  CHECK(backend.existing.empty());
  CHECK(d->succeeded());
}

TEST_CASE_FIXTURE(fixture, "whose a sandbox is, is known for an hour longer than it lives") {
  auto owner_of = [this](const std::string& id) { return ask<owner>(pool, owner_atom::value, id); };
  acquire("t1");
  CHECK(owner_of(id_of("t1"))->value() == owner{"default", "t1"});
  CHECK(owner_of(id_of("t1").substr(0, 8))->code() == errc::sandbox_not_found);
  destroy("t1", true);
  CHECK_FALSE(exists("t1"));
  CHECK(owner_of(id_of("t1"))->value() == owner{"default", "t1"});
  run_for(1h + 1s);
  reap();
  CHECK(owner_of(id_of("t1"))->code() == errc::sandbox_not_found);
}

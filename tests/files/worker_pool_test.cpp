#include "guest/files/worker_pool.hpp"

#include <doctest/doctest.h>

#include <signal.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <thread>

using corral::guest::worker_pool;
using namespace std::chrono_literals;

TEST_CASE("every task runs before the pool is gone") {
  std::atomic<int> ran = 0;
  {
    worker_pool pool{4, 10s};
    for (int i = 0; i < 200; ++i)
      CHECK(pool.submit(i % 3 ? "key" + std::to_string(i % 7) : "", [&] { ++ran; }));
  }
  CHECK(ran == 200);
}

TEST_CASE("a task that takes long holds up only those of its key") {
  worker_pool pool{8, 10s};
  std::promise<void> go;
  auto gate = go.get_future().share();
  std::mutex mutex;
  std::string order;
  auto note = [&](char c) {
    std::lock_guard lock{mutex};
    order += c;
  };
  std::promise<void> other_done;
  pool.submit("k", [&] {
    gate.wait();
    note('1');
  });
  pool.submit("k", [&] { note('2'); });
  pool.submit("", [&] {
    note('x');
    other_done.set_value();
  });
  other_done.get_future().wait();
  std::promise<void> last;
  pool.submit("k", [&] {
    note('3');
    last.set_value();
  });
  go.set_value();
  last.get_future().wait();
  CHECK(order == "x123");
}

TEST_CASE("as many tasks run side by side as there may be threads") {
  constexpr int count = 8;
  worker_pool pool{count, 10s};
  std::atomic<int> arrived = 0;
  std::promise<void> all;
  auto gate = all.get_future().share();
  for (int i = 0; i < count; ++i)
    pool.submit("", [&, gate] {
      if (++arrived == count)
        all.set_value();
      gate.wait();
    });
  gate.wait();
  CHECK(pool.threads() == count);
}

TEST_CASE("threads without work end, and come again with new work") {
  worker_pool pool{4, 0ms};
  for (int round = 0; round < 3; ++round) {
    std::promise<void> done;
    REQUIRE(pool.submit("", [&] { done.set_value(); }));
    done.get_future().wait();
    auto limit = std::chrono::steady_clock::now() + 30s;
    while (pool.threads() > 0 && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    CHECK(pool.threads() == 0);
  }
}

TEST_CASE("tasks run with all signals blocked and leave the caller's mask alone") {
  worker_pool pool{1, 10s};
  std::promise<bool> blocked;
  pool.submit("", [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(sigismember(&mask, SIGXFSZ) == 1 && sigismember(&mask, SIGTERM) == 1);
  });
  CHECK(blocked.get_future().get());
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGTERM) == 0);
}

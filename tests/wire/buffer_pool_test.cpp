#include "messages/wire/buffer_pool.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <vector>

using corral::buffer_pool;

TEST_CASE("a buffer is used again once its last reader has let go of it") {
  buffer_pool pool;
  auto first = pool.take(100);
  auto where = first.get();
  auto reader = first;
  first.reset();
  auto second = pool.take(100);
  CHECK(second.get() != where);
  std::thread{[x = std::move(reader)]() mutable { x.reset(); }}.join();
  CHECK(pool.take(100).get() == where);
}

TEST_CASE("a smaller buffer holds no memory of a larger one") {
  buffer_pool pool;
  auto where = pool.take(100'000).get();
  auto small = pool.take(10);
  CHECK(small.get() != where);
  CHECK(pool.take(100'000).get() == where);
}

TEST_CASE("no more buffers wait than a transfer needs") {
  buffer_pool pool;
  std::vector<std::shared_ptr<char[]>> taken;
  for (size_t i = 0; i < 3 * buffer_pool::most_unused; ++i)
    taken.push_back(pool.take(100'000));
  taken.clear();
  CHECK(pool.unused() == buffer_pool::most_unused);
  pool.take(200'000).reset();
  CHECK(pool.unused() == 1);
}

TEST_CASE("a buffer outlives its pool") {
  std::shared_ptr<char[]> kept;
  {
    buffer_pool pool;
    kept = pool.take(100);
  }
  std::memset(kept.get(), 'x', 100);
  CHECK(kept[99] == 'x');
}

#include "os/range_lock.hpp"

#include "os/temp_dir.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

using namespace corral;

namespace {

struct fixture {
  temp_dir dir = std::move(*temp_dir::make("range-lock"));
  std::filesystem::path file = dir.path() / "lock";

  int error_at(uint64_t offset) {
    auto x = range_lock::try_acquire(file, offset);
    return x ? 0 : x.error().number;
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a byte has one holder, in one process too; its neighbours are free") {
  for (uint64_t offset : {uint64_t{0}, uint64_t{7}, (uint64_t{1} << 63) - 1}) {
    auto held = range_lock::try_acquire(file, offset);
    REQUIRE(held);
    CHECK(range_lock::is_held(file, offset));
    CHECK(error_at(offset) == EWOULDBLOCK);
    CHECK(error_at(offset + 1) == 0);
    held = tl::unexpected{os_error{}};
    CHECK_FALSE(range_lock::is_held(file, offset));
    CHECK(error_at(offset) == 0);
  }
}

TEST_CASE_FIXTURE(fixture, "offsets count modulo 2^63") {
  auto held = range_lock::try_acquire(file, (uint64_t{1} << 63) + 5);
  REQUIRE(held);
  CHECK(range_lock::is_held(file, 5));
}

TEST_CASE_FIXTURE(fixture, "a lock ends with the process that holds it") {
  int ready[2], end[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(end) == 0);
  auto child = ::fork();
  REQUIRE(child >= 0);
  char byte = 0;
  if (child == 0) {
    auto held = range_lock::try_acquire(file, 3);
    byte = held ? 1 : 0;
    [[maybe_unused]] auto n = ::write(ready[1], &byte, 1);
    n = ::read(end[0], &byte, 1);
    ::_exit(0);
  }
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(byte == 1);
  CHECK(range_lock::is_held(file, 3));
  CHECK(error_at(3) == EWOULDBLOCK);
  REQUIRE(::write(end[1], &byte, 1) == 1);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(error_at(3) == 0);
  for (auto fd : {ready[0], ready[1], end[0], end[1]})
    ::close(fd);
}

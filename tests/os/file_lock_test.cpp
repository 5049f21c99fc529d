#include "os/file_lock.hpp"

#include "os/files.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <cerrno>
#include <future>
#include <optional>

using namespace corral;

TEST_CASE("one holder at a time, and the next one after it has gone") {
  auto dir = temp_dir::make("lock").value();
  auto path = dir.path() / "lock";
  std::optional<file_lock> first = std::move(file_lock::try_acquire(path).value());
  auto second = file_lock::try_acquire(path);
  REQUIRE_FALSE(second);
  CHECK(second.error().number == EWOULDBLOCK);
  first.reset();
  CHECK(file_lock::try_acquire(path));
}

TEST_CASE("a refused one can say who holds the lock") {
  auto dir = temp_dir::make("lock").value();
  auto path = dir.path() / "lock";
  CHECK(file_lock::holder_of(path).empty());
  auto lock = file_lock::try_acquire(path).value();
  CHECK(file_lock::holder_of(path).empty());
  REQUIRE(lock.describe("corrald, pid 1234, for a long time"));
  REQUIRE(lock.describe("corrald, pid 7"));
  CHECK_FALSE(file_lock::try_acquire(path));
  CHECK(file_lock::holder_of(path) == "corrald, pid 7");
}

TEST_CASE("a new holder doesn't go by the name of the last") {
  auto dir = temp_dir::make("lock").value();
  auto path = dir.path() / "lock";
  {
    auto lock = file_lock::try_acquire(path).value();
    REQUIRE(lock.describe("the first"));
  }
  auto lock = file_lock::try_acquire(path).value();
  CHECK(file_lock::holder_of(path).empty());
}

TEST_CASE("a waiting one gets the lock when it is free") {
  auto dir = temp_dir::make("lock").value();
  auto path = dir.path() / "lock";
  std::optional<file_lock> first = std::move(file_lock::try_acquire(path).value());
  REQUIRE(first->describe("the first"));
  auto waiting = std::async(std::launch::async, [&] {
    auto lock = file_lock::acquire(path);
    return lock && lock->describe("the second") && !file_lock::try_acquire(path);
  });
  CHECK(file_lock::holder_of(path) == "the first");
  first.reset();
  CHECK(waiting.get());
  CHECK(file_lock::holder_of(path) == "the second");
}

TEST_CASE("a lock file that is a link is refused") {
  auto dir = temp_dir::make("lock").value();
  REQUIRE(write_file_atomically(dir.path() / "victim", "content"));
  std::filesystem::create_symlink("victim", dir.path() / "lock");
  auto lock = file_lock::try_acquire(dir.path() / "lock");
  REQUIRE_FALSE(lock);
  CHECK(lock.error().number == ELOOP);
  CHECK(read_small_file(dir.path() / "victim").value() == "content");
}

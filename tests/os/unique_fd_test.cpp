#include "os/unique_fd.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

using corral::unique_fd;

namespace {

int open_null() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

} // namespace

TEST_CASE("a descriptor is closed with its owner") {
  int fd = open_null();
  {
    unique_fd owner{fd};
    CHECK(owner);
    CHECK(is_open(fd));
  }
  CHECK_FALSE(is_open(fd));
}

TEST_CASE("a descriptor that is moved or released stays open") {
  int fd = open_null();
  unique_fd second;
  {
    unique_fd first{fd};
    second = std::move(first);
    CHECK_FALSE(first);
  }
  CHECK(is_open(fd));
  { unique_fd third{second.release()}; }
  CHECK_FALSE(second);
  CHECK_FALSE(is_open(fd));
}

TEST_CASE("taking another descriptor closes the one held") {
  int first = open_null();
  int second = open_null();
  unique_fd owner{first};
  owner = unique_fd{second};
  CHECK_FALSE(is_open(first));
  CHECK(owner.get() == second);
  auto& self = owner;
  owner = std::move(self);
  CHECK(is_open(second));
}

TEST_CASE("descriptor 0 counts as one and -1 does not") {
  unique_fd none;
  CHECK_FALSE(none);
  unique_fd zero{0};
  CHECK(zero);
  zero.release();
}

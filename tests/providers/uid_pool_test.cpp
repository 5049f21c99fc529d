#include "os/files.hpp"
#include "os/temp_dir.hpp"
#include "providers/namespace/uid_pool.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <thread>
#include <vector>

using namespace corral;
using namespace corral::jail;

namespace {

/// Owners' directories, as far as a pool of uids knows them.
struct fixture {
  temp_dir dir = temp_dir::make("uids-").value();
  std::set<uid_t> owned;
  int scans = 0;

  uid_pool pool(uid_t first = 100, uid_t last = 104) {
    return {dir.path() / "uids", first, last, [this] {
              ++scans;
              return owned;
            }};
  }

  os_result<uid_t> take(uid_pool& from) {
    return from.take([&](uid_t uid) -> os_result<void> {
      CHECK(owned.insert(uid).second);
      return {};
    });
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "each owner gets the next uid") {
  auto uids = pool();
  for (uid_t expected = 100; expected <= 104; ++expected)
    CHECK(take(uids).value_or(0) == expected);
  CHECK(scans == 1);
}

TEST_CASE_FIXTURE(fixture, "a range that is used up fails until something in it is free") {
  auto uids = pool();
  for (int i = 0; i < 5; ++i)
    REQUIRE(take(uids));
  auto none = take(uids);
  REQUIRE_FALSE(none);
  CHECK(none.error().number == ENOSPC);
  owned.erase(102);
  CHECK(take(uids).value_or(0) == 102);
  CHECK_FALSE(take(uids));
}

TEST_CASE_FIXTURE(fixture, "a new start believes the directories, not its file") {
  {
    auto uids = pool();
    REQUIRE(take(uids).value_or(0) == 100);
  }
  owned = {100, 101, 102};
  auto uids = pool();
  CHECK(take(uids).value_or(0) == 103);
}

TEST_CASE_FIXTURE(fixture, "uids outside of the range are nobody's business") {
  owned = {0, 50, 1000};
  auto uids = pool();
  CHECK(take(uids).value_or(0) == 100);
  CHECK(uids.contains(100));
  CHECK(uids.contains(104));
  CHECK_FALSE(uids.contains(99));
  CHECK_FALSE(uids.contains(105));
}

TEST_CASE_FIXTURE(fixture, "a uid that could not be given to anyone is given to the next") {
  auto uids = pool();
  auto failed = uids.take([](uid_t) -> os_result<void> { return os_failure(EIO, "chown"); });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().number == EIO);
  CHECK(take(uids).value_or(0) == 100);
}

TEST_CASE_FIXTURE(fixture, "nonsense in the file is read off the directories again") {
  auto uids = pool();
  REQUIRE(take(uids));
  for (auto text : {"", "x", "0 104", "101 99999", "103", "-1 -1"}) {
    REQUIRE(write_file_atomically(dir.path() / "uids", text));
    owned = {100};
    CHECK_MESSAGE(take(uids).value_or(0) == 101, text);
  }
}

TEST_CASE_FIXTURE(fixture, "pools that share a file never give one uid twice") {
  auto one = pool(1000, 1999);
  auto two = pool(1000, 1999);
  std::vector<uid_t> given;
  auto taker = [&](uid_pool& from) {
    for (int i = 0; i < 50; ++i)
      REQUIRE(take(from)); // Inserts under the file's lock, and checks that it is new.
  };
  std::thread other{[&] { taker(two); }};
  taker(one);
  other.join();
  CHECK(owned.size() == 100);
}

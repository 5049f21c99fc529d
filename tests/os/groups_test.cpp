#include "os/groups.hpp"

#include <doctest/doctest.h>

using namespace corral;

TEST_CASE("a group is known by its name or its number") {
  CHECK(group_id("root") == gid_t{0});
  CHECK(group_id("1001") == gid_t{1001});
}

TEST_CASE("what is neither a group's name nor a number is no group") {
  CHECK_FALSE(group_id("no-such-group"));
  CHECK_FALSE(group_id(""));
  CHECK_FALSE(group_id("12x"));
  CHECK_FALSE(group_id("-1"));
}

#include "messages/wire/names.hpp"
#include "messages/wire/owner.hpp"

#include "messages/wire/ops.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace corral;

TEST_CASE("a default user's sandbox is named by the SHA-256 of its thread") {
  CHECK(sandbox_id_of({"default", "thread-1"}) == "4b0a5fefc328e6b9");
  CHECK(sandbox_id_of({"default", "foo"}) == "2c26b46b68ffc68f");
}

TEST_CASE("another user's sandbox is named by the SHA-256 of user:thread") {
  CHECK(sandbox_id_of({"alice", "foo"}) == "9271dbf1f67adf2e");
  CHECK(sandbox_id_of({"bob", "foo"}) == "256dc4bdd4f6e8a6");
}

TEST_CASE("an owner's id is a sandbox id, and so is a random one") {
  CHECK(is_sandbox_id(sandbox_id_of({"u", "t"})));
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    auto id = random_sandbox_id();
    CHECK(is_sandbox_id(id));
    CHECK(seen.insert(id).second);
  }
}

TEST_CASE("a sandbox id is 16 lower-case hex digits and nothing else") {
  CHECK(is_sandbox_id("0123456789abcdef"));
  for (auto text : {"", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF",
                    "0123456789abcdeg", "../3456789abcdef"})
    CHECK_FALSE(is_sandbox_id(text));
}

TEST_CASE("a name is 1 to 64 of the letters that are safe in a path") {
  for (auto text : {"a", "Z9_-", "default"})
    CHECK(is_valid_name(text));
  CHECK(is_valid_name(std::string(64, 'x')));
  CHECK_FALSE(is_valid_name(std::string(65, 'x')));
  for (auto text : {"", ".", "..", "a/b", "a b", "a:b", "a\n", "ä", "a.b"})
    CHECK_FALSE(is_valid_name(text));
  CHECK_FALSE(is_valid_name(std::string_view{"a\0", 2}));
}

TEST_CASE("an environment name is one that a shell can export") {
  for (auto text : {"A", "_", "a1_B"})
    CHECK(is_environment_name(text));
  for (auto text : {"", "1A", "A-B", "A=B", "A B", "ä", "A\n"})
    CHECK_FALSE(is_environment_name(text));
}

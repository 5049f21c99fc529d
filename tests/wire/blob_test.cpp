#include "messages/wire/blob.hpp"

#include <doctest/doctest.h>

using corral::blob, corral::join;

TEST_CASE("a slice shares the bytes of its blob") {
  auto whole = blob::copy_of("0123456789");
  auto middle = whole.slice(2, 5);
  CHECK(middle.view() == "23456");
  CHECK(middle.data() == whole.data() + 2);
  CHECK(middle.slice(1, 2).view() == "34");
}

TEST_CASE("a slice is cut to what is there") {
  auto whole = blob::copy_of("abc");
  CHECK(whole.slice(1).view() == "bc");
  CHECK(whole.slice(1, 99).view() == "bc");
  CHECK(whole.slice(3).empty());
  CHECK(whole.slice(99, 1).empty());
  CHECK(blob{}.slice(5, 5).empty());
}

TEST_CASE("a slice keeps the whole buffer alive, and the last one lets it go") {
  std::weak_ptr<const void> watched;
  blob tail;
  {
    auto owner = std::make_shared<const std::string>("bytes of a message");
    watched = owner;
    tail = blob{owner, *owner}.slice(6);
  }
  CHECK_FALSE(watched.expired());
  CHECK(tail.view() == "of a message");
  tail = {};
  CHECK(watched.expired());
}

TEST_CASE("a blob takes a string or a vector over with NUL bytes and all") {
  std::string bytes{"a\0b\xff", 4};
  CHECK(blob::copy_of(bytes).view() == bytes);
  CHECK(blob::take(std::vector<char>(bytes.begin(), bytes.end())).view() == bytes);
  std::string big(100, 'x');
  auto where = big.data();
  CHECK(blob::take(std::move(big)).data() == where);
}

TEST_CASE("joining nothing is empty, one piece is itself, several are one buffer in order") {
  CHECK(join({}).empty());
  auto one = blob::copy_of("one");
  CHECK(join({one}).data() == one.data());
  CHECK(join({one, blob{}, blob::copy_of("two")}).view() == "onetwo");
}

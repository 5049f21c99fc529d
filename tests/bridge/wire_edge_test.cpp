#include "bridge/wire_edge.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace corral;

namespace {

arrival read(const std::vector<std::string>& frames) {
  std::vector<zmq::message_t> x;
  for (auto& f : frames)
    x.emplace_back(f.data(), f.size());
  return read_frames(std::move(x));
}

const std::string ping = R"({"op":"ping","id":"1"})";

} // namespace

TEST_CASE("a request is read with and without a REQ socket's delimiter") {
  auto x = read({"corral/1", ping});
  REQUIRE(x.what);
  CHECK(x.what->spec->id == op::ping);
  CHECK(x.what->id == "1");
  CHECK_FALSE(x.from_req_socket);
  x = read({"", "corral/1", ping});
  REQUIRE(x.what);
  CHECK(x.from_req_socket);
}

TEST_CASE("a payload is cut as the header says, and holds any bytes") {
  std::string command{"a\0\xff", 3};
  auto x =
      read({"corral/1", R"({"op":"exec","id":"1","thread":"t","parts":[["command",3]]})", command});
  REQUIRE(x.what);
  CHECK(x.what->body.part_of("command").view() == command);
}

TEST_CASE("without a readable id there is nobody to answer") {
  std::vector<std::vector<std::string>> cases{
      {},
      {""},
      {"corral/1"},
      {"", "corral/1"},
      {"corral/2", ping},
      {"", "", "corral/1", ping},
      {ping},
      {ping, "corral/1"},
      {"corral/1", ping, "", ""},
      {"corral/1", ""},
      {"corral/1", "null"},
      {"corral/1", "[]"},
      {"corral/1", "{"},
      {"corral/1", R"({"op":"ping","id":7})"},
      {"corral/1", R"({"op":"ping"})"},
      {"corral/1", R"({"op":"ping","id":")" + std::string(129, 'x') + "\"}"},
      {"corral/1", R"({"op":"ping","id":"1","x":")" + std::string(65 * 1024, 'x') + "\"}"},
      {"corral/1", std::string(1000, '[')},
      {"corral/1", std::string{"\xff\xfe\0", 3}},
  };
  for (auto& c : cases) {
    CAPTURE(c.size());
    auto x = read(c);
    CHECK_FALSE(x.what);
    CHECK(x.what.error().code == errc::invalid_request);
    CHECK(x.id.empty());
  }
}

TEST_CASE("what is wrong with a request that has an id is told under it") {
  for (auto header : {
           R"({"id":"1"})",
           R"({"id":"1","op":"fly"})",
           R"({"id":"1","op":7})",
           R"({"id":"1","op":"exec","thread":"t"})",
           R"({"id":"1","op":"get"})",
           R"({"id":"1","op":"ping","more":true})",
           R"({"id":"1","op":"exec","thread":"t","parts":[["command",2]]})",
           R"({"id":"1","op":"exec","thread":"t","parts":[["command",-1]]})",
           R"({"id":"1","op":"exec","thread":"t","parts":"command"})",
       }) {
    CAPTURE(header);
    auto x = read({"corral/1", header});
    CHECK_FALSE(x.what);
    CHECK(x.id == "1");
    CHECK(x.what.error().code == errc::invalid_request);
    x = read({"", "corral/1", header, "abc"});
    CHECK_FALSE(x.what);
    CHECK(x.from_req_socket);
  }
}

TEST_CASE("any bytes at all are read without harm") {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng{seed};
    std::vector<std::string> frames;
    for (auto n = rng() % 5; n > 0; --n) {
      std::string f = rng() % 3 == 0 ? "corral/1" : rng() % 2 ? ping : std::string(rng() % 40, 'x');
      for (auto flips = rng() % 3; flips > 0 && !f.empty(); --flips)
        f[rng() % f.size()] = static_cast<char>(rng());
      frames.push_back(std::move(f));
    }
    auto x = read(frames);
    CHECK((x.what || x.what.error().code == errc::invalid_request));
  }
}

#include "os/files.hpp"
#include "os/temp_dir.hpp"
#include "providers/namespace/record_store.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace corral;
using namespace corral::jail;

namespace {

const std::string id = "0123456789abcdef";

sandbox_record sample() {
  return {id,   "pool", {"alice", "t1"}, false, 600'001, {70, 1'000'000}, {71, 1'000'001},
          "s3", "d1"};
}

std::string with(const std::string& from, const std::string& to) {
  auto text = sample().to_json();
  auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("a record comes back as it was written") {
  auto back = sandbox_record::from_json(sample().to_json());
  REQUIRE(back);
  CHECK(back->id == id);
  CHECK(back->pool == "pool");
  CHECK(back->who == owner{"alice", "t1"});
  CHECK_FALSE(back->anonymous);
  CHECK(back->uid == 600'001);
  CHECK(back->outer.pid == 70);
  CHECK(back->guest.pid == 71);
  CHECK(back->guest.start_time == 1'000'001);
  CHECK(back->secret == "s3");
  CHECK(back->digest == "d1");
}

TEST_CASE("a record that could name the wrong process or owner is not one") {
  for (auto [from, to] : {std::pair{"\"pid\":71", "\"pid\":1"},
                          {"\"pid\":71", "\"pid\":-71"},
                          {"\"pid\":71", "\"pid\":4294967367"},
                          {"\"pid\":71", "\"pid\":\"71\""},
                          {"1000001", "-1"},
                          {"\"user\":\"alice\"", "\"user\":\"../alice\""},
                          {"\"thread\":\"t1\"", "\"thread\":\"\""},
                          {"\"uid\":600001", "\"uid\":-1"},
                          {"\"uid\":600001", "\"uid\":4294967295"},
                          {"\"anonymous\":false", "\"anonymous\":true"},
                          {"\"anonymous\":false,", ""},
                          {"0123456789abcdef", "0123456789abcdeX"}})
    CHECK_MESSAGE(!sandbox_record::from_json(with(from, to)), to);
  for (auto text : {"", "{}", "[]", "null", "{\"id\":", "\xff\xfe"})
    CHECK_MESSAGE(!sandbox_record::from_json(text), text);
}

TEST_CASE("a store keeps records to itself and gives them back") {
  auto dir = temp_dir::make("records-").value();
  auto store = record_store::open(dir.path() / "r").value();
  struct stat s {};
  REQUIRE(::stat((dir.path() / "r").c_str(), &s) == 0);
  CHECK((s.st_mode & 07777) == 0700);
  CHECK_FALSE(store.read(id));
  REQUIRE(store.write(sample()));
  CHECK(store.read(id));
  REQUIRE(::stat((dir.path() / "r" / (id + ".json")).c_str(), &s) == 0);
  CHECK((s.st_mode & 07777) == 0600);
  CHECK(store.ids() == std::vector{id});
  CHECK(store.remove(id));
  CHECK(store.remove(id));
  CHECK(store.ids().empty());
}

TEST_CASE("a record under another's name isn't believed, and its file is still listed") {
  auto dir = temp_dir::make("records-").value();
  auto store = record_store::open(dir.path()).value();
  std::string other = "fedcba9876543210";
  REQUIRE(write_file_atomically(dir.path() / (other + ".json"), sample().to_json()));
  CHECK_FALSE(store.read(other));
  CHECK(store.ids() == std::vector{other});
}

TEST_CASE("files that aren't records are left out") {
  auto dir = temp_dir::make("records-").value();
  auto store = record_store::open(dir.path()).value();
  for (auto name : {"notes", "x.json", ".0123456789abcdef.1a2b", "0123456789abcdef.txt"})
    REQUIRE(write_file_atomically(dir.path() / name, "x"));
  CHECK(store.ids().empty());
}

#include "apps/cli/commands.hpp"

#include <doctest/doctest.h>

#include "os/files.hpp"
#include "os/temp_dir.hpp"
#include "tests/cli/fake_daemon.hpp"

#include <filesystem>

using namespace corral;
using namespace corral::cli;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

constexpr auto sum_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

struct place {
  temp_dir dir = temp_dir::make("corral-cli-").value();

  std::string path(const char* name) const { return dir.path() / name; }
  bool is_empty() const { return std::filesystem::is_empty(dir.path()); }
};

message content(std::string_view bytes, int64_t size, std::string_view sum) {
  auto reply = ok(fields{}.set("size", size).set("sha256", sum));
  return reply.add_part("content", blob::copy_of(bytes));
}

/// What a copy comes to where the daemon gives that answer.
cli_result<int> copied(const message& answer, const copy_options& x) {
  fake_daemon daemon{[answer](const message& request) {
    auto greeting = greet(request);
    return greeting.empty() ? std::vector<message>{answer} : greeting;
  }};
  auto client = daemon_client::connect({daemon.endpoint(), 2s, 20ms});
  REQUIRE(client);
  return copy(*client, nullptr, x, false);
}

copy_options download_to(const std::string& local) {
  copy_options x;
  x.to.thread = "a";
  x.path = "f";
  x.local = local;
  return x;
}

} // namespace

TEST_CASE_FIXTURE(place, "what arrives as it was sent is kept") {
  CHECK(copied(content("abc", 3, sum_of_abc), download_to(path("g"))));
  CHECK(read_small_file(path("g")) == "abc");
}

TEST_CASE_FIXTURE(place, "another size or checksum than stated is an error that leaves no file") {
  for (auto& answer : {content("abd", 3, sum_of_abc), content("abc", 4, sum_of_abc),
                       content("ab", 3, sum_of_abc), content("abc", 3, "")}) {
    auto done = copied(answer, download_to(path("g")));
    REQUIRE(!done);
    CHECK(done.error().code == "corrupted");
    CHECK(is_empty());
  }
}

TEST_CASE_FIXTURE(place, "an upload of which the sandbox took less is an error") {
  REQUIRE(write_file_atomically(path("g"), "abc"));
  auto x = download_to(path("g"));
  x.upload = true;
  CHECK(copied(ok(fields{}.set("bytes", 3)), x));
  auto done = copied(ok(fields{}.set("bytes", 2)), x);
  REQUIRE(!done);
  CHECK(done.error().code == "corrupted");
}

TEST_CASE_FIXTURE(place, "a directory of this machine keeps the file's name") {
  CHECK(copied(content("abc", 3, sum_of_abc), download_to(dir.path().native())));
  CHECK(read_small_file(path("f")) == "abc");
}

#include "apps/cli/local_file.hpp"

#include <doctest/doctest.h>

#include "os/files.hpp"
#include "os/temp_dir.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

using namespace corral;
using namespace corral::cli;

namespace {

struct place {
  temp_dir dir = temp_dir::make("corral-cli-").value();

  std::string path(const char* name) const { return dir.path() / name; }
  std::string content(const char* name) const { return read_small_file(path(name)).value(); }
  auto entries() const {
    std::filesystem::directory_iterator all{dir.path()};
    return std::distance(begin(all), end(all));
  }
};

} // namespace

TEST_CASE_FIXTURE(place, "a file has its name only once it is committed") {
  auto file = local_file::create(path("f"));
  REQUIRE(file);
  REQUIRE(file->write("half"));
  CHECK(entries() == 0);
  REQUIRE(file->write(" and half"));
  REQUIRE(file->commit());
  CHECK(content("f") == "half and half");
  CHECK(entries() == 1);
}

TEST_CASE_FIXTURE(place, "what is given up leaves what was there") {
  REQUIRE(write_file_atomically(path("f"), "old"));
  {
    auto file = local_file::create(path("f"));
    REQUIRE(file);
    REQUIRE(file->write("new"));
  }
  CHECK(content("f") == "old");
  CHECK(entries() == 1);
}

TEST_CASE_FIXTURE(place, "what is replaced keeps its mode, and a link to it stays a link") {
  REQUIRE(write_file_atomically(path("f"), "old", 0640));
  std::filesystem::create_symlink("f", path("link"));
  auto file = local_file::create(path("link"));
  REQUIRE(file);
  REQUIRE(file->write("new"));
  REQUIRE(file->commit());
  CHECK(content("f") == "new");
  CHECK(std::filesystem::is_symlink(path("link")));
  struct stat s {};
  REQUIRE(::stat(path("f").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0640);
}

TEST_CASE("a device is written to and stays one") {
  auto file = local_file::create("/dev/null");
  REQUIRE(file);
  CHECK(file->write("x"));
  CHECK(file->commit());
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE_FIXTURE(place, "a directory that isn't there is named") {
  auto file = local_file::create(path("none") + "/f");
  REQUIRE(!file);
  CHECK(file.error().code == "input_output");
  CHECK(file.error().message.find("none") != std::string::npos);
}

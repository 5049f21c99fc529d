#include "os/temp_dir.hpp"

#include "os/files.hpp"
#include "os/random.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cerrno>
#include <optional>

using namespace corral;
namespace fs = std::filesystem;

TEST_CASE("a temporary directory is private, and each is another") {
  auto a = temp_dir::make("corral-test-").value();
  auto b = temp_dir::make("corral-test-").value();
  CHECK(a.path() != b.path());
  CHECK(a.path().filename().native().starts_with("corral-test-"));
  struct stat status {};
  REQUIRE(::stat(a.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
}

TEST_CASE("a temporary directory goes with all it holds, and never with what its links lead to") {
  auto outside = temp_dir::make("outside").value();
  REQUIRE(write_file_atomically(outside.path() / "kept", "x"));
  fs::path path;
  {
    auto dir = temp_dir::make("inside").value();
    path = dir.path();
    fs::create_directories(path / "a" / "b");
    REQUIRE(write_file_atomically(path / "a" / "b" / "f", "x"));
    fs::create_directory_symlink(outside.path(), path / "link");
    fs::create_symlink(outside.path() / "kept", path / "a" / "file_link");
  }
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::exists(outside.path() / "kept"));
}

TEST_CASE("a link put in the directory's own place is unlinked, not followed") {
  auto outside = temp_dir::make("outside").value();
  REQUIRE(write_file_atomically(outside.path() / "kept", "x"));
  std::optional<temp_dir> dir = temp_dir::make("inside").value();
  auto path = dir->path();
  fs::remove(path);
  fs::create_directory_symlink(outside.path(), path);
  dir.reset();
  CHECK_FALSE(fs::exists(fs::symlink_status(path)));
  CHECK(fs::exists(outside.path() / "kept"));
}

TEST_CASE("a moved directory goes once, with its last owner") {
  fs::path path;
  {
    auto outer = temp_dir::make("moved").value();
    path = outer.path();
    {
      auto inner = std::move(outer);
      CHECK(inner.path() == path);
      outer = std::move(inner);
    }
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a parent that isn't there is an error that names it") {
  auto dir = temp_dir::make("x", "/no/such/parent");
  REQUIRE_FALSE(dir);
  CHECK(dir.error().number == ENOENT);
  CHECK(dir.error().what.find("/no/such/parent") != std::string::npos);
}

TEST_CASE("random digits are as many as asked for and never the same") {
  CHECK(random_hex(0).empty());
  CHECK(random_hex(16).size() == 32);
  CHECK(random_hex(16) != random_hex(16));
  CHECK(random_hex(1000).find_first_not_of("0123456789abcdef") == std::string::npos);
}

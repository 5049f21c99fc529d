#include "os/temp_dir.hpp"
#include "providers/namespace/paths.hpp"
#include "providers/namespace/tree_removal.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

using namespace corral;
using namespace corral::jail;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

struct fixture {
  temp_dir dir = temp_dir::make("trees-").value();
  fs::path top = dir.path() / "top";
  fixture() { fs::create_directory(top); }

  os_result<void> empty(std::chrono::milliseconds limit = 20s) {
    return empty_directory(open_source(top).value(), limit);
  }
};

void touch(const fs::path& path) {
  std::ofstream{path} << "x";
}

} // namespace

TEST_CASE_FIXTURE(fixture, "files, links, pipes and directories go, and the directory stays") {
  touch(top / "file");
  touch(top / "new\nline");
  fs::create_directories(top / "a/b/c");
  touch(top / "a/b/c/file");
  fs::create_symlink("/nonexistent", top / "dangling");
  REQUIRE(::mkfifo((top / "pipe").c_str(), 0600) == 0);
  CHECK(empty());
  CHECK(fs::is_empty(top));
}

TEST_CASE_FIXTURE(fixture, "links are removed and not followed") {
  fs::create_directory(dir.path() / "other");
  touch(dir.path() / "other/precious");
  fs::create_directory_symlink(dir.path() / "other", top / "link");
  fs::create_hard_link(dir.path() / "other/precious", top / "hard");
  CHECK(empty());
  CHECK(fs::is_empty(top));
  CHECK(fs::exists(dir.path() / "other/precious"));
}

TEST_CASE_FIXTURE(fixture, "depth beyond any path is no obstacle") {
  unique_fd at{::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  std::string name(200, 'd');
  for (int i = 0; i < 100; ++i) {
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0755) == 0);
    at.reset(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  CHECK(empty());
  CHECK(fs::is_empty(top));
}

TEST_CASE_FIXTURE(fixture, "directories that deny their owner are opened up") {
  fs::create_directories(top / "a/b");
  touch(top / "a/b/file");
  fs::permissions(top / "a/b", fs::perms::none);
  fs::permissions(top / "a", fs::perms::owner_read);
  CHECK(empty());
  CHECK(fs::is_empty(top));
}

TEST_CASE_FIXTURE(fixture, "a limit that is over leaves the rest and says so") {
  touch(top / "file");
  auto removed = empty(0ms);
  REQUIRE_FALSE(removed);
  CHECK(removed.error().number == ETIMEDOUT);
  CHECK(fs::exists(top / "file"));
}

#include "os/temp_dir.hpp"
#include "providers/namespace/paths.hpp"

#include <doctest/doctest.h>

#include <cerrno>

using namespace corral;
using namespace corral::jail;

namespace fs = std::filesystem;

TEST_CASE("a mount target that the sandbox needs, or one above or below it, is reserved") {
  std::string why;
  for (auto target : {"/", "/usr", "/usr/local", "/etc/x", "/tmp", "/mnt", "/mnt/user-data",
                      "/mnt/user-data/extra", "/mnt/skills", "/home", "/home/agent/x", "/proc/self",
                      "/run/guest", "/var/lib", "/dev/x", "/mnt/acp-workspace"})
    CHECK_MESSAGE(is_reserved(target, why), target);
}

TEST_CASE("a mount target must be absolute and normal") {
  std::string why;
  for (auto target : {"", "x", "mnt/x", "/mnt/../usr", "/mnt/./x", "/mnt//x", "/mnt/x/"})
    CHECK_MESSAGE(is_reserved(target, why), target);
  CHECK(why.find("absolute path") != why.npos);
}

TEST_CASE("other mount targets are free") {
  std::string why;
  for (auto target : {"/mnt/data", "/opt/tool", "/mnt/user-data2", "/srv", "/home/other", "/usr2"})
    CHECK_MESSAGE(!is_reserved(target, why), target);
}

TEST_CASE("a source is opened only if no symbolic link is on the way") {
  auto dir = temp_dir::make("paths-").value();
  fs::create_directories(dir.path() / "real/inner");
  fs::create_directory_symlink(dir.path() / "real", dir.path() / "link");
  CHECK(open_source(dir.path() / "real/inner"));
  for (auto path : {"link", "link/inner"}) {
    auto opened = open_source(dir.path() / path);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().number == ELOOP);
  }
  auto missing = open_source(dir.path() / "gone");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().number == ENOENT);
}

TEST_CASE("a path beneath a directory can't leave it") {
  auto dir = temp_dir::make("paths-").value();
  fs::create_directories(dir.path() / "base/inner");
  fs::create_directory_symlink("/", dir.path() / "base/root");
  auto base = open_source(dir.path() / "base").value();
  CHECK(open_beneath(base, "inner"));
  for (auto path : {"..", "../base", "root", "root/etc", "/etc", "inner/../.."})
    CHECK_MESSAGE(!open_beneath(base, path), path);
}

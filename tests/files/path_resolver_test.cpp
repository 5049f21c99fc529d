#include "fixture.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

using namespace corral;
using namespace corral::guest;
using namespace corral::guest::test;
namespace fs = std::filesystem;

TEST_CASE("paths are normalised in text and never leave the root") {
  file_settings settings;
  path_resolver paths{settings};
  struct {
    std::string_view given;
    std::string_view expected;
  } rows[] = {{"a", "/mnt/user-data/workspace/a"},
              {".", "/mnt/user-data/workspace"},
              {"../uploads/a", "/mnt/user-data/uploads/a"},
              {"./a//b/./c/", "/mnt/user-data/workspace/a/b/c"},
              {"/", "/"},
              {"//tmp///x", "/tmp/x"},
              {"/a/../../../etc", "/etc"},
              {"../../../../../..", "/"},
              {"-rf", "/mnt/user-data/workspace/-rf"},
              {"...", "/mnt/user-data/workspace/..."},
              {"a\nb", "/mnt/user-data/workspace/a\nb"}};
  for (auto& x : rows)
    CHECK(paths.normalise(x.given).value() == x.expected);
  for (auto given : {std::string{}, std::string{"a\0b", 3}, std::string(4097, 'a')})
    CHECK(paths.normalise(given).error().code == errc::invalid_request);
}

TEST_CASE("the mount of a path is the longest whose name ends where one of the path's does") {
  file_settings settings;
  settings.mounts = standard_mounts();
  settings.mounts.push_back({"/mnt/skills/custom", "", true, nullptr});
  path_resolver paths{settings};
  CHECK(paths.mount_of("/mnt/skills/a")->path == "/mnt/skills");
  CHECK(paths.mount_of("/mnt/skills/custom/a")->path == "/mnt/skills/custom");
  CHECK(paths.mount_of("/mnt/skills/customs")->path == "/mnt/skills");
  CHECK(paths.mount_of("/mnt/user-data/workspace")->writable);
  CHECK_FALSE(paths.mount_of("/mnt/user-data/uploads/a")->writable);
  CHECK(paths.mount_of("/mnt/user-data/workspace-sibling") == nullptr);
  CHECK(paths.mount_of("/tmp") == nullptr);
}

TEST_CASE_FIXTURE(sandbox, "links that stay inside their mount are followed") {
  put("real/a.txt", "content");
  put("deep/x/y/b.txt", "deep");
  fs::create_symlink("real", at("link"));
  fs::create_symlink("../real/a.txt", at("deep/up"));
  fs::create_symlink("/mnt/user-data/workspace/real", at("absolute"));
  fs::create_symlink("link/../real/./a.txt", at("winding"));
  fs::create_symlink("../../x", at("deep/x/y/loop"));
  for (auto path : {"link/a.txt", "deep/up", "absolute/a.txt", "winding"})
    CHECK(read(path).content == "content");
  CHECK(read("deep/x/y/loop/y/loop/y/b.txt").content == "deep");
  CHECK(list("absolute").paths()
        == std::vector<std::string>{"/mnt/user-data/workspace/absolute/a.txt"});
}

TEST_CASE_FIXTURE(sandbox, "links that lead out of their mount are refused for every operation") {
  put_file(beside("outside/secret.txt"), "secret");
  put_file(beside("outputs/a.txt"), "other mount");
  fs::create_symlink(beside("outside"), at("absolute"));
  fs::create_symlink("../outside", at("relative"));
  fs::create_symlink("../outside/secret.txt", at("file"));
  fs::create_symlink("../outside/new.txt", at("dangling"));
  fs::create_symlink("/mnt/user-data/outputs/a.txt", at("mount"));
  fs::create_symlink("/mnt/user-data/workspace-sibling", at("sibling"));
  fs::create_symlink("/", at("root"));
  for (std::string path : {"absolute/secret.txt", "relative/secret.txt", "file", "mount",
                           "root/etc/passwd", "sibling"}) {
    CAPTURE(path);
    CHECK(read(path).code() == "permission_denied");
    CHECK(write(path, "x").code() == "permission_denied");
    CHECK(write(path, "x", true).code() == "permission_denied");
    CHECK(replace(path, "secret", "x").code() == "permission_denied");
    CHECK(grep(path, "secret").code() == "permission_denied");
  }
  CHECK(write("dangling", "x").code() == "permission_denied");
  CHECK(list("absolute").code() == "permission_denied");
  CHECK(glob("relative", "*").code() == "permission_denied");
  CHECK(get_file(beside("outside/secret.txt")) == "secret");
  CHECK_FALSE(fs::exists(beside("outside/new.txt")));
}

TEST_CASE_FIXTURE(sandbox, "links in a circle are refused") {
  fs::create_symlink("b", at("a"));
  fs::create_symlink("a", at("b"));
  CHECK(read("a").code() == "permission_denied");
  CHECK(write("a/x", "x").code() == "permission_denied");
}

TEST_CASE_FIXTURE(sandbox, "a file among the directories of a path is not_a_directory") {
  put("file", "x");
  CHECK(read("file/x").code() == "not_a_directory");
  CHECK(write("file/x", "x").code() == "not_a_directory");
}

TEST_CASE_FIXTURE(sandbox, "dots can't leave a mount for a directory beside it") {
  put_file(beside("outside/secret.txt"), "secret");
  // In text this is /mnt/user-data/outside, which is no mount and not there.
  CHECK(read("../outside/secret.txt").code() == "file_not_found");
  CHECK(read("a/../../../../outside/secret.txt").code() == "file_not_found");
}

TEST_CASE_FIXTURE(sandbox,
                  "what lies in no mount is the view's own, and its links may lead anywhere") {
  auto outside = beside("outside").native();
  put_file(outside + "/a.txt", "a");
  fs::create_symlink(outside + "/a.txt", outside + "/link");
  fs::create_symlink(at(""), outside + "/to-workspace");
  put("w.txt", "w");
  CHECK(read(outside + "/a.txt").content == "a");
  CHECK(read(outside + "/link").content == "a");
  CHECK(read(outside + "/to-workspace/w.txt").content == "w");
  CHECK(write(outside + "/new/b.txt", "b").ok());
  CHECK(get_file(outside + "/new/b.txt") == "b");
}

TEST_CASE_FIXTURE(sandbox, "a link into a mount brings the mount's rules with it") {
  put_file(beside("skills/s.md"), "skill");
  fs::create_symlink("/mnt/skills/s.md", beside("outside/skill"));
  fs::create_symlink("/mnt/skills", beside("outside/skills"));
  auto outside = beside("outside").native();
  CHECK(read(outside + "/skill").content == "skill");
  CHECK(write(outside + "/skill", "x").code() == "read_only");
  CHECK(write(outside + "/skills/new", "x").code() == "read_only");
}

TEST_CASE_FIXTURE(sandbox, "a mount that is not writable takes no change") {
  put_file(beside("skills/s.md"), "skill");
  CHECK(read("/mnt/skills/s.md").content == "skill");
  CHECK(write("/mnt/skills/s.md", "x").code() == "read_only");
  CHECK(write("/mnt/skills/new/x", "x").code() == "read_only");
  CHECK(call(op::update_file, fields{}.set("path", "/mnt/skills/s.md"), {"x"}).code()
        == "read_only");
  CHECK(replace("/mnt/skills/s.md", "skill", "x").code() == "read_only");
  CHECK(get_file(beside("skills/s.md")) == "skill");
}

TEST_CASE_FIXTURE(sandbox, "changes go through a mount's descriptor, reads through its directory") {
  // The descriptor's directory stands for the writable side of what is read elsewhere.
  fs::create_directory(beside("writable"));
  settings.mounts[1].change_root = std::make_shared<unique_fd>(
      ::open(beside("writable").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(write("/mnt/user-data/uploads/d/a.txt", "a").ok());
  CHECK(get_file(beside("writable/d/a.txt")) == "a");
  CHECK(read("/mnt/user-data/uploads/d/a.txt").code() == "file_not_found");
  put_file(beside("uploads/r.txt"), "r");
  CHECK(read("/mnt/user-data/uploads/r.txt").content == "r");
  CHECK(replace("/mnt/user-data/uploads/d/a.txt", "a", "b").ok());
  CHECK(get_file(beside("writable/d/a.txt")) == "b");
}

TEST_CASE_FIXTURE(sandbox, "a directory swapped for a link at full speed never leads outside") {
  put("dir/file", "inside");
  put_file(beside("outside/file"), "outside");
  fs::create_symlink(beside("outside"), at("link"));
  std::atomic<bool> stop = false;
  std::thread swapper{[&] {
    while (!stop)
      ::syscall(SYS_renameat2, AT_FDCWD, at("dir").c_str(), AT_FDCWD, at("link").c_str(),
                RENAME_EXCHANGE);
  }};
  int served = 0;
  for (int i = 0; i < 500; ++i) {
    auto got = read("dir/file");
    CHECK((got.content == "inside" || got.content.empty()));
    CHECK((got.ok() || got.code() == "permission_denied" || got.code() == "busy"));
    served += got.ok() ? 1 : 0;
    auto put_it = write("dir/file", "inside");
    CAPTURE(put_it.message());
    CHECK((put_it.ok() || put_it.code() == "permission_denied" || put_it.code() == "busy"));
    CHECK(list("dir").content.find("outside") == std::string::npos);
    CHECK(grep(".", "outside").lines().empty());
  }
  stop = true;
  swapper.join();
  CHECK(served > 0);
  CHECK(get_file(beside("outside/file")) == "outside");
  CHECK(std::distance(fs::directory_iterator{beside("outside")}, fs::directory_iterator{}) == 1);
}

TEST_CASE_FIXTURE(sandbox, "a file swapped for a pipe at full speed holds nothing up") {
  put("a", "text");
  REQUIRE(::mkfifo(at("b").c_str(), 0666) == 0);
  std::atomic<bool> stop = false;
  std::thread swapper{[&] {
    while (!stop)
      ::syscall(SYS_renameat2, AT_FDCWD, at("a").c_str(), AT_FDCWD, at("b").c_str(),
                RENAME_EXCHANGE);
  }};
  for (int i = 0; i < 500; ++i) {
    auto got = read("a");
    CHECK((got.content == "text" || got.code() == "not_regular_file"));
    auto searched = grep("a", "text");
    CHECK((searched.ok() || searched.code() == "not_regular_file"));
  }
  stop = true;
  swapper.join();
}

#include "fixture.hpp"

#include <sys/stat.h>

#include <algorithm>

using namespace corral;
using namespace corral::guest::test;
namespace fs = std::filesystem;

namespace {

using strings = std::vector<std::string>;

/// Without the workspace's path.
strings relative(const strings& paths) {
  strings result;
  for (auto& x : paths) {
    REQUIRE(x.starts_with("/mnt/user-data/workspace/"));
    result.push_back(x.substr(25));
  }
  return result;
}

} // namespace

TEST_CASE_FIXTURE(sandbox,
                  "a listing has two levels unless told, directories with a slash, sorted") {
  put("b/c/d.txt", "deep");
  put("b.txt", "12345");
  put("b-1/x", "");
  put(".hidden", "");
  auto x = list(".");
  CHECK(relative(x.paths()) == strings{".hidden", "b-1/", "b-1/x", "b.txt", "b/", "b/c/"});
  auto paths = x.paths();
  CHECK(std::is_sorted(paths.begin(), paths.end()));
  CHECK_FALSE(x.truncated());
  CHECK(relative(list("b", fields{}.set("max_depth", 1)).paths()) == strings{"b/c/"});
  CHECK(relative(list(".", fields{}.set("max_depth", 64)).paths()).back() == "b/c/d.txt");
}

TEST_CASE_FIXTURE(sandbox, "a listing states type and size; links are named and not entered") {
  put("file", "12345");
  fs::create_directory(at("dir"));
  fs::create_symlink("dir", at("link"));
  fs::create_symlink("..", at("dir/loop"));
  REQUIRE(::mkfifo(at("pipe").c_str(), 0666) == 0);
  auto lines = list(".", fields{}.set("max_depth", 64)).lines();
  REQUIRE(lines.size() == 5);
  strings types;
  for (auto& x : lines)
    types.push_back(x.text("path")->substr(25) + " " + *x.text("type") + " "
                    + std::to_string(*x.integer("size")));
  CHECK(types
        == strings{"dir/ directory 0", "dir/loop symlink 2", "file file 5", "link symlink 3",
                   "pipe other 0"});
}

TEST_CASE_FIXTURE(sandbox, "a missing path and a file are errors, not empty listings") {
  put("file", "x");
  for (auto id : {op::list_dir, op::glob}) {
    CHECK(call(id, fields{}.set("path", "none").set("pattern", "*")).code() == "file_not_found");
    CHECK(call(id, fields{}.set("path", "file").set("pattern", "*")).code() == "not_a_directory");
  }
  CHECK(grep("none", "x").code() == "file_not_found");
  fs::create_directory(at("empty"));
  CHECK(list("empty").ok());
  CHECK(list("empty").paths().empty());
}

TEST_CASE_FIXTURE(sandbox,
                  "ignored names are passed over unless all is set, never the operand itself") {
  put("node_modules/a.js", "needle");
  put("src/a.log", "needle");
  put("src/a.js", "needle");
  put("build/x/a.js", "needle");
  auto all = fields{}.set("all", true);
  CHECK(relative(list(".").paths()) == strings{"src/", "src/a.js"});
  CHECK(relative(glob(".", "*.js").paths()) == strings{"src/a.js"});
  CHECK(relative(grep(".", "needle").paths()) == strings{"src/a.js"});
  CHECK(list(".", all).paths().size() == 7);
  CHECK(glob(".", "*.js", all).paths().size() == 3);
  CHECK(grep(".", "needle", all).paths().size() == 4);
  CHECK(relative(glob("build", "*.js").paths()) == strings{"build/x/a.js"});
  CHECK(relative(grep("src/a.log", "needle").paths()) == strings{"src/a.log"});
}

TEST_CASE_FIXTURE(sandbox, "a listing has a limit, and says so only if there was more") {
  settings.list_max_entries = 3;
  for (auto name : {"a", "b", "c"})
    put(name, "");
  CHECK_FALSE(list(".").truncated());
  CHECK(list(".").paths().size() == 3);
  put("d", "");
  CHECK(list(".").truncated());
  CHECK(relative(list(".").paths()) == strings{"a", "b", "c"});
}

TEST_CASE_FIXTURE(sandbox, "results have a limit in bytes") {
  settings.results_max_bytes = 200;
  for (int i = 0; i < 20; ++i)
    put("file" + std::to_string(i), "");
  auto x = list(".");
  CHECK(x.truncated());
  CHECK(x.content.size() <= 200);
  CHECK(x.paths().size() > 0);
}

TEST_CASE_FIXTURE(sandbox, "of a directory too large only the first names are looked at") {
  settings.directory_max_entries = 10;
  for (int i = 99; i >= 10; --i)
    put("f" + std::to_string(i), "");
  auto x = list(".");
  CHECK(x.truncated());
  CHECK(x.paths().size() == 10);
  CHECK(relative(x.paths()).front() == "f10");
  CHECK(relative(x.paths()).back() == "f19");
}

TEST_CASE_FIXTURE(sandbox,
                  "glob finds files, and directories if asked, in the order of their paths") {
  put("a/x", "");
  put("a.txt", "");
  put("a/b/y", "");
  CHECK(relative(glob(".", "**").paths()) == strings{"a.txt", "a/b/y", "a/x"});
  CHECK(relative(glob(".", "**", fields{}.set("include_dirs", true)).paths())
        == strings{"a", "a.txt", "a/b", "a/b/y", "a/x"});
  CHECK(relative(glob("a", "b/*").paths()) == strings{"a/b/y"});
}

TEST_CASE_FIXTURE(sandbox, "glob is truncated only if there was more") {
  for (auto name : {"a", "b", "c"})
    put(name, "");
  auto three = glob(".", "*", fields{}.set("max_results", 3));
  CHECK(three.paths().size() == 3);
  CHECK_FALSE(three.truncated());
  auto two = glob(".", "*", fields{}.set("max_results", 2));
  CHECK(relative(two.paths()) == strings{"a", "b"});
  CHECK(two.truncated());
}

TEST_CASE_FIXTURE(sandbox, "glob refuses a pattern it can't take") {
  CHECK(glob(".", "").code() == "invalid_pattern");
}

TEST_CASE_FIXTURE(sandbox, "names may hold anything a file system allows") {
  put("-rf", "needle");
  put("new\nline", "needle");
  put("quote\"\\", "needle");
  put("\xc3\xa9", "needle");
  auto names = relative(list(".").paths());
  CHECK(names == strings{"-rf", "new\nline", "quote\"\\", "\xc3\xa9"});
  CHECK(relative(grep(".", "needle").paths()) == names);
  for (auto& x : names)
    CHECK(read(x).content == "needle");
}

TEST_CASE_FIXTURE(sandbox, "a name that is not UTF-8 comes with its bytes in hex") {
  put("bad\xff.txt", "needle");
  auto lines = list(".").lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text("path") == "/mnt/user-data/workspace/bad\xef\xbf\xbd.txt");
  CHECK(lines[0].text("name_hex") == "626164ff2e747874");
  CHECK(grep(".", "needle").lines()[0].text("name_hex") == "626164ff2e747874");
  CHECK(glob(".", "*.txt").lines()[0].text("name_hex") == "626164ff2e747874");
}

TEST_CASE_FIXTURE(sandbox,
                  "a directory that can't be read is passed over, but not as the operand") {
  put("open/a", "needle");
  put("closed/b", "needle");
  put("closed-file", "needle");
  as_ordinary_user user{home.path()};
  fs::permissions(at("closed"), fs::perms::none);
  fs::permissions(at("closed-file"), fs::perms::none);
  CHECK(relative(list(".").paths()) == strings{"closed-file", "closed/", "open/", "open/a"});
  auto found = grep(".", "needle");
  CHECK(relative(found.paths()) == strings{"open/a"});
  CHECK(found.header.integer("skipped_files") == 1);
  CHECK(list("closed").code() == "permission_denied");
  CHECK(grep("closed-file", "needle").code() == "permission_denied");
  CHECK(read("closed/b").code() == "permission_denied");
  fs::permissions(at("closed"), fs::perms::all);
}

TEST_CASE_FIXTURE(sandbox, "a tree deeper than any path is walked as far as paths reach") {
  auto path = at("");
  std::string name(200, 'd');
  fs::path deep;
  for (int i = 0; i < 15; ++i)
    deep /= name;
  fs::create_directories(at(deep));
  put(deep / "end", "");
  CHECK(glob(".", "end").paths().size() == 1);
}

TEST_CASE_FIXTURE(sandbox, "the kernel's file systems are not entered by a walk from above") {
  auto paths = list("/", fields{}.set("all", true)).paths();
  CHECK(std::count(paths.begin(), paths.end(), "/proc/") == 1);
  auto below = [](auto& x) { return x.starts_with("/proc/") && x.size() > 6; };
  CHECK(std::none_of(paths.begin(), paths.end(), below));
}

TEST_CASE_FIXTURE(sandbox,
                  "a walk that is cancelled or out of time is busy and says how to go on") {
  for (int i = 0; i < 50; ++i)
    put("d/f" + std::to_string(i), "");
  auto out = std::make_shared<recording_writer>();
  out->checks_before_cancel = 20;
  auto x = call(op::glob, fields{}.set("path", ".").set("pattern", "*"),
                std::make_shared<scripted_payload>(), out);
  CHECK(x.code() == "busy");

  auto time = std::chrono::steady_clock::time_point{};
  sandbox slow;
  slow.settings.now = [&] { return time += std::chrono::milliseconds{10}; };
  for (int i = 0; i < 50; ++i)
    slow.put("f" + std::to_string(i), "");
  auto late = slow.list(".", fields{}.set("timeout_ms", 300));
  CHECK(late.code() == "busy");
  CHECK(late.message().find("raise timeout_ms") != std::string::npos);
  CHECK(late.details().integer("timeout_ms") == 300);
  CHECK(late.details().text("operation") == "list_dir");
}

TEST_CASE_FIXTURE(sandbox, "the deepest patterns that fit a request fit a thread's stack") {
  put("a", "a");
  std::string braces;
  std::string groups;
  for (int i = 0; i < 1000; ++i) {
    braces += "{b,";
    groups += "(";
  }
  braces += "a" + std::string(1000, '}');
  groups += "a" + std::string(1000, ')');
  CHECK(relative(glob(".", braces).paths()) == strings{"a"});
  CHECK(grep(".", groups).lines().size() == 1);
  std::string loops;
  std::string ends;
  for (int i = 0; i < 990; ++i) {
    loops += "(b";
    ends += ")*";
  }
  auto looped = grep(".", "a" + loops + ends);
  CHECK((looped.lines().size() == 1 || looped.code() == "invalid_pattern"));
}

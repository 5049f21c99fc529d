#include "fixture.hpp"
#include "tests/support/skip.hpp"

#include "os/child_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <thread>

using namespace corral;
using namespace corral::guest::test;
namespace fs = std::filesystem;

namespace {

struct stat status_of(const fs::path& path) {
  struct stat x {};
  REQUIRE(::lstat(path.c_str(), &x) == 0);
  return x;
}

using strings = std::vector<std::string>;

} // namespace

TEST_CASE_FIXTURE(sandbox, "a file is written byte for byte, parents made, nothing else left") {
  std::string content{"\0\xff\r\nend", 7};
  auto x = call(op::write_file, fields{}.set("path", "a/b/c.bin"), {"\0\xff", content.substr(1)});
  CHECK(x.ok());
  auto y = call(op::write_file, fields{}.set("path", "a/b/c.bin"),
                {content.substr(0, 2), content.substr(2)});
  CHECK(y.header.integer("bytes") == 7);
  CHECK(get("a/b/c.bin") == content);
  CHECK(names() == strings{"a", "a/b", "a/b/c.bin"});
}

TEST_CASE_FIXTURE(sandbox, "a new file has the mode that the umask leaves") {
  auto mask = ::umask(027);
  CHECK(write("d/new", "x").ok());
  ::umask(mask);
  CHECK((status_of(at("d/new")).st_mode & 07777) == 0640);
  CHECK((status_of(at("d")).st_mode & 07777) == 0750);
}

TEST_CASE_FIXTURE(sandbox, "an existing file is replaced as a whole and keeps its mode") {
  put("a", "a longer content than the new");
  fs::permissions(at("a"), fs::perms{0751});
  auto before = status_of(at("a"));
  CHECK(write("a", "short").ok());
  CHECK(get("a") == "short");
  auto after = status_of(at("a"));
  CHECK((after.st_mode & 07777) == 0751);
  CHECK(after.st_ino != before.st_ino);
  CHECK(names() == strings{"a"});
}

TEST_CASE_FIXTURE(sandbox, "a reader of the old content keeps it") {
  put("a", "old");
  unique_fd held{::open(at("a").c_str(), O_RDONLY | O_CLOEXEC)};
  CHECK(write("a", "new").ok());
  char buffer[8] = {};
  CHECK(::pread(held.get(), buffer, sizeof buffer, 0) == 3);
  CHECK(std::string{buffer} == "old");
}

TEST_CASE_FIXTURE(sandbox, "an empty content empties the file") {
  put("a", "old");
  CHECK(call(op::write_file, fields{}.set("path", "a")).header.integer("bytes") == 0);
  CHECK(get("a").empty());
  CHECK(call(op::update_file, fields{}.set("path", "new"), {}).ok());
  CHECK(get("new").empty());
}

TEST_CASE_FIXTURE(sandbox, "append adds at the end and makes what is missing") {
  CHECK(write("log/a", "one\r\n", true).ok());
  auto before = status_of(at("log/a"));
  auto x = write("log/a", "two", true);
  CHECK(x.header.integer("bytes") == 3);
  CHECK(get("log/a") == "one\r\ntwo");
  CHECK(status_of(at("log/a")).st_ino == before.st_ino);
  CHECK(call(op::update_file, fields{}.set("path", "log/a").set("append", true), {"x"}).ok());
  CHECK(get("log/a") == "x");
}

TEST_CASE_FIXTURE(sandbox, "a file with several names is written in place under all of them") {
  put("a", "old content, longer");
  fs::create_hard_link(at("a"), at("b"));
  CHECK(write("a", "new").ok());
  CHECK(get("b") == "new");
  CHECK(write("b", "and much longer than before").ok());
  CHECK(get("a") == "and much longer than before");
  CHECK(replace("a", "much", "even").ok());
  CHECK(get("b") == "and even longer than before");
  CHECK(status_of(at("a")).st_nlink == 2);
  CHECK(names() == strings{"a", "b"});
}

TEST_CASE_FIXTURE(sandbox, "a link is kept and what it leads to is replaced, or made") {
  put("real/a", "old");
  fs::create_symlink("real/a", at("link"));
  fs::create_symlink("real/new", at("dangling"));
  CHECK(write("link", "new").ok());
  CHECK(write("dangling", "made").ok());
  CHECK(fs::is_symlink(at("link")));
  CHECK(fs::is_symlink(at("dangling")));
  CHECK(get("real/a") == "new");
  CHECK(get("real/new") == "made");
}

TEST_CASE_FIXTURE(sandbox, "names that look like options or hold newlines are names") {
  for (auto name : {"-rf", "--", "new\nline", " ", "*", "$(x)", "\xff"}) {
    CHECK(write(name, "x").ok());
    CHECK(get(name) == "x");
  }
}

TEST_CASE_FIXTURE(sandbox, "a name that is too long, and the mount itself, are refused") {
  CHECK(write(std::string(256, 'n'), "x").code() == "invalid_request");
  CHECK(write(".", "x").code() == "is_a_directory");
  CHECK(write("/", "x").code() == "is_a_directory");
}

TEST_CASE_FIXTURE(sandbox, "without O_TMPFILE a temporary name is used and goes again") {
  settings.unnamed_temporaries = false;
  put("a", "old");
  fs::permissions(at("a"), fs::perms{0600});
  auto in = std::make_shared<scripted_payload>();
  in->pieces = {"new"};
  in->before_end = [&] {
    CHECK(names().size() == 2);
    CHECK(list(".").paths().size() == 1);
  };
  CHECK(call(op::write_file, fields{}.set("path", "a"), in, std::make_shared<recording_writer>())
            .ok());
  CHECK(write("b", "made").ok());
  CHECK(get("a") == "new");
  CHECK(fs::status(at("a")).permissions() == fs::perms{0600});
  CHECK(names() == strings{"a", "b"});
}

TEST_CASE_FIXTURE(sandbox,
                  "as root: a set-group-id directory gives its group, and a file keeps its bits"
                      * doctest::skip(corral::test::skip_unless(is_root(), "files of other owners",
                                                                "only root can give files away"))) {
  fs::create_directory(at("shared"));
  REQUIRE(::chown(at("shared").c_str(), 0, 4242) == 0);
  REQUIRE(::chmod(at("shared").c_str(), 02770) == 0);
  CHECK(write("shared/d/new", "x").ok());
  CHECK(status_of(at("shared/d/new")).st_gid == 4242);
  CHECK((status_of(at("shared/d")).st_mode & S_ISGID) != 0);

  put("a", "old");
  REQUIRE(::chown(at("a").c_str(), 0, 4243) == 0);
  REQUIRE(::chmod(at("a").c_str(), 02755) == 0);
  CHECK(write("a", "new").ok());
  CHECK(status_of(at("a")).st_gid == 4243);
  CHECK((status_of(at("a")).st_mode & 07777) == 02755);
}

TEST_CASE_FIXTURE(sandbox,
                  "as root: a file of another owner is written in place"
                      * doctest::skip(corral::test::skip_unless(is_root(), "files of other owners",
                                                                "only root can give files away"))) {
  put("a", "old, and longer than the new");
  REQUIRE(::chown(at("a").c_str(), 4242, 4242) == 0);
  auto before = status_of(at("a"));
  CHECK(write("a", "new").ok());
  auto after = status_of(at("a"));
  CHECK(after.st_ino == before.st_ino);
  CHECK(after.st_uid == 4242);
  CHECK(get("a") == "new");
}

TEST_CASE_FIXTURE(sandbox, "what lies in a directory that takes no new files is written in place") {
  put("d/a", "old, and longer than the new");
  as_ordinary_user user{home.path()};
  fs::permissions(at("d"), fs::perms{0555});
  CHECK(write("d/a", "new").ok());
  CHECK(write("d/b", "x").code() == "permission_denied");
  CHECK(get("d/a") == "new");
  fs::permissions(at("d"), fs::perms{0755});
}

TEST_CASE_FIXTURE(sandbox, "a file without write permission is not replaced") {
  put("a", "old");
  as_ordinary_user user{home.path()};
  fs::permissions(at("a"), fs::perms{0444});
  for (auto append : {false, true})
    CHECK(write("a", "new", append).code() == "permission_denied");
  CHECK(replace("a", "old", "new").code() == "permission_denied");
  CHECK(get("a") == "old");
}

TEST_CASE_FIXTURE(sandbox, "a program that runs is replaced and goes on") {
  fs::copy_file("/bin/sleep", at("program"));
  auto child = child_process::spawn({{at("program"), "60"}, {}, {}});
  REQUIRE(child);
  CHECK(write("program", "new").ok());
  CHECK(get("program") == "new");
  CHECK_FALSE(child->wait_for(std::chrono::milliseconds{0}));
}

#include "os/files.hpp"

#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>
#include <thread>

using namespace corral;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  CHECK(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

size_t entries_in(const fs::path& dir) {
  return static_cast<size_t>(std::distance(fs::directory_iterator{dir}, {}));
}

} // namespace

TEST_CASE("a small file is read whole up to its limit and refused above it") {
  auto dir = temp_dir::make("files").value();
  auto path = dir.path() / "f";
  std::string content(10'000, 'x');
  content[5'000] = '\0';
  REQUIRE(write_file_atomically(path, content));
  CHECK(read_small_file(path).value() == content);
  CHECK(read_small_file(path, 10'000).value() == content);
  CHECK(read_small_file(path, 9'999).error().number == EFBIG);
  CHECK(read_small_file(dir.path() / "none").error().number == ENOENT);
  CHECK(read_small_file(dir.path()).error().number == EISDIR);
}

TEST_CASE("an atomic write replaces the file, with the mode asked for, and leaves nothing else") {
  auto dir = temp_dir::make("files").value();
  auto path = dir.path() / "f";
  REQUIRE(write_file_atomically(path, "a longer first content"));
  CHECK(mode_of(path) == 0600);
  REQUIRE(write_file_atomically(path, "second", 0400));
  CHECK(mode_of(path) == 0400);
  CHECK(read_small_file(path).value() == "second");
  CHECK(entries_in(dir.path()) == 1);
}

TEST_CASE("an atomic write replaces a link instead of writing through it") {
  auto dir = temp_dir::make("files").value();
  REQUIRE(write_file_atomically(dir.path() / "victim", "kept"));
  fs::create_symlink("victim", dir.path() / "f");
  REQUIRE(write_file_atomically(dir.path() / "f", "new"));
  CHECK(read_small_file(dir.path() / "victim").value() == "kept");
  CHECK(fs::is_regular_file(fs::symlink_status(dir.path() / "f")));
}

TEST_CASE("an atomic write that fails leaves the old and no half file") {
  auto dir = temp_dir::make("files").value();
  fs::create_directory(dir.path() / "f");
  CHECK_FALSE(write_file_atomically(dir.path() / "f", "x"));
  CHECK(entries_in(dir.path()) == 1);
  CHECK(write_file_atomically(dir.path() / "no" / "f", "x").error().number == ENOENT);
}

TEST_CASE("a knob must exist") {
  auto dir = temp_dir::make("files").value();
  auto path = dir.path() / "knob";
  CHECK(write_knob(path, "1").error().number == ENOENT);
  REQUIRE(write_file_atomically(path, ""));
  CHECK(write_knob(path, "max"));
  CHECK(read_small_file(path).value() == "max");
}

TEST_CASE("a long write to a pipe arrives whole") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  unique_fd in{ends[0]}, out{ends[1]};
  std::string sent(1'000'000, 'x'), got;
  std::thread reader{[&] {
    char chunk[4096];
    for (ssize_t n; (n = ::read(in.get(), chunk, sizeof chunk)) > 0;)
      got.append(chunk, static_cast<size_t>(n));
  }};
  auto written = write_all(out, sent);
  out.reset();
  reader.join();
  CHECK(written);
  CHECK(got == sent);
  CHECK(write_all(unique_fd{}, "x").error().number == EBADF);
}

TEST_CASE("a directory is made with its mode whatever the umask, and made again without harm") {
  auto dir = temp_dir::make("files").value();
  auto path = dir.path() / "d";
  auto before = ::umask(077);
  auto made = make_directory(path, 02770);
  ::umask(before);
  REQUIRE(made);
  CHECK(mode_of(path) == 02770);
  REQUIRE(write_file_atomically(path / "f", "x"));
  REQUIRE(make_directory(path, 0711));
  CHECK(mode_of(path) == 0711);
  CHECK(fs::exists(path / "f"));
}

TEST_CASE("a file or a link in a directory's place is refused and left alone") {
  auto dir = temp_dir::make("files").value();
  REQUIRE(make_directory(dir.path() / "target", 0700));
  fs::create_directory_symlink("target", dir.path() / "link");
  CHECK_FALSE(make_directory(dir.path() / "link", 0777));
  CHECK(mode_of(dir.path() / "target") == 0700);
  REQUIRE(write_file_atomically(dir.path() / "f", "x"));
  CHECK(make_directory(dir.path() / "f", 0777).error().number == ENOTDIR);
}

TEST_CASE("a start time names a process whatever it calls itself") {
  auto started = process_start_time(::getpid()).value();
  char old[16]{};
  REQUIRE(::prctl(PR_GET_NAME, old) == 0);
  for (auto name : {") R 1 2 3", "a b) S 9", "((((", "\n) 1\n", ")"}) {
    REQUIRE(::prctl(PR_SET_NAME, name) == 0);
    CHECK(process_start_time(::getpid()).value() == started);
  }
  ::prctl(PR_SET_NAME, old);
}

TEST_CASE("a process that isn't there has no start time") {
  CHECK(process_start_time(-1).error().number == ESRCH);
  CHECK(process_start_time(0x3fffffff).error().number == ESRCH);
}

#include "fixture.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

using namespace corral;
using namespace corral::guest::test;
namespace fs = std::filesystem;

namespace {

fields lines_of(const std::string& path, int64_t first, int64_t last) {
  return fields{}.set("path", path).set("start_line", first).set("end_line", last);
}

} // namespace

TEST_CASE_FIXTURE(sandbox, "a file is read byte for byte, with its size") {
  std::string content = "\xef\xbb\xbfone\r\n\ttwo\n\nno newline at the end";
  put("a.txt", content);
  auto x = read("a.txt");
  CHECK(x.ok());
  CHECK(x.content == content);
  CHECK(x.header.integer("size") == static_cast<int64_t>(content.size()));
}

TEST_CASE_FIXTURE(sandbox, "an empty file is read as nothing") {
  put("empty", "");
  auto x = read("empty");
  CHECK(x.ok());
  CHECK(x.content.empty());
  CHECK(x.header.integer("size") == 0);
}

TEST_CASE_FIXTURE(sandbox, "lines are counted from 1, both ends included, endings kept") {
  put("a.txt", "one\r\ntwo\n\nfour");
  struct {
    int64_t first, last;
    std::string expected;
  } rows[] = {{1, 1, "one\r\n"}, {2, 3, "two\n\n"}, {4, 4, "four"}, {2, 99, "two\n\nfour"},
              {5, 9, ""},        {3, 2, ""},        {1, 0, ""},     {1, 4, "one\r\ntwo\n\nfour"},
              {3, 3, "\n"},      {99, 99, ""}};
  for (auto& row : rows) {
    CAPTURE(row.first);
    CAPTURE(row.last);
    auto x = call(op::read_file, lines_of("a.txt", row.first, row.last));
    CHECK(x.ok());
    CHECK(x.content == row.expected);
  }
  CHECK(call(op::read_file, fields{}.set("path", "a.txt").set("start_line", 3)).content
        == "\nfour");
  CHECK(call(op::read_file, fields{}.set("path", "a.txt").set("end_line", 1)).content == "one\r\n");
}

TEST_CASE_FIXTURE(sandbox, "lines are found across the pieces a file is read in") {
  std::string content;
  for (int i = 1; i <= 30'000; ++i)
    content += "line " + std::to_string(i) + "\n";
  put("long", content);
  CHECK(call(op::read_file, lines_of("long", 29'999, 30'000)).content
        == "line 29999\nline 30000\n");
  put("huge line", std::string(300'000, 'x') + "\nsecond\n");
  CHECK(call(op::read_file, lines_of("huge line", 2, 2)).content == "second\n");
  CHECK(call(op::read_file, lines_of("huge line", 1, 1)).content.size() == 300'001);
}

TEST_CASE_FIXTURE(sandbox, "what is not text is refused, and the rest of the file doesn't matter") {
  put("latin1", "caf\xe9\n");
  put("nul", std::string{"a\nb\0c\n", 6});
  put("cut", "ends within \xe2\x82");
  for (auto name : {"latin1", "nul", "cut"}) {
    auto x = read(name);
    CHECK(x.code() == "not_text");
    CHECK(x.message().find("download_file") != std::string::npos);
  }
  CHECK(call(op::read_file, lines_of("nul", 1, 1)).content == "a\n");
}

TEST_CASE_FIXTURE(sandbox, "text far into a file is checked too") {
  put("late", std::string(200'000, 'a') + "\xff");
  CHECK(read("late").code() == "not_text");
  // A code point that two pieces share is no error.
  put("across", std::string(65'535, 'a') + "\xe2\x82\xac" + std::string(70'000, 'b'));
  CHECK(read("across").content.size() == 65'535 + 3 + 70'000);
}

TEST_CASE_FIXTURE(sandbox,
                  "text over the limit is refused with what to do; its lines can be read") {
  settings.text_max_bytes = 1000;
  put("big", std::string(600, 'a') + "\n" + std::string(600, 'b') + "\n");
  auto x = read("big");
  CHECK(x.code() == "file_too_large");
  CHECK(x.message().find("start_line") != std::string::npos);
  CHECK(x.message().find("download_file") != std::string::npos);
  CHECK(call(op::read_file, lines_of("big", 2, 2)).content.size() == 601);
}

TEST_CASE_FIXTURE(sandbox, "a download is any bytes, with their checksum") {
  put("bin", std::string{"\0\xff\r\n", 4});
  auto x = call(op::download_file, fields{}.set("path", "bin"));
  CHECK(x.content == std::string{"\0\xff\r\n", 4});
  CHECK(x.header.integer("size") == 4);
  CHECK(x.header.text("sha256")
        == "e9489f37fb3051e9efa1dc916004d7274e7b63975e3209708947267f2393a9be");
}

TEST_CASE_FIXTURE(sandbox, "a download of a range has the checksum of the range") {
  put("abc", "xxabcyy");
  auto range = [&](int64_t offset, int64_t length) {
    return call(op::download_file,
                fields{}.set("path", "abc").set("offset", offset).set("length", length));
  };
  auto x = range(2, 3);
  CHECK(x.content == "abc");
  CHECK(x.header.integer("size") == 7);
  // FIPS 180-2, appendix B.1.
  CHECK(x.header.text("sha256")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(range(5, 1000).content == "yy");
  CHECK(range(7, 10).ok());
  CHECK(range(1'000'000, 10).content.empty());
  auto nothing = range(0, 0);
  CHECK(nothing.content.empty());
  CHECK(nothing.header.text("sha256")
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE_FIXTURE(sandbox, "a download over the limit of one transfer is refused at once") {
  settings.transfer_max_bytes = 1000;
  put("big", std::string(1001, 'a'));
  auto x = call(op::download_file, fields{}.set("path", "big"));
  CHECK(x.code() == "file_too_large");
  CHECK(x.message().find("offset") != std::string::npos);
  CHECK(x.content.empty());
  CHECK(call(op::download_file, fields{}.set("path", "big").set("length", 1000)).ok());
}

TEST_CASE_FIXTURE(sandbox, "a file that shrinks under a download ends it with an error") {
  put("shrinks", std::string(2'000'000, 'a'));
  auto out = std::make_shared<recording_writer>();
  out->on_write = [&] { fs::resize_file(at("shrinks"), 300'000); };
  auto x = call(op::download_file, fields{}.set("path", "shrinks"),
                std::make_shared<scripted_payload>(), out);
  CHECK(x.code() == "busy");
}

TEST_CASE_FIXTURE(sandbox, "a file that grows under a download is sent as long as promised") {
  put("grows", std::string(600'000, 'a'));
  auto out = std::make_shared<recording_writer>();
  out->on_write = [&] { fs::resize_file(at("grows"), 900'000); };
  auto x = call(op::download_file, fields{}.set("path", "grows"),
                std::make_shared<scripted_payload>(), out);
  CHECK(x.ok());
  CHECK(x.content.size() == 600'000);
}

TEST_CASE_FIXTURE(sandbox, "what is no regular file is refused by its type, without waiting") {
  REQUIRE(::mkfifo(at("looks_like.txt").c_str(), 0666) == 0);
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  at("socket.txt").native().copy(name.sun_path, sizeof name.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  fs::create_directory(at("directory.txt"));
  for (auto id : {op::read_file, op::download_file, op::write_file, op::update_file}) {
    CAPTURE(spec_of(id).name);
    for (auto path : {"looks_like.txt", "socket.txt", "/dev/zero", "/dev/null"})
      CHECK(call(id, fields{}.set("path", path)).code() == "not_regular_file");
    CHECK(call(id, fields{}.set("path", "directory.txt")).code() == "is_a_directory");
  }
  CHECK(replace("looks_like.txt", "a", "b").code() == "not_regular_file");
  CHECK(grep("looks_like.txt", "a").code() == "not_regular_file");
  ::close(fd);
}

TEST_CASE_FIXTURE(sandbox, "a link to a device outside is refused as a link that leads out") {
  fs::create_symlink("/dev/zero", at("zero"));
  CHECK(read("zero").code() == "permission_denied");
}

TEST_CASE_FIXTURE(sandbox, "an error names the path as requested and the operation") {
  auto x = read("no/such.txt");
  CHECK(x.code() == "file_not_found");
  CHECK(x.message() == "no such file or directory: /mnt/user-data/workspace/no/such.txt");
  CHECK(x.details().text("path") == "no/such.txt");
  CHECK(x.details().text("operation") == "read_file");
  CHECK(x.header.dump().find(home.path().native()) == std::string::npos);
}

TEST_CASE_FIXTURE(sandbox, "the kernel's files without a size are read, up to a limit") {
  auto x = read("/proc/version");
  CHECK(x.ok());
  CHECK(x.content.starts_with("Linux"));
  CHECK(x.header.integer("size") == static_cast<int64_t>(x.content.size()));
}

TEST_CASE_FIXTURE(sandbox, "nothing of any process can be read through /proc, or changed") {
  auto own = "/proc/" + std::to_string(::getpid());
  for (auto path :
       {std::string{"/proc/self/environ"}, std::string{"/proc/self/mem"},
        std::string{"/proc/thread-self/maps"}, std::string{"/proc/1/environ"}, own + "/mem",
        own + "/root/etc/passwd", own + "/cwd/x", std::string{"/dev/fd/0"}}) {
    CAPTURE(path);
    CHECK(call(op::download_file, fields{}.set("path", path)).code() == "permission_denied");
  }
  CHECK(write("/proc/sys/kernel/hostname", "x").code() == "read_only");
  for (auto path : {"/proc", "/proc/sys"})
    CHECK(list(path).code() == "permission_denied");
}

TEST_CASE_FIXTURE(sandbox, "a read that is cancelled or out of time is busy") {
  put("big", std::string(3'000'000, 'a'));
  auto out = std::make_shared<recording_writer>();
  out->checks_before_cancel = 5;
  auto x = call(op::download_file, fields{}.set("path", "big"),
                std::make_shared<scripted_payload>(), out);
  CHECK(x.code() == "busy");
  CHECK(x.header.object("error")->flag("retryable") == true);
}

#include "apps/cli/content.hpp"

#include <doctest/doctest.h>

#include "os/files.hpp"
#include "os/temp_dir.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using namespace corral;
using namespace corral::cli;

namespace {

struct one_file {
  temp_dir dir = temp_dir::make("corral-cli-").value();
  std::string path = (dir.path() / "f").native();

  explicit one_file(std::string_view text) { REQUIRE(write_file_atomically(path, text)); }
};

} // namespace

TEST_CASE("a file's bytes are read from any offset, at most to its end") {
  one_file file{"0123456789"};
  auto x = content::open(file.path, 100);
  REQUIRE(x);
  CHECK(x->size() == 10);
  CHECK(x->read(0, 4)->view() == "0123");
  CHECK(x->read(8, 4)->view() == "89");
  CHECK(x->read(50, 4)->view() == "");
}

TEST_CASE("a file above the limit is refused before anything is sent") {
  one_file file{"0123456789"};
  CHECK(content::open(file.path, 10));
  auto x = content::open(file.path, 9);
  REQUIRE(!x);
  CHECK(x.error().code == "file_too_large");
}

TEST_CASE("a file that became shorter is an error, not fewer bytes") {
  one_file file{"0123456789"};
  auto x = content::open(file.path, 100);
  REQUIRE(x);
  REQUIRE(::truncate(file.path.c_str(), 5) == 0);
  CHECK(!x->read(0, 10));
}

/// Stdin for as long as this lives: a pipe with some bytes in it, at its end after them.
class piped_stdin {
public:
  explicit piped_stdin(std::string_view bytes) : before_{::dup(STDIN_FILENO)} {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    unique_fd read{ends[0]};
    unique_fd write{ends[1]};
    REQUIRE(write_all(write, bytes));
    ::dup2(read.get(), STDIN_FILENO);
  }
  ~piped_stdin() { ::dup2(before_.get(), STDIN_FILENO); }

private:
  unique_fd before_;
};

TEST_CASE("what comes through a pipe is collected first, within the limit") {
  {
    piped_stdin pipe{"abc"};
    auto x = content::open("", 3);
    REQUIRE(x);
    CHECK(x->size() == 3);
    CHECK(x->read(1, 2)->view() == "bc");
  }
  piped_stdin pipe{"abc"};
  auto x = content::open("", 2);
  REQUIRE(!x);
  CHECK(x.error().code == "file_too_large");
}

TEST_CASE("a directory and a missing file are errors that name them") {
  temp_dir dir = temp_dir::make("corral-cli-").value();
  auto directory = content::open(dir.path().native(), 100);
  REQUIRE(!directory);
  CHECK(directory.error().message.find(dir.path().native()) != std::string::npos);
  CHECK(!content::open((dir.path() / "none").native(), 100));
}

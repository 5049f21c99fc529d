#include "os/socket.hpp"

#include "os/files.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

using namespace corral;
namespace fs = std::filesystem;

namespace {

unique_fd accepted(const unique_fd& listener) {
  unique_fd fd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  REQUIRE(fd);
  return fd;
}

bool closes_on_exec(const unique_fd& fd) {
  return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
}

} // namespace

TEST_CASE("who connects is known by pid, uid and gid") {
  auto dir = temp_dir::make("socket").value();
  auto path = dir.path() / "s";
  auto listener = listen_unix(path, 0600).value();
  auto ours = connect_unix(path).value();
  auto theirs = accepted(listener);
  auto peer = peer_of(theirs.get());
  REQUIRE(peer);
  CHECK(peer->pid == ::getpid());
  CHECK(peer->uid == ::getuid());
  CHECK(peer->gid == ::getgid());
  REQUIRE(write_all(ours, "hi"));
  char got[2]{};
  CHECK(::read(theirs.get(), got, 2) == 2);
}

TEST_CASE("a socket has the mode asked for and closes on exec") {
  auto dir = temp_dir::make("socket").value();
  auto path = dir.path() / "s";
  auto listener = listen_unix(path, 0660).value();
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0660);
  CHECK(closes_on_exec(listener));
  CHECK(closes_on_exec(connect_unix(path).value()));
  auto pair = socket_pair().value();
  CHECK(closes_on_exec(pair.first));
  CHECK(closes_on_exec(pair.second));
}

TEST_CASE("listening never blocks in accept") {
  auto dir = temp_dir::make("socket").value();
  auto listener = listen_unix(dir.path() / "s", 0600).value();
  CHECK(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("a stale socket is replaced") {
  auto dir = temp_dir::make("socket").value();
  auto path = dir.path() / "s";
  CHECK(connect_unix(path).error().number == ENOENT);
  REQUIRE(listen_unix(path, 0600)); // Closed at once, its file stays.
  CHECK(connect_unix(path).error().number == ECONNREFUSED);
  auto listener = listen_unix(path, 0600);
  REQUIRE(listener);
  CHECK(connect_unix(path));
}

TEST_CASE("what is not a socket is never replaced") {
  auto dir = temp_dir::make("socket").value();
  auto path = dir.path() / "s";
  REQUIRE(write_file_atomically(path, "precious"));
  CHECK(listen_unix(path, 0600).error().number == EADDRINUSE);
  CHECK(read_small_file(path).value() == "precious");
  fs::create_symlink("s", dir.path() / "link");
  CHECK(listen_unix(dir.path() / "link", 0600).error().number == EADDRINUSE);
}

TEST_CASE("a path that no socket address holds is refused") {
  auto dir = temp_dir::make("socket").value();
  auto path = dir.path() / std::string(108, 'x');
  CHECK(listen_unix(path, 0600).error().number == ENAMETOOLONG);
  CHECK(connect_unix(path).error().number == ENAMETOOLONG);
  fs::path longest = dir.path() / std::string(107 - dir.path().native().size() - 1, 'x');
  auto listener = listen_unix(longest, 0600);
  REQUIRE(listener);
  CHECK(connect_unix(longest));
}

TEST_CASE("only a socket has a peer") {
  unique_fd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  CHECK(peer_of(null.get()).error().number == ENOTSOCK);
  auto pair = socket_pair().value();
  CHECK(peer_of(pair.first.get())->pid == ::getpid());
}

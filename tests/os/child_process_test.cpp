#include "os/child_process.hpp"

#include "os/files.hpp"
#include "os/socket.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

using namespace corral;
using namespace std::chrono_literals;

namespace {

/// What a shell command prints; its standard output is a pipe, all else as `options` say.
std::string output_of(std::string command, spawn_options options = {}) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  unique_fd in{ends[0]}, out{ends[1]};
  options.argv = {"/bin/sh", "-c", std::move(command)};
  options.descriptors.emplace_back(out.get(), 1);
  auto child = child_process::spawn(options);
  REQUIRE(child);
  out.reset();
  std::string result;
  char chunk[4096];
  for (ssize_t n; (n = ::read(in.get(), chunk, sizeof chunk)) > 0;)
    result.append(chunk, static_cast<size_t>(n));
  CHECK(child->wait_for(10s));
  return result;
}

child_process start(std::string command) {
  spawn_options options;
  options.argv = {"/bin/sh", "-c", std::move(command)};
  auto child = child_process::spawn(options);
  REQUIRE(child);
  return std::move(*child);
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

} // namespace

TEST_CASE("a child inherits nothing of the environment and gets what is listed") {
  ::setenv("CORRAL_TEST_SECRET", "hunter2", 1);
  spawn_options options;
  options.environment = {"GIVEN=yes", "PATH=/usr/bin:/bin"};
  auto text = output_of("env", options);
  ::unsetenv("CORRAL_TEST_SECRET");
  CHECK(text.find("GIVEN=yes\n") != std::string::npos);
  CHECK(text.find("hunter2") == std::string::npos);
}

TEST_CASE("a child has no descriptor of ours, close-on-exec or not") {
  unique_fd leaky{::open("/dev/null", O_RDONLY)};
  unique_fd high{::fcntl(leaky.get(), F_DUPFD, 200)};
  REQUIRE(high);
  // The shell's globbing opens the directory itself, as the descriptor after the last.
  CHECK(output_of("cd /proc/self/fd && echo *") == "0 1 2 3\n");
}

TEST_CASE("standard descriptors that are not given are /dev/null") {
  CHECK(output_of("readlink /proc/$$/fd/0 /proc/$$/fd/2") == "/dev/null\n/dev/null\n");
}

TEST_CASE("descriptors arrive under the numbers asked for, even if ours overlap them") {
  auto pair = socket_pair();
  REQUIRE(pair);
  // Each one's number is the other's target.
  int a = pair->first.get(), b = pair->second.get();
  spawn_options options;
  options.descriptors = {{a, b}, {b, a}};
  auto text = output_of(
      "readlink /proc/$$/fd/" + std::to_string(a) + " /proc/$$/fd/" + std::to_string(b), options);
  auto name = [](int fd) {
    char target[64]{};
    CHECK(::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target) > 0);
    return std::string{target};
  };
  CHECK(text == name(b) + "\n" + name(a) + "\n");
}

TEST_CASE("a child starts with no signal blocked or ignored") {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  auto old = ::signal(SIGPIPE, SIG_IGN);
  auto text = output_of("cat /proc/self/status");
  ::signal(SIGPIPE, old);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  // Bits 31 and 32 are the C library's own signals, which posix_spawn ignores.
  constexpr auto standard_signals = 0x7fffffffull;
  for (auto name : {"SigBlk:\t", "SigIgn:\t"}) {
    auto at = text.find(name);
    REQUIRE(at != std::string::npos);
    CHECK((std::stoull(text.substr(at + 8, 16), nullptr, 16) & standard_signals) == 0);
  }
}

TEST_CASE("the wait status says how a child ended") {
  auto exited = start("exit 7");
  auto status = exited.wait_for(10s);
  REQUIRE(status);
  CHECK(WEXITSTATUS(*status) == 7);
  auto killed = start("exec sleep 1000");
  killed.kill(SIGTERM);
  status = killed.wait_for(10s);
  REQUIRE(status);
  CHECK(WTERMSIG(*status) == SIGTERM);
}

TEST_CASE("a wait ends at its limit, and a later one still sees the end") {
  auto child = start("exec sleep 1000");
  CHECK_FALSE(child.wait_for(0ms));
  CHECK_FALSE(child.wait_for(5ms));
  child.kill(SIGKILL);
  CHECK(child.wait_for(10s));
  CHECK_FALSE(child.wait_for(0ms)); // Reaped: there is nothing left to wait for.
}

TEST_CASE("a child is killed and reaped with its owner") {
  pid_t pid = -1;
  {
    auto child = start("trap '' TERM INT; while :; do sleep 1000; done");
    pid = child.pid();
    CHECK(exists(pid));
  }
  CHECK_FALSE(exists(pid)); // A zombie would still be there.
}

TEST_CASE("a moved child lives on and ends with its new owner") {
  pid_t pid = -1;
  {
    auto second = start("exec sleep 1000");
    pid = second.pid();
    {
      auto first = start("exec sleep 1000");
      std::swap(first, second);
    }
    CHECK_FALSE(exists(pid));
    pid = second.pid();
    CHECK(exists(pid));
  }
  CHECK_FALSE(exists(pid));
}

TEST_CASE("a program that isn't there is an error that names it") {
  spawn_options options;
  options.argv = {"/no/such/program"};
  auto child = child_process::spawn(options);
  REQUIRE_FALSE(child);
  CHECK(child.error().number == ENOENT);
  CHECK(child.error().what == "start /no/such/program: No such file or directory");
}

TEST_CASE("a descriptor that isn't open is an error, not a child without it") {
  spawn_options options;
  options.argv = {"/bin/true"};
  options.descriptors = {{-1, 3}};
  auto child = child_process::spawn(options);
  REQUIRE_FALSE(child);
  CHECK(child.error().number == EBADF);
}

TEST_CASE("a child that could not be waited for is not left running") {
  // One descriptor is enough for posix_spawn, none is left for the pidfd.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  unique_fd lowest_free{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  auto tight = before;
  tight.rlim_cur = static_cast<rlim_t>(lowest_free.get());
  lowest_free.reset();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
  spawn_options options;
  options.argv = {"/bin/sleep", "1000"};
  auto child = child_process::spawn(options);
  ::setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE_FALSE(child);
  CHECK(child.error().number == EMFILE);
  CHECK(child.error().what.starts_with("open process"));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1); // No child at all, not even a zombie.
}

TEST_CASE("a process is found by its pid and start time") {
  auto child = start("exec sleep 1000");
  auto started = process_start_time(child.pid());
  REQUIRE(started);
  auto other = foreign_process::open(child.pid(), *started);
  REQUIRE(other);
  CHECK_FALSE(other->wait_for_end(0ms));
  CHECK(other->kill(SIGKILL));
  CHECK(other->wait_for_end(10s));
  CHECK(child.wait_for(10s));
  CHECK(other->kill(SIGKILL)); // Gone already is success.
}

TEST_CASE("a pid whose start time differs is another process and is not opened") {
  auto child = start("exec sleep 1000");
  auto started = process_start_time(child.pid());
  REQUIRE(started);
  auto other = foreign_process::open(child.pid(), *started + 1);
  REQUIRE_FALSE(other);
  CHECK(other.error().number == ESRCH);
}

TEST_CASE("a process that ended is not opened") {
  pid_t pid = -1;
  {
    auto child = start("exec sleep 1000");
    pid = child.pid();
  }
  auto other = foreign_process::open(pid, 1);
  REQUIRE_FALSE(other);
  CHECK(other.error().number == ESRCH);
}

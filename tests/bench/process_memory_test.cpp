#include "bench/process_memory.hpp"

#include <doctest/doctest.h>

#include "os/child_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

using namespace corral;
using namespace corral::bench;

TEST_CASE("memory that was touched is resident, and a share of it is ours") {
  auto before = resident_bytes(::getpid());
  constexpr size_t size = 32 << 20;
  std::vector<char> touched(size, 1);
  auto after = resident_bytes(::getpid());
  CHECK(after - before > size / 2);
  CHECK(proportional_bytes(::getpid()) > size / 2);
  CHECK(proportional_bytes(::getpid()) <= resident_bytes(::getpid()));
  CHECK(touched[size - 1] == 1);
}

TEST_CASE("a process that is gone has no memory") {
  CHECK(resident_bytes(0x7ffffffe) == 0);
  CHECK(proportional_bytes(0x7ffffffe) == 0);
}

TEST_CASE("each child counts with all its descendants") {
  spawn_options shell;
  // The grandchild ends with its input, which is ours.
  shell.argv = {"/bin/sh", "-c", "/bin/cat <&3 & echo; wait"};
  int out[2], in[2];
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
  unique_fd read{out[0]}, write{out[1]}, input{in[0]}, end_of_input{in[1]};
  shell.descriptors = {{write.get(), 1}, {input.get(), 3}};
  auto child = child_process::spawn(shell);
  REQUIRE(child);
  char started;
  REQUIRE(::read(read.get(), &started, 1) == 1);
  auto found = sandbox_bytes(::getpid());
  REQUIRE(found.size() == 1);
  CHECK(found.front() > proportional_bytes(child->pid()));
}

#include "providers/namespace/seccomp_filter.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <unistd.h>

#include <vector>

using namespace corral;
using namespace corral::jail;

namespace {

std::vector<sock_filter> program_of(const seccomp_filter& filter) {
  auto fd = filter.open().value();
  std::vector<sock_filter> result(4096);
  auto n = ::read(fd.get(), result.data(), result.size() * sizeof(sock_filter));
  REQUIRE(n > 0);
  REQUIRE(static_cast<size_t>(n) % sizeof(sock_filter) == 0);
  result.resize(static_cast<size_t>(n) / sizeof(sock_filter));
  return result;
}

} // namespace

TEST_CASE("the filter compiles to a program that the kernel takes in") {
  auto program = program_of(seccomp_filter::compile(false).value());
  CHECK(program.size() > 50);
  CHECK(program.size() < BPF_MAXINSNS);
  CHECK(BPF_CLASS(program.back().code) == BPF_RET);
}

TEST_CASE("every reader gets the whole program") {
  auto filter = seccomp_filter::compile(false).value();
  auto first = program_of(filter).size();
  CHECK(program_of(filter).size() == first);
}

TEST_CASE("debuggers get a filter with fewer rules") {
  CHECK(program_of(seccomp_filter::compile(true).value()).size()
        < program_of(seccomp_filter::compile(false).value()).size());
}

#include "apps/cli/doctor.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::cli;

namespace {

constexpr auto whole_help = "--bind-fd FD --ro-bind-fd FD --json-status-fd FD --disable-userns "
                            "--as-pid-1 --size BYTES --perms OCTAL";

} // namespace

TEST_CASE("a kernel is new enough from 5.11 on") {
  CHECK(judge_kernel("5.11.0").is == verdict::ok);
  CHECK(judge_kernel("6.1.0-18-amd64").is == verdict::ok);
  CHECK(judge_kernel("10.0").is == verdict::ok);
  CHECK(judge_kernel("5.10.0-28-amd64").is == verdict::fail);
  CHECK(judge_kernel("4.19").is == verdict::fail);
  CHECK(judge_kernel("odd").is == verdict::fail);
}

TEST_CASE("bubblewrap is judged by its options, and those it lacks are named") {
  CHECK(judge_bubblewrap("bubblewrap 0.8.0\n", whole_help).is == verdict::ok);
  auto x = judge_bubblewrap("bubblewrap 0.4.1\n", "--bind SRC DEST --size BYTES --perms OCTAL");
  CHECK(x.is == verdict::fail);
  CHECK(x.text.find("--bind-fd") != std::string::npos);
  CHECK(x.text.find("--size") == std::string::npos);
  CHECK(!x.fix.empty());
}

TEST_CASE("user namespaces must be there and, for a user, open to users") {
  CHECK(judge_user_namespaces({"96364\n", {}, {}, false}).is == verdict::ok);
  CHECK(judge_user_namespaces({"0\n", {}, {}, true}).is == verdict::fail);
  CHECK(judge_user_namespaces({{}, {}, {}, true}).is == verdict::fail);
  CHECK(judge_user_namespaces({"96364\n", "0\n", {}, false}).is == verdict::fail);
  CHECK(judge_user_namespaces({"96364\n", "0\n", {}, true}).is == verdict::ok);
  CHECK(judge_user_namespaces({"96364\n", "1\n", "1\n", false}).is == verdict::warn);
  CHECK(judge_user_namespaces({"96364\n", "1\n", "1\n", true}).is == verdict::ok);
}

TEST_CASE("the uid range must hold no account of the machine") {
  uid_range range{600'000, 665'535};
  auto passwd = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n";
  CHECK(judge_uid_range(range, passwd, "root:x:0:\n", "").is == verdict::ok);
  auto user = judge_uid_range(range, "eve:x:600000:1::/:/bin/sh\n", "", "");
  CHECK(user.is == verdict::fail);
  CHECK(user.text.find("user eve") != std::string::npos);
  CHECK(judge_uid_range(range, passwd, "staff:x:665535:\n", "").is == verdict::fail);
  CHECK(judge_uid_range(range, passwd, "staff:x:665536:\n", "").is == verdict::ok);
}

TEST_CASE("subordinate ids that overlap the uid range are a warning") {
  uid_range range{600'000, 665'535};
  CHECK(judge_uid_range(range, "", "", "eve:100000:65536\n").is == verdict::ok);
  CHECK(judge_uid_range(range, "", "", "eve:100000:65536\nbob:665535:10\n").is == verdict::warn);
  CHECK(judge_uid_range(range, "", "", "bob:599999:2\n").is == verdict::warn);
  CHECK(judge_uid_range(range, "", "", "bob:599999:1\n").is == verdict::ok);
}

TEST_CASE("a controller that can't be used is a warning with what to do") {
  CHECK(judge_controller("memory", "cgroup v1, /sys/fs/cgroup/memory").is == verdict::ok);
  auto x = judge_controller("memory", "");
  CHECK(x.is == verdict::warn);
  CHECK(!x.fix.empty());
}

#include "apps/cli/commands.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::cli;

namespace {

int status(const char* json) {
  return exit_status_of(*fields::parse(json));
}

} // namespace

TEST_CASE("the exit status is the command's own") {
  CHECK(status(R"({"exit_code": 0})") == 0);
  CHECK(status(R"({"exit_code": 3, "timed_out": false, "cancelled": false})") == 3);
  CHECK(status(R"({"exit_code": 255})") == 255);
}

TEST_CASE("a timeout and a cancel have statuses of their own") {
  CHECK(status(R"({"exit_code": null, "timed_out": true})") == 124);
  CHECK(status(R"({"exit_code": null, "cancelled": true})") == 130);
}

TEST_CASE("a shell that died of a signal gives 128 and the signal") {
  CHECK(status(R"({"exit_code": null, "signal": 9})") == 137);
}

TEST_CASE("a result that states no end at all is a failure of corral") {
  CHECK(status(R"({"exit_code": null})") == 125);
  CHECK(status(R"({"exit_code": null, "signal": -3})") == 125);
}

#include "actors/guest_protocol.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace std::chrono_literals;

namespace {

request checked(message x) {
  x.header.set("id", "r1").set("thread", "t1");
  auto r = check_request(std::move(x));
  REQUIRE(r);
  return std::move(*r);
}

request exec_request(fields more = {}) {
  message x;
  x.header = std::move(more.set("op", "exec"));
  x.add_part("command", blob::copy_of("true"));
  return checked(std::move(x));
}

request write_request(std::optional<int64_t> size, bool with_content) {
  message x;
  x.header.set("op", "write_file").set("path", "f");
  if (size)
    x.header.set("size", *size);
  if (with_content)
    x.add_part("content", blob::copy_of("abc"));
  return checked(std::move(x));
}

const request_defaults defaults{.exec_timeout_ms = 7000, .file_timeout_ms = 900};

} // namespace

TEST_CASE("the guest gets the op, its ticket and a time limit, and nothing of the target") {
  auto x = to_guest(exec_request(fields{}.set("cwd", "/tmp").set("queue_ms", 5)), 42, defaults);
  CHECK(x.header
        == fields{}.set("op", "exec").set("re", 42).set("cwd", "/tmp").set("timeout_ms", 7000));
  CHECK(x.part_of("command").view() == "true");
}

TEST_CASE("a request's own time limit goes before the default of its kind") {
  auto r = exec_request(fields{}.set("timeout_ms", 12));
  CHECK(timeout_of(r, defaults) == 12ms);
  CHECK(to_guest(r, 1, defaults).header.integer("timeout_ms") == 12);
  CHECK(timeout_of(exec_request(), defaults) == 7s);
  CHECK(timeout_of(write_request({}, true), defaults) == 900ms);
}

TEST_CASE("a session's reset has no time limit for the guest") {
  message x;
  x.header.set("op", "reset_session");
  CHECK(to_guest(checked(std::move(x)), 3, defaults).header
        == fields{}.set("op", "reset_session").set("re", 3));
}

TEST_CASE("a write whose content is to follow states its size as the part's") {
  auto r = write_request(5'000'000, false);
  CHECK(is_streamed_write(r));
  auto x = to_guest(r, 1, defaults);
  auto parts = x.header.sizes("parts");
  REQUIRE(parts);
  REQUIRE(parts->size() == 1);
  CHECK(parts->front() == std::pair<std::string, uint64_t>{"content", 5'000'000});
}

TEST_CASE("a write that has its content with it is none") {
  CHECK_FALSE(is_streamed_write(write_request({}, true)));
  CHECK_FALSE(is_streamed_write(write_request(3, true)));
  CHECK_FALSE(is_streamed_write(write_request({}, false)));
  CHECK_FALSE(to_guest(write_request(3, true), 1, defaults).header.has("parts"));
}

TEST_CASE("an exec cancelled before its start has a whole result") {
  auto x = cancelled_before_start(12ms);
  CHECK(x.header.flag("ok") == true);
  CHECK(x.header.flag("cancelled") == true);
  CHECK(x.header.flag("timed_out") == false);
  CHECK(x.header.is_null("exit_code"));
  CHECK(x.header.integer("queued_ms") == 12);
  CHECK(x.header.integer("duration_ms") == 0);
  CHECK(x.part_of("output").view() == "Command cancelled.");
  CHECK(x.has_part("stdout"));
  CHECK(x.has_part("stderr"));
}

TEST_CASE("a loss tells whether the work had started, and may be retried only if it had not") {
  CHECK(lost("false", "x").to_fields().flag("retryable") == true);
  CHECK(lost("true", "x").to_fields().flag("retryable") == false);
  CHECK(lost("unknown", "x").to_fields().flag("retryable") == false);
  CHECK(lost("false", "x").details.flag("started") == false);
  CHECK(lost("true", "x").details.flag("started") == true);
  CHECK(lost("unknown", "x").details.text("started") == "unknown");
  CHECK(lost("true", "it fell").code == errc::sandbox_lost);
  CHECK(lost("true", "it fell").message == "the sandbox ended: it fell");
}

#include "messages/wire/error.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <set>

using namespace corral;

namespace {

std::vector<errc> all_codes() {
  std::vector<errc> result;
  for (auto i = static_cast<int>(errc::invalid_request); i <= static_cast<int>(errc::internal); ++i)
    result.push_back(static_cast<errc>(i));
  return result;
}

} // namespace

TEST_CASE("every code has a name of its own that parses back to it") {
  std::set<std::string_view> names;
  for (auto code : all_codes()) {
    auto name = to_string(code);
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(parse_errc(name) == code);
  }
  CHECK(names.size() == 28);
}

TEST_CASE("a name that this version doesn't know is no code") {
  CHECK_FALSE(parse_errc("daemon_restarted")); // Raised by clients only.
  CHECK_FALSE(parse_errc(""));
  CHECK_FALSE(parse_errc("Internal"));
}

TEST_CASE("a number that is no code is named internal") {
  CHECK(to_string(static_cast<errc>(0)) == "internal");
  CHECK(to_string(static_cast<errc>(255)) == "internal");
}

TEST_CASE("exactly the codes that pass by themselves are retryable") {
  std::set<errc> expected{
      errc::sandbox_lost, errc::sandbox_runtime, errc::capacity_exceeded, errc::queue_full,
      errc::busy,         errc::moved,           errc::shutting_down};
  for (auto code : all_codes()) {
    CAPTURE(to_string(code));
    CHECK(is_retryable(code) == expected.contains(code));
  }
}

TEST_CASE("an error survives the wire with its code, text and details") {
  for (auto code : all_codes()) {
    error sent{code, "it broke: ä", fields{}.set("path", "/mnt/x").set("line", 3)};
    auto got = error::from_fields(sent.to_fields());
    CAPTURE(to_string(code));
    CHECK(got.code == sent.code);
    CHECK(got.message == sent.message);
    CHECK(got.details == sent.details);
  }
}

TEST_CASE("an error without details has an empty object of them") {
  auto x = error{errc::busy, "in use", {}}.to_fields();
  CHECK(x.dump() == R"({"code":"busy","details":{},"message":"in use","retryable":true})");
}

TEST_CASE("a lost sandbox is retryable only for a request that had not started") {
  auto retryable = [](const fields& details) {
    return error{errc::sandbox_lost, "", details}.to_fields().flag("retryable");
  };
  CHECK(retryable(fields{}.set("started", false)) == true);
  CHECK(retryable(fields{}.set("started", true)) == false);
  CHECK(retryable(fields{}.set("started", "unknown")) == false);
  CHECK(retryable({}) == false);
}

TEST_CASE("an error from a newer or a broken peer is internal") {
  CHECK(error::from_fields(fields{}.set("code", "new_thing")).code == errc::internal);
  CHECK(error::from_fields(fields{}.set("code", 7).set("message", 8)).message.empty());
  CHECK(error::from_fields({}).code == errc::internal);
}

TEST_CASE("an errno of a file operation has the code a client acts on") {
  CHECK(errc_of_errno(ENOENT) == errc::file_not_found);
  CHECK(errc_of_errno(ENOTDIR) == errc::not_a_directory);
  CHECK(errc_of_errno(EISDIR) == errc::is_a_directory);
  for (auto number : {EACCES, EPERM, ELOOP, EXDEV})
    CHECK(errc_of_errno(number) == errc::permission_denied);
  CHECK(errc_of_errno(EROFS) == errc::read_only);
  CHECK(errc_of_errno(ENOSPC) == errc::no_space);
  CHECK(errc_of_errno(EDQUOT) == errc::no_space);
  CHECK(errc_of_errno(EFBIG) == errc::file_too_large);
  CHECK(errc_of_errno(ENAMETOOLONG) == errc::invalid_request);
  CHECK(errc_of_errno(EINVAL) == errc::invalid_request);
  CHECK(errc_of_errno(ENOMEM) == errc::out_of_memory);
  CHECK(errc_of_errno(ENXIO) == errc::not_regular_file);
  CHECK(errc_of_errno(EIO) == errc::internal);
  CHECK(errc_of_errno(0) == errc::internal);
}

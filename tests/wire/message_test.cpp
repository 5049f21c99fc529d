#include "messages/wire/message.hpp"

#include <doctest/doctest.h>

using namespace corral;

namespace {

std::string fault_of(std::string_view header, std::string_view payload) {
  auto x = message::decode(header, blob::copy_of(payload));
  if (x)
    return "accepted";
  CHECK(x.error().code == errc::invalid_request);
  return x.error().message;
}

} // namespace

TEST_CASE("a message comes out of its header and payload as it went in") {
  message sent;
  sent.header.set("op", "exec");
  sent.add_part("command", blob::copy_of("echo ä")).add_part("stdin", blob::copy_of({"\0\xff", 2}));
  CHECK(sent.encode_header() == R"({"op":"exec","parts":[["command",7],["stdin",2]]})");
  auto got = message::decode(sent.encode_header(), sent.encode_payload());
  REQUIRE(got);
  CHECK(got->header == sent.header);
  CHECK(got->part_of("command").view() == "echo ä");
  CHECK(got->part_of("stdin").view() == std::string_view{"\0\xff", 2});
  CHECK(got->payload_size() == 9);
}

TEST_CASE("an empty part is there, and no part is not") {
  auto x = message::decode(R"({"parts":[["a",0]]})", {});
  REQUIRE(x);
  CHECK(x->has_part("a"));
  CHECK_FALSE(x->has_part("b"));
  CHECK(x->part_of("b").empty());
  CHECK_FALSE(x->header.has("parts"));
}

TEST_CASE("parts are slices of the payload, not copies") {
  auto payload = blob::copy_of("aabbb");
  auto x = message::decode(R"({"parts":[["a",2],["b",3]]})", payload);
  REQUIRE(x);
  CHECK(x->part_of("b").data() == payload.data() + 2);
  message one;
  one.add_part("a", payload);
  CHECK(one.encode_payload().data() == payload.data());
}

TEST_CASE("a payload that no parts describe is one part without a name") {
  auto x = message::decode(R"({"op":"input"})", blob::copy_of("raw"));
  REQUIRE(x);
  CHECK(x->part_of("").view() == "raw");
  CHECK(x->encode_header() == R"({"op":"input"})");
  CHECK(message::decode("{}", {})->parts.empty());
}

TEST_CASE("parts that don't add up to the payload are refused") {
  CHECK(fault_of(R"({"parts":[["a",2]]})", "abc")
        == "malformed message: the payload has 3 bytes, its parts state 2");
  CHECK(fault_of(R"({"parts":[["a",4]]})", "abc")
        == "malformed message: parts state more bytes than the payload's 3");
  CHECK(fault_of(R"({"parts":[]})", "abc")
        == "malformed message: the payload has 3 bytes, its parts state 0");
}

TEST_CASE("lengths whose sum overflows are refused") {
  CHECK(
      fault_of(R"({"parts":[["a",1],["b",9223372036854775807],["c",9223372036854775807],["d",4]]})",
               "abc")
      == "malformed message: parts state more bytes than the payload's 3");
}

TEST_CASE("a part listed twice or without a name is refused") {
  CHECK(fault_of(R"({"parts":[["a",1],["a",1]]})", "xx")
        == "malformed message: part \"a\" is listed twice");
  CHECK(fault_of(R"({"parts":[["",2]]})", "xx") == "malformed message: a part without a name");
}

TEST_CASE("more parts than any op has are refused before they cost anything") {
  auto listing = [](size_t n) {
    std::string text = R"({"parts":[)";
    for (size_t i = 0; i < n; ++i)
      text += (i > 0 ? ",[\"" : "[\"") + std::to_string(i) + "\",0]";
    return text + "]}";
  };
  CHECK(fault_of(listing(max_parts), "") == "accepted");
  CHECK(fault_of(listing(max_parts + 1), "") == "malformed message: 17 parts; at most 16");
}

TEST_CASE("parts that are no list of names and lengths are refused") {
  for (auto parts : {"1", "null", "{}", "[1]", "[[\"a\",-1]]", "[[\"a\",\"1\"]]"})
    CHECK(fault_of("{\"parts\":" + std::string{parts} + "}", "")
          == "malformed message: parts must be a list of [name, bytes]");
}

TEST_CASE("a header that is no JSON object says what it is instead") {
  CHECK(fault_of("[]", "") == "malformed message: the header is not a JSON object");
  CHECK(fault_of("{\xff}", "") == "malformed message: the header is not valid JSON in UTF-8");
}

TEST_CASE("a reply says ok, or holds the error") {
  CHECK(make_reply(fields{}.set("boot", "b")).encode_header() == R"({"boot":"b","ok":true})");
  CHECK(
      make_reply(error{errc::busy, "in use", {}}).encode_header()
      == R"({"error":{"code":"busy","details":{},"message":"in use","retryable":true},"ok":false})");
}

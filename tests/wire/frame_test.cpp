#include "messages/wire/frame.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace corral;

namespace {

constexpr uint64_t seed = 20240611;

std::string bytes_of(size_t n) {
  std::string result(n, '\0');
  for (size_t i = 0; i < n; ++i)
    result[i] = static_cast<char>(i * 7 + i / 251);
  return result;
}

std::string encoded(std::string_view header, std::string_view payload) {
  return encode_frame_head(header, payload.size()).append(payload);
}

std::string prefix(uint32_t header, uint32_t payload) {
  std::string result;
  for (auto x : {header, payload})
    for (int shift = 24; shift >= 0; shift -= 8)
      result += static_cast<char>(x >> shift & 0xff);
  return result;
}

std::string fault_of(result<std::optional<frame>> x) {
  if (x)
    return *x ? "a frame" : "nothing";
  CHECK(x.error().code == errc::invalid_request);
  return x.error().message;
}

std::string fault_of_stream(std::string bytes) {
  frame_decoder decoder;
  decoder.feed(blob::take(std::move(bytes)));
  return fault_of(decoder.next());
}

message sample(size_t command_bytes, size_t stdin_bytes) {
  message x;
  x.header.set("op", "exec");
  x.add_part("command", blob::take(bytes_of(command_bytes)));
  x.add_part("stdin", blob::take(bytes_of(stdin_bytes)));
  return x;
}

/// The frames a sender gives now, decoded.
std::vector<frame> taken(frame_sender& sender) {
  std::vector<frame> result;
  frame_decoder decoder;
  while (auto x = sender.next()) {
    decoder.feed(blob::take(std::move(x->first)));
    decoder.feed(x->second);
    auto f = decoder.next();
    REQUIRE(f);
    REQUIRE(*f);
    result.push_back(std::move(**f));
  }
  return result;
}

frame frame_of(std::string_view header, std::string_view payload = {}) {
  return {*fields::parse(header), blob::copy_of(payload)};
}

/// What an assembler says to these frames: the message, "" if it waits for more, or the fault.
std::string assembled(const std::vector<frame>& frames, size_t limit = max_payload_bytes) {
  frame_assembler assembler{limit};
  std::string answer;
  for (auto& f : frames) {
    auto x = assembler.add(f);
    if (!x)
      return x.error().message;
    answer = *x ? (*x)->encode_header() + std::string{(*x)->encode_payload().view()} : "";
  }
  return answer;
}

} // namespace

TEST_CASE("a frame is two big-endian lengths, the header, the payload") {
  CHECK(encode_frame_head("{}", 258) == std::string{"\0\0\0\x02\0\0\x01\x02{}", 10});
}

TEST_CASE("frames fed byte by byte come out whole and in order") {
  auto stream = encoded(R"({"re":1})", "abc") + encoded("{}", "") + encoded(R"({"re":2})", "z");
  frame_decoder decoder;
  std::vector<std::string> seen;
  for (char c : stream) {
    decoder.feed(blob::copy_of({&c, 1}));
    while (auto f = decoder.next().value())
      seen.push_back(f->header.dump() + std::string{f->payload.view()});
  }
  CHECK(seen == std::vector<std::string>{R"({"re":1}abc)", "{}", R"({"re":2}z)"});
}

TEST_CASE("frames fed in pieces of any size come out as they went in") {
  std::mt19937_64 random{seed};
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    std::string stream;
    std::vector<std::string> sent, seen;
    for (int i = 0; i < 20; ++i) {
      auto payload = bytes_of(random() % (random() % 4 == 0 ? 20'000 : 40));
      auto header = fields{}.set("re", i).dump();
      stream += encoded(header, payload);
      sent.push_back(header + payload);
    }
    frame_decoder decoder;
    for (size_t at = 0; at < stream.size();) {
      auto n = std::min<size_t>(1 + random() % 9'000, stream.size() - at);
      decoder.feed(blob::copy_of(std::string_view{stream}.substr(at, n)));
      at += n;
      while (auto f = decoder.next().value())
        seen.push_back(f->header.dump() + std::string{f->payload.view()});
    }
    CHECK(seen == sent);
  }
}

TEST_CASE("a payload that arrived in one piece is not copied") {
  auto stream = blob::take(encoded("{}", "payload"));
  frame_decoder decoder;
  decoder.feed(stream);
  CHECK((*decoder.next())->payload.data() == stream.data() + 10);
}

TEST_CASE("a decoder knows how much the frame under way lacks") {
  frame_decoder decoder;
  CHECK(decoder.missing() == 0);
  auto stream = encoded("{}", "abcdef");
  decoder.feed(blob::copy_of(stream.substr(0, 9)));
  CHECK_FALSE(decoder.next().value());
  CHECK(decoder.missing() == 7);
  decoder.feed(blob::copy_of(stream.substr(9)));
  CHECK(decoder.missing() == 0);
  CHECK(decoder.next().value());
}

TEST_CASE("a length over its limit is refused on sight of it") {
  CHECK(fault_of_stream(prefix(fields::max_bytes + 1, 0))
        == "malformed frame: a header of 65537 bytes");
  CHECK(fault_of_stream(prefix(2, max_frame_payload + 1))
        == "malformed frame: a payload of 262145 bytes");
  CHECK(fault_of_stream(prefix(0xffffffff, 0xffffffff))
        == "malformed frame: a header of 4294967295 bytes");
  CHECK(fault_of_stream(prefix(fields::max_bytes, max_frame_payload)) == "nothing");
}

TEST_CASE("a header that is no JSON object is refused") {
  CHECK(fault_of_stream(prefix(0, 0)) == "malformed frame: the header is not valid JSON in UTF-8");
  CHECK(fault_of_stream(encoded("[]", "")) == "malformed frame: the header is not a JSON object");
}

TEST_CASE("a fault is final: what follows is never read as frames") {
  frame_decoder decoder;
  decoder.feed(blob::copy_of(encoded("[]", encoded(R"({"op":"exit"})", ""))));
  auto first = fault_of(decoder.next());
  CHECK(fault_of(decoder.next()) == first);
  decoder.feed(blob::copy_of(encoded("{}", "")));
  CHECK(fault_of(decoder.next()) == first);
  CHECK(decoder.missing() == 0);
}

TEST_CASE("a small message is one frame with its parts and the request it belongs to") {
  frame_sender sender{7, sample(3, 2)};
  auto frames = taken(sender);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].header.dump() == R"({"op":"exec","parts":[["command",3],["stdin",2]],"re":7})");
  CHECK(frames[0].payload.view() == bytes_of(3) + bytes_of(2));
  CHECK(sender.done());
}

TEST_CASE("a message without payload is one frame, credit or not") {
  message ping;
  ping.header.set("op", "ping");
  frame_sender sender{1, ping};
  auto frames = taken(sender);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].header.dump() == R"({"op":"ping","re":1})");
  CHECK(sender.done());
  CHECK_FALSE(sender.next());
}

TEST_CASE("a large message is cut into frames, and only the last says no more") {
  frame_sender sender{7, sample(max_frame_payload, 10)};
  auto frames = taken(sender);
  REQUIRE(frames.size() == 2);
  CHECK(has_more(frames[0].header));
  CHECK(frames[0].payload.size() == max_frame_payload);
  CHECK(frames[1].header.dump() == R"({"re":7})");
  CHECK(frames[1].payload.size() == 10);
}

TEST_CASE("a sender stops where its credit ends and goes on with what is granted") {
  frame_sender sender{7, sample(initial_credit + 5, 0)};
  CHECK(taken(sender).size() == initial_credit / max_frame_payload);
  CHECK_FALSE(sender.done());
  CHECK(sender.buffered() == 5);
  sender.grant(2);
  auto frames = taken(sender);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].payload.size() == 2);
  CHECK(has_more(frames[0].header));
  sender.grant(1000);
  CHECK(taken(sender).front().payload.size() == 3);
  CHECK(sender.done());
}

TEST_CASE("a payload that arrives in pieces is announced at once and ends with the trailer") {
  auto header =
      fields{}.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"content", 6}});
  frame_sender sender{3, header, 6};
  auto first = taken(sender);
  REQUIRE(first.size() == 1);
  CHECK(first[0].header.dump() == R"({"more":true,"parts":[["content",6]],"re":3})");
  CHECK(sender.expected() == 6);
  sender.push(blob::copy_of("abcd"));
  CHECK(sender.expected() == 2);
  CHECK(taken(sender).front().header.dump() == R"({"more":true,"re":3})");
  sender.set_trailer(fields{}.set("sha256", "00"));
  sender.push(blob::copy_of("ef"));
  CHECK(taken(sender).front().header.dump() == R"({"re":3,"sha256":"00"})");
  CHECK(sender.done());
  CHECK(sender.expected() == 0);
}

TEST_CASE("what a sender cuts an assembler puts together, whatever the sizes") {
  std::mt19937_64 random{seed};
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    auto sent = sample(random() % 600'000, random() % 3 == 0 ? 0 : random() % 600'000);
    frame_sender sender{round, sent};
    frame_assembler assembler;
    std::optional<message> got;
    while (!sender.done()) {
      sender.grant(random() % 100'000);
      for (auto& f : taken(sender)) {
        REQUIRE_FALSE(got);
        got = assembler.add(std::move(f)).value();
      }
    }
    REQUIRE(got);
    CHECK(got->header.integer("re") == round);
    CHECK(got->part_of("command").view() == sent.part_of("command").view());
    CHECK(got->part_of("stdin").view() == sent.part_of("stdin").view());
  }
}

TEST_CASE("a payload without a name crosses the link without one, in one frame or in several") {
  for (auto size : {size_t{5}, max_frame_payload + 5}) {
    message x;
    x.header.set("op", "input");
    x.add_part("", blob::take(bytes_of(size)));
    frame_sender sender{1, x};
    frame_assembler assembler;
    std::optional<message> got;
    for (auto& f : taken(sender))
      got = assembler.add(std::move(f)).value();
    REQUIRE(got);
    CHECK(got->part_of("").view() == bytes_of(size));
  }
}

TEST_CASE("an assembler takes the last frame's fields as the message's own") {
  CHECK(assembled({frame_of(R"({"re":1,"more":true,"parts":[["content",3]]})", "ab"),
                   frame_of(R"({"re":1,"sha256":"00"})", "c")})
        == R"({"parts":[["content",3]],"re":1,"sha256":"00"}abc)");
}

TEST_CASE("a payload that is not what the first frame stated is refused") {
  auto wrong = "malformed frame: its payload is not what its parts state";
  CHECK(assembled({frame_of(R"({"parts":[["a",3]]})", "ab")}) == wrong);
  CHECK(assembled({frame_of(R"({"parts":[["a",1]]})", "ab")}) == wrong);
  CHECK(assembled({frame_of(R"({"more":true,"parts":[["a",3]]})", "ab"), frame_of("{}", "cd")})
        == wrong);
  CHECK(assembled({frame_of(R"({"more":true,"parts":[["a",3]]})", "ab"), frame_of("{}", "")})
        == wrong);
}

TEST_CASE("later frames can't restate the parts") {
  CHECK(assembled({frame_of(R"({"more":true,"parts":[["a",2]]})", "a"),
                   frame_of(R"({"parts":[["b",2]]})", "b")})
        == R"({"parts":[["a",2]]}ab)");
}

TEST_CASE("a message over the limit is refused before its bytes arrive") {
  CHECK(assembled({frame_of(R"({"more":true,"parts":[["a",16777217]]})")})
        == "malformed frame: a message of 16777217 bytes");
  CHECK(assembled({frame_of(R"({"parts":[["a",9223372036854775807],["b",9223372036854775807],
                                          ["c",9223372036854775807]]})")})
        == "malformed frame: parts must be a list of [name, bytes]");
  CHECK(assembled({frame_of(R"({"parts":7})")})
        == "malformed frame: parts must be a list of [name, bytes]");
}

TEST_CASE("more without end is refused: by its bytes, or because it brings none") {
  frame_assembler assembler{100};
  REQUIRE(assembler.add(frame_of(R"({"more":true})", std::string(60, 'x'))));
  CHECK_FALSE(assembler.add(frame_of(R"({"more":true})", std::string(60, 'x'))));
  CHECK(assembled({frame_of(R"({"more":true,"parts":[["a",3]]})"), frame_of(R"({"more":true})")})
        == "malformed frame: it brings nothing and promises more");
}

TEST_CASE("fields of frames in the middle are not kept") {
  CHECK(assembled({frame_of(R"({"more":true,"parts":[["a",3]]})", "a"),
                   frame_of(R"({"more":true,"junk":1})", "b"), frame_of("{}", "c")})
        == R"({"parts":[["a",3]]}abc)");
}

TEST_CASE("an error in place of the missing bytes is the whole message") {
  CHECK(assembled({frame_of(R"({"ok":true,"more":true,"parts":[["content",9]]})", "abc"),
                   frame_of(R"({"ok":false,"error":{"code":"internal"}})")})
        == R"({"error":{"code":"internal"},"ok":false})");
}

TEST_CASE("credit is a frame of its own without payload") {
  CHECK(encode_credit(7, 4096) == encode_frame_head(R"({"bytes":4096,"op":"credit","re":7})", 0));
}

#include "actors/link_protocol.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace corral;

namespace {

constexpr uint64_t mib = 1024 * 1024;

std::string bytes_of(size_t n) {
  std::string result(n, '\0');
  for (size_t i = 0; i < n; ++i)
    result[i] = static_cast<char>(i * 13 + i / 509);
  return result;
}

std::string encoded(const fields& header, std::string_view payload = {}) {
  return encode_frame_head(header.dump(), payload.size()).append(payload);
}

fields hello() {
  return fields{}.set("op", "hello").set("id", "box").set("secret", "s3cret").set("session", 4);
}

fields reply_to(int64_t re) {
  return fields{}.set("re", re).set("ok", true);
}

fields with_part(fields x, uint64_t size) {
  return x.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"content", size}});
}

message exec(uint64_t re, std::string command) {
  message x;
  x.header.set("op", "exec").set("re", re);
  x.add_part("command", blob::take(std::move(command)));
  return x;
}

message control(std::string_view op, uint64_t re) {
  message x;
  x.header.set("op", op).set("re", re);
  return x;
}

/// What a guest would read of these bytes.
std::vector<frame> frames_of(const std::vector<blob>& bytes) {
  frame_decoder decoder;
  std::vector<frame> result;
  for (auto& x : bytes)
    decoder.feed(x);
  for (auto x = decoder.next(); x && *x; x = decoder.next())
    result.push_back(std::move(**x));
  return result;
}

size_t payload_of(const std::vector<frame>& frames) {
  size_t result = 0;
  for (auto& x : frames)
    result += x.payload.size();
  return result;
}

struct fixture {
  link_protocol link{{"box", "s3cret", fields{}.set("transfer_max_bytes", 5)}};

  result<link_protocol::outcome> give(std::string bytes) {
    return link.receive(blob::take(std::move(bytes)));
  }

  /// The outcome of bytes that must be accepted.
  link_protocol::outcome taken(std::string bytes) {
    auto x = give(std::move(bytes));
    REQUIRE(x);
    return std::move(*x);
  }

  link_protocol::outcome ask(uint64_t re) { return link.send(control("stat", re)); }
};

struct proved : fixture {
  proved() { taken(encoded(hello())); }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a guest that proves itself is told the secret and the limits") {
  auto out = taken(encoded(hello()));
  REQUIRE(out.hello);
  CHECK(out.hello->integer("session") == 4);
  CHECK_FALSE(out.hello->has("secret"));
  auto sent = frames_of(out.bytes);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].header.text("op") == "hello");
  CHECK(sent[0].header.text("secret") == "s3cret");
  CHECK(sent[0].header.object("limits")->integer("transfer_max_bytes") == 5);
}

TEST_CASE_FIXTURE(fixture, "a hello proves nothing if any of it is wrong") {
  SUBCASE("the secret") {
    CHECK_FALSE(give(encoded(hello().set("secret", "s3creT"))));
  }
  SUBCASE("a longer secret") {
    CHECK_FALSE(give(encoded(hello().set("secret", "s3cret1"))));
  }
  SUBCASE("a shorter secret") {
    CHECK_FALSE(give(encoded(hello().set("secret", "s3cre"))));
  }
  SUBCASE("no secret") {
    CHECK_FALSE(give(encoded(hello().erase("secret"))));
  }
  SUBCASE("a secret that is no text") {
    CHECK_FALSE(give(encoded(hello().set("secret", 3))));
  }
  SUBCASE("the id") {
    CHECK_FALSE(give(encoded(hello().set("id", "bix"))));
  }
  SUBCASE("no id") {
    CHECK_FALSE(give(encoded(hello().erase("id"))));
  }
}

TEST_CASE_FIXTURE(fixture, "nothing is taken before a hello, and no second one after it") {
  SUBCASE("a reply first") {
    CHECK_FALSE(give(encoded(reply_to(1))));
  }
  SUBCASE("a credit first") {
    CHECK_FALSE(give(encode_credit(1, 5)));
  }
  SUBCASE("a second hello") {
    taken(encoded(hello()));
    CHECK_FALSE(give(encoded(hello())));
  }
}

TEST_CASE_FIXTURE(fixture, "what is sent before the hello is not lost") {
  auto out = link.send(exec(3, "true"));
  auto sent = frames_of(out.bytes);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].payload.view() == "true");
  taken(encoded(hello()));
  auto reply = taken(encoded(reply_to(3)));
  CHECK(reply.messages.size() == 1);
}

TEST_CASE_FIXTURE(proved, "frames without a valid re end the link") {
  SUBCASE("none") {
    CHECK_FALSE(give(encoded(fields{}.set("ok", true))));
  }
  SUBCASE("0") {
    CHECK_FALSE(give(encoded(reply_to(0))));
  }
  SUBCASE("negative") {
    CHECK_FALSE(give(encoded(reply_to(-7))));
  }
  SUBCASE("a text") {
    CHECK_FALSE(give(encoded(fields{}.set("ok", true).set("re", "1"))));
  }
}

TEST_CASE_FIXTURE(proved, "bytes that are no frames end the link") {
  SUBCASE("a header beyond its limit") {
    CHECK_FALSE(give(encode_frame_head(std::string(65 * 1024, ' '), 0)));
  }
  SUBCASE("a payload beyond its limit") {
    CHECK_FALSE(give(encode_frame_head("{}", 300 * 1024)));
  }
  SUBCASE("a header that is no object") {
    CHECK_FALSE(give(encode_frame_head("[1]", 0)));
  }
  SUBCASE("parts that are not what came") {
    ask(1);
    CHECK_FALSE(give(encoded(with_part(reply_to(1), 4), "abc")));
    CHECK_FALSE(give(encoded(reply_to(1)))); // And it stays so.
  }
}

TEST_CASE_FIXTURE(proved, "replies and events are told in order, however the bytes are cut") {
  std::string stream;
  for (uint64_t re = 1; re <= 20; ++re) {
    ask(re);
    auto n = static_cast<int64_t>(re);
    stream += encoded(fields{}.set("re", n).set("event", "started"));
    stream += encoded(with_part(reply_to(n), re * 100), bytes_of(re * 100));
  }
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng{seed};
    proved other;
    for (uint64_t re = 1; re <= 20; ++re)
      other.ask(re);
    std::vector<message> got;
    for (size_t at = 0; at < stream.size();) {
      auto n = rng() % 3 ? rng() % 7 + 1 : rng() % 900 + 1;
      auto out = other.taken(stream.substr(at, n));
      std::move(out.messages.begin(), out.messages.end(), std::back_inserter(got));
      at += n;
    }
    REQUIRE(got.size() == 40);
    for (size_t i = 0; i < 40; i += 2) {
      REQUIRE(got[i].header.text("event") == "started");
      REQUIRE(got[i + 1].header.integer("re") == static_cast<int64_t>(i / 2 + 1));
      REQUIRE(got[i + 1].part_of("content").view() == bytes_of((i / 2 + 1) * 100));
    }
    CHECK(other.link.missing() == 0);
  }
}

TEST_CASE_FIXTURE(proved, "frames of different requests interleave, and each frame is credited") {
  ask(1);
  ask(2);
  auto out = taken(encoded(with_part(reply_to(1), 6).set("more", true), "abc"));
  CHECK(out.messages.empty());
  auto credit = frames_of(out.bytes);
  REQUIRE(credit.size() == 1);
  CHECK(credit[0].header == fields{}.set("op", "credit").set("re", 1).set("bytes", 3));
  CHECK(taken(encoded(with_part(reply_to(2), 2), "xy")).messages.at(0).part_of("content").view()
        == "xy");
  out = taken(encoded(fields{}.set("re", 1).set("sha256", "ff"), "def"));
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].part_of("content").view() == "abcdef");
  CHECK(out.messages[0].header.text("sha256") == "ff");
}

TEST_CASE_FIXTURE(proved, "a message larger than a frame goes out within the guest's credit") {
  auto first = frames_of(link.send(exec(1, bytes_of(3 * mib))).bytes);
  CHECK(payload_of(first) == initial_credit);
  for (auto& x : first) {
    CHECK(x.payload.size() <= max_frame_payload);
    CHECK(has_more(x.header));
  }
  auto second = frames_of(taken(encode_credit(1, mib)).bytes);
  CHECK(payload_of(second) == mib);
  auto third = frames_of(taken(encode_credit(1, mib)).bytes);
  CHECK(payload_of(third) == mib);
  CHECK_FALSE(has_more(third.back().header));
  CHECK(taken(encode_credit(1, mib)).bytes.empty());
}

TEST_CASE_FIXTURE(proved, "a guest can't widen its window beyond what it has taken") {
  // The daemon's socket buffer has no bound of its own: this is it.
  link.send(exec(1, bytes_of(8 * mib)));
  SUBCASE("at once") {
    CHECK(payload_of(frames_of(taken(encode_credit(1, 7 * mib)).bytes)) == mib);
  }
  SUBCASE("by a number that wraps around") {
    auto huge = uint64_t{1} << 62;
    size_t sent = 0;
    for (int i = 0; i < 4; ++i)
      sent += payload_of(frames_of(taken(encode_credit(1, huge)).bytes));
    CHECK(sent == 4 * mib);
  }
  SUBCASE("by less than nothing") {
    auto negative = fields{}.set("op", "credit").set("re", 1).set("bytes", -5);
    CHECK(taken(encoded(negative)).bytes.empty());
  }
}

TEST_CASE_FIXTURE(proved, "a streamed upload asks for what the guest has room for") {
  auto out = link.send({with_part(control("write_file", 7).header, 3 * mib), {}});
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].header.text("event") == "credit");
  CHECK(out.messages[0].header.integer("bytes") == static_cast<int64_t>(initial_credit));
  auto head = frames_of(out.bytes);
  REQUIRE(head.size() == 1);
  CHECK(head[0].header.has("parts"));
  auto piece = blob::take(bytes_of(256 * 1024));
  size_t sent = 0;
  for (int i = 0; i < 4; ++i)
    sent += payload_of(frames_of(link.data(7, piece).bytes));
  CHECK(sent == initial_credit);
  CHECK(link.data(7, piece).bytes.empty()); // It came before its credit and waits.
  out = taken(encode_credit(7, 100));
  CHECK(payload_of(frames_of(out.bytes)) == 100);
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].header.integer("bytes") == 100);
}

TEST_CASE_FIXTURE(proved, "a guest's excessive credit is not passed on to the client") {
  link.send({with_part(control("write_file", 7).header, 90 * mib), {}});
  link.data(7, blob::take(bytes_of(1000)));
  auto out = taken(encode_credit(7, 90 * mib));
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].header.integer("bytes") == 1000);
}

TEST_CASE_FIXTURE(proved, "a streamed upload ends with its last byte and takes no more") {
  link.send({with_part(control("write_file", 7).header, 5), {}});
  auto sent = frames_of(link.data(7, blob::copy_of("abc")).bytes);
  REQUIRE(sent.size() == 1);
  CHECK(has_more(sent[0].header));
  sent = frames_of(link.data(7, blob::copy_of("defgh")).bytes);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].payload.view() == "de");
  CHECK_FALSE(has_more(sent[0].header));
  CHECK(link.data(7, blob::copy_of("x")).bytes.empty());
}

TEST_CASE_FIXTURE(proved, "an empty streamed upload needs neither credit nor data") {
  auto out = link.send({with_part(control("write_file", 7).header, 0), {}});
  CHECK(out.messages.empty());
  auto sent = frames_of(out.bytes);
  REQUIRE(sent.size() == 1);
  CHECK_FALSE(has_more(sent[0].header));
}

TEST_CASE_FIXTURE(proved, "data for what is not a streamed upload goes nowhere") {
  CHECK(link.data(5, blob::copy_of("x")).bytes.empty());
  link.send(exec(6, bytes_of(2 * mib)));
  CHECK(link.data(6, blob::copy_of("x")).bytes.empty());
}

TEST_CASE_FIXTURE(proved, "a cancel waits for the upload of its exec, which goes on") {
  // A guest can't cancel what it has half of, and what is never whole is never answered.
  link.send(exec(1, bytes_of(2 * mib)));
  CHECK(link.send(control("cancel", 1)).bytes.empty());
  auto sent = frames_of(taken(encode_credit(1, mib)).bytes);
  CHECK(payload_of(sent) == mib);
  REQUIRE(sent.size() >= 2);
  CHECK(sent.back().header.text("op") == "cancel");
  CHECK_FALSE(has_more(sent[sent.size() - 2].header));
}

TEST_CASE_FIXTURE(proved,
                  "a cancel of a streamed upload goes at once, for the rest may never come") {
  link.send({with_part(control("write_file", 7).header, 3 * mib), {}});
  auto sent = frames_of(link.send(control("cancel", 7)).bytes);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].header == control("cancel", 7).header);
}

TEST_CASE_FIXTURE(proved, "a reply beyond 16 MiB becomes chunks without a gap") {
  constexpr auto total = 17 * mib;
  auto content = bytes_of(total);
  ask(9);
  std::vector<message> got;
  auto give_frame = [&](fields header, std::string_view payload) {
    auto out = taken(encoded(header, payload));
    CHECK(out.bytes.empty()); // The client's taking is what credits it.
    std::move(out.messages.begin(), out.messages.end(), std::back_inserter(got));
  };
  give_frame(with_part(reply_to(9), total).set("size", total).set("more", true), "");
  for (uint64_t at = 0; at < total; at += max_frame_payload) {
    fields header;
    header.set("re", 9);
    auto last = at + max_frame_payload >= total;
    last ? header.set("sha256", "ff") : header.set("more", true);
    give_frame(header, std::string_view{content}.substr(at, max_frame_payload));
  }
  REQUIRE(got.size() == total / max_frame_payload + 1);
  std::string joined;
  for (size_t i = 0; i + 1 < got.size(); ++i) {
    auto& h = got[i].header;
    REQUIRE(h.text("event") == "chunk");
    REQUIRE(h.text("stream") == "content");
    REQUIRE(h.integer("seq") == static_cast<int64_t>(i));
    REQUIRE(h.integer("offset") == static_cast<int64_t>(joined.size()));
    joined += got[i].part_of("").view();
  }
  CHECK(joined == content);
  auto& last = got.back();
  CHECK(last.header == reply_to(9).set("size", total).set("sha256", "ff"));
  CHECK(last.parts.empty());
  // It grants what was taken further on, and nothing once it is over.
  CHECK(link.grant(9, 5).bytes.empty());
}

TEST_CASE_FIXTURE(proved, "what a client takes of a long reply is granted to the guest") {
  ask(9);
  taken(encoded(with_part(reply_to(9), 20 * mib).set("more", true), "abc"));
  auto sent = frames_of(link.grant(9, 3).bytes);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].header == fields{}.set("op", "credit").set("re", 9).set("bytes", 3));
  CHECK(link.grant(10, 3).bytes.empty());
}

TEST_CASE_FIXTURE(proved, "an error can stand in for the missing bytes of a long reply") {
  ask(9);
  auto chunk = taken(encoded(with_part(reply_to(9), 20 * mib).set("more", true), "abc"));
  CHECK(chunk.messages.size() == 1);
  error gone{errc::file_not_found, "it went away", {}};
  auto out = taken(encoded(make_reply(gone).header.set("re", 9)));
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].header == make_reply(gone).header.set("re", 9));
}

TEST_CASE_FIXTURE(proved, "a long reply must be what its first frame states") {
  ask(9);
  auto first = with_part(reply_to(9), 17 * mib).set("more", true);
  SUBCASE("less") {
    taken(encoded(first, "abc"));
    CHECK_FALSE(give(encoded(fields{}.set("re", 9), "def")));
  }
  SUBCASE("more") {
    taken(encoded(first, "abc"));
    bool refused = false;
    auto piece = encoded(fields{}.set("re", 9).set("more", true), bytes_of(max_frame_payload));
    for (int i = 0; i < 70 && !refused; ++i)
      refused = !give(piece);
    CHECK(refused);
  }
  SUBCASE("in several parts") {
    first.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"stdout", 9 * mib},
                                                                     {"stderr", 9 * mib}});
    CHECK_FALSE(give(encoded(first, "abc")));
  }
  SUBCASE("sizes that overflow") {
    first.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"a", uint64_t{1} << 62},
                                                                     {"b", uint64_t{1} << 62}});
    CHECK_FALSE(give(encoded(first, "abc")));
  }
}

TEST_CASE_FIXTURE(proved, "a reply that nobody asked for is neither kept nor credited") {
  // Else a guest could make the daemon hold any number of half replies.
  auto out = taken(encoded(with_part(reply_to(77), mib).set("more", true), bytes_of(1000)));
  CHECK(out.bytes.empty());
  CHECK(out.messages.empty());
  out = taken(encoded(reply_to(78)));
  CHECK(out.messages.empty());
}

TEST_CASE_FIXTURE(proved, "a request has one reply: a second one is dropped") {
  ask(1);
  CHECK(taken(encoded(reply_to(1))).messages.size() == 1);
  CHECK(taken(encoded(reply_to(1))).messages.empty());
}

TEST_CASE_FIXTURE(proved, "a late cancel or ack waits for no reply") {
  for (auto op : {"cancel", "ack"}) {
    message x;
    x.header.set("op", op).set("re", 9);
    link.send(x);
    CHECK(taken(encoded(reply_to(9))).messages.empty());
  }
}

TEST_CASE_FIXTURE(proved, "an upload that has been answered sends no more") {
  link.send(exec(1, bytes_of(2 * mib)));
  taken(encoded(reply_to(1)));
  CHECK(taken(encode_credit(1, mib)).bytes.empty());
}

TEST_CASE("whatever a peer sends, the link answers or gives up, and never keeps more than it may") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng{seed};
    proved peer;
    for (uint64_t re = 1; re <= 4; ++re)
      peer.link.send(exec(re, bytes_of(rng() % (2 * mib))));
    bool open = true;
    for (int i = 0; i < 40 && open; ++i) {
      fields header;
      header.set("re", static_cast<int64_t>(rng() % 6));
      if (rng() % 2)
        header.set("ok", rng() % 4 != 0);
      if (rng() % 3 == 0)
        header.set("op", rng() % 2 ? "credit" : "hello").set("bytes", static_cast<int64_t>(rng()));
      if (rng() % 3 == 0)
        header.set("more", true);
      if (rng() % 3 == 0)
        header = with_part(header, rng() % 3 ? rng() % 64 : rng());
      auto bytes = encoded(header, bytes_of(rng() % 64));
      if (rng() % 16 == 0)
        bytes[rng() % bytes.size()] = static_cast<char>(rng());
      auto out = peer.give(bytes);
      open = out.has_value();
      if (open)
        for (auto& x : out->messages)
          REQUIRE(x.header.integer("re").value_or(0) > 0);
    }
  }
}

#include "guest/operation_call.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace corral;
using namespace corral::guest;
using namespace std::chrono_literals;

namespace {

struct recorded {
  fields header;
  std::string payload;
};

/// An outbox whose frames are kept.
struct fixture {
  outbox out{[this](std::string head, blob payload) {
               auto header = fields::parse(std::string_view{head}.substr(frame_prefix_bytes));
               frames.push_back({*header, std::string{payload.view()}});
             },
             [this] { return writable; }};
  std::vector<recorded> frames;
  bool writable = true;

  std::string payload_of(int64_t re) const {
    std::string result;
    for (auto& f : frames)
      if (f.header.integer("re") == re)
        result += f.payload;
    return result;
  }
};

message reply_of(std::string bytes) {
  return make_reply().add_part("content", blob::take(std::move(bytes)));
}

} // namespace

TEST_SUITE("outbox") {
  TEST_CASE_FIXTURE(fixture, "a large reply stops at its credit and goes on with more") {
    out.send(1, reply_of(std::string(initial_credit + 10, 'x')));
    CHECK(payload_of(1).size() == initial_credit);
    CHECK(has_more(frames.back().header));
    out.credit(1, 10);
    CHECK(payload_of(1).size() == initial_credit + 10);
    CHECK_FALSE(has_more(frames.back().header));
  }

  TEST_CASE_FIXTURE(fixture, "replies take turns, so that a small one passes a large one") {
    writable = false;
    out.send(1, reply_of(std::string(initial_credit, 'x')));
    out.send(2, reply_of("small"));
    writable = true;
    out.pump();
    REQUIRE(frames.size() >= 3);
    CHECK((frames[0].payload == "small" || frames[1].payload == "small"));
  }

  TEST_CASE_FIXTURE(fixture, "nothing is made while the socket is full") {
    writable = false;
    out.send(1, reply_of("x"));
    CHECK(frames.empty());
  }

  TEST_CASE_FIXTURE(fixture, "the last frame of a reply in pieces waits for its trailer") {
    out.begin(1,
              make_reply().header.set(
                  "parts", std::vector<std::pair<std::string, uint64_t>>{{"content", 4}}),
              4, nullptr);
    out.push(1, blob::copy_of("ab"));
    out.push(1, blob::copy_of("cd"));
    CHECK(payload_of(1) == "ab");
    out.end(1, fields{}.set("sha256", "f00"));
    CHECK(payload_of(1) == "abcd");
    CHECK(frames.back().header.text("sha256") == "f00");
    CHECK_FALSE(has_more(frames.back().header));
  }

  TEST_CASE_FIXTURE(fixture, "an empty reply in pieces is one frame with its trailer") {
    out.begin(1, make_reply().header, 0, nullptr);
    CHECK(frames.empty());
    out.end(1, fields{}.set("sha256", "f00"));
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].header.text("sha256") == "f00");
    CHECK(frames[0].header.flag("ok") == true);
  }
}

TEST_SUITE("operation call") {
  struct running : fixture {
    event_loop loop;
    bool done = false;

    std::shared_ptr<operation_call> call(uint64_t total, std::chrono::milliseconds timeout = 10s) {
      return std::make_shared<operation_call>(loop, out, 7, total, timeout,
                                              [this] { done = true; });
    }
  };

  TEST_CASE_FIXTURE(running, "a worker reads the payload in order, to its end") {
    auto x = call(4);
    std::string seen;
    std::thread worker{[&] {
      for (auto piece = x->next(); piece && !piece->empty(); piece = x->next())
        seen += piece->view();
      x->finish(make_reply());
    }};
    CHECK(x->take(blob::copy_of("ab")));
    CHECK(x->take(blob::copy_of("cd")));
    CHECK(loop.run_until([&] { return done; }, 10s));
    worker.join();
    CHECK(seen == "abcd");
    CHECK(frames.back().header.flag("ok") == true);
  }

  TEST_CASE_FIXTURE(running, "taking a piece grants the peer as much") {
    auto x = call(10);
    CHECK(x->take(blob::copy_of("abc")));
    CHECK(x->next());
    CHECK(loop.run_until([&] { return !frames.empty(); }, 10s));
    CHECK(frames[0].header.text("op") == "credit");
    CHECK(frames[0].header.integer("bytes") == 3);
  }

  TEST_CASE_FIXTURE(running, "more payload than stated or granted breaks the protocol") {
    CHECK_FALSE(call(2)->take(blob::copy_of("abc")));
    auto x = call(10 * initial_credit);
    for (size_t i = 0; i < initial_credit / max_frame_payload; ++i)
      CHECK(x->take(blob::take(std::string(max_frame_payload, 'x'))));
    CHECK_FALSE(x->take(blob::copy_of("a")));
  }

  TEST_CASE_FIXTURE(running, "a reader is woken by a cancel, and by its deadline") {
    auto x = call(10);
    std::thread worker{[&] { CHECK_FALSE(x->next()); }};
    x->stop(true);
    worker.join();
    CHECK(x->cancelled());
    auto late = call(10, 1ms);
    auto piece = late->next();
    REQUIRE_FALSE(piece);
    CHECK(piece.error().code == errc::busy);
  }

  TEST_CASE_FIXTURE(running, "a writer runs only so far ahead of the link") {
    auto x = call(0);
    constexpr size_t pieces = 40;
    std::atomic<size_t> written = 0;
    std::thread worker{[&] {
      x->begin(fields{}
                   .set("ok", true)
                   .set("parts",
                        std::vector<std::pair<std::string, uint64_t>>{
                            {"content", pieces * max_frame_payload}}),
               pieces * max_frame_payload);
      for (size_t i = 0; i < pieces && x->write(blob::take(std::string(max_frame_payload, 'x')));
           ++i)
        ++written;
      x->end(fields{}.set("sha256", "f00"));
    }};
    loop.run_until([&] { return payload_of(7).size() == initial_credit; }, 10s);
    CHECK(payload_of(7).size() == initial_credit);
    CHECK(written <= initial_credit / max_frame_payload + 3);
    out.credit(7, pieces * max_frame_payload);
    CHECK(loop.run_until([&] { return done; }, 10s));
    worker.join();
    CHECK(payload_of(7).size() == pieces * max_frame_payload);
    CHECK(frames.back().header.text("sha256") == "f00");
  }

  TEST_CASE_FIXTURE(running, "when the link has gone nothing more is written") {
    auto x = call(0);
    x->stop(false);
    x->finish(make_reply());
    loop.run_until([] { return false; }, 1ms);
    CHECK(frames.empty());
    CHECK_FALSE(done);
  }
}

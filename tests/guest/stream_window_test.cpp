#include "guest/stream_window.hpp"

#include <doctest/doctest.h>

using namespace corral::guest;
using namespace std::chrono_literals;

namespace {

using enum output_stream;
const stream_window::time_point t0{};

std::string block(size_t bytes) {
  return std::string(bytes, 'x');
}

} // namespace

TEST_SUITE("stream window") {
  TEST_CASE("a little output waits 20 ms, so that more can join it") {
    stream_window x;
    x.append(out, "a", t0);
    x.append(out, "b", t0 + 5ms);
    CHECK(x.next_due() == t0 + 20ms);
    CHECK_FALSE(x.take(t0 + 19ms));
    auto chunk = x.take(t0 + 20ms);
    REQUIRE(chunk);
    CHECK(chunk->data == "ab");
    CHECK(chunk->seq == 0);
    CHECK(chunk->offset == 0);
    CHECK_FALSE(x.take(t0 + 20ms));
    CHECK_FALSE(x.next_due());
  }

  TEST_CASE("32 KiB go at once") {
    stream_window x;
    x.append(out, block(40'000), t0);
    auto chunk = x.take(t0);
    REQUIRE(chunk);
    CHECK(chunk->data.size() == stream_window::chunk_bytes);
    CHECK_FALSE(x.take(t0));
    auto rest = x.take(t0, true);
    REQUIRE(rest);
    CHECK(rest->offset == stream_window::chunk_bytes);
    CHECK(rest->data.size() == 40'000 - stream_window::chunk_bytes);
  }

  TEST_CASE("streams keep their own offsets and share the sequence") {
    stream_window x;
    x.append(err, "e", t0);
    x.append(out, "o", t0);
    auto first = x.take(t0, true), second = x.take(t0, true);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->stream == out);
    CHECK(second->stream == err);
    CHECK(second->seq == 1);
    CHECK(second->offset == 0);
  }

  TEST_CASE("beyond the window output is dropped, and the next chunk says how much") {
    stream_window x;
    size_t sent = 0, last = 0;
    for (int i = 0; i < 12; ++i) {
      x.append(out, block(stream_window::chunk_bytes), t0);
      if (auto chunk = x.take(t0)) {
        sent += chunk->data.size();
        last = chunk->seq;
      }
    }
    CHECK(sent == stream_window::window_bytes);
    x.acknowledge(last);
    x.append(out, "after", t0);
    auto chunk = x.take(t0, true);
    REQUIRE(chunk);
    CHECK(chunk->gap == 4 * stream_window::chunk_bytes);
    CHECK(chunk->offset == 12 * stream_window::chunk_bytes);
    CHECK(chunk->data == "after");
    x.append(out, "next", t0);
    CHECK(x.take(t0, true)->gap == 0);
  }

  TEST_CASE("an acknowledgement frees the chunks up to it") {
    stream_window x;
    for (int i = 0; i < 8; ++i) {
      x.append(out, block(stream_window::chunk_bytes), t0);
      CHECK(x.take(t0));
    }
    x.acknowledge(0);
    x.append(out, block(2 * stream_window::chunk_bytes), t0);
    CHECK(x.take(t0));
    CHECK_FALSE(x.take(t0));
  }

  TEST_CASE("a flood into a shut window takes no memory") {
    stream_window x;
    for (int i = 0; i < 10'000; ++i) {
      x.append(out, block(60'000), t0);
      while (x.take(t0)) {
      }
    }
    x.acknowledge(1'000'000);
    x.append(out, "end", t0);
    uint64_t end = 0;
    while (auto chunk = x.take(t0, true))
      end = chunk->offset + chunk->data.size();
    CHECK(end == 10'000ull * 60'000 + 3);
  }
}

TEST_CASE("what nobody was shown is a gap for who comes later") {
  stream_window w;
  stream_window::time_point now{};
  w.append(output_stream::out, "seen", now);
  CHECK(w.take(now, true)->data == "seen");
  w.append(output_stream::out, "waits", now);
  w.skip(output_stream::out, 10);
  w.start_anew();
  w.append(output_stream::out, "again", now);
  auto chunk = w.take(now, true);
  REQUIRE(chunk);
  CHECK(chunk->data == "again");
  CHECK(chunk->gap == 15);
  CHECK(chunk->offset == 4 + 15);
  w.append(output_stream::out, std::string(stream_window::window_bytes - 5, 'x'), now);
  size_t taken = 0;
  while (auto next = w.take(now, true))
    taken += next->data.size();
  CHECK(taken
        == stream_window::window_bytes - 5); // The chunk before the new reader counts no more.
}

// Payloads that are read to their place, and those that are fed, in any mixture.

#include "messages/wire/frame.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

using namespace corral;

namespace {

std::string payload_of(size_t size, unsigned seed) {
  std::mt19937 random{seed};
  std::string result(size, '\0');
  for (auto& c : result)
    c = static_cast<char>(random());
  return result;
}

std::string encoded(const std::string& payload) {
  return encode_frame_head(fields{}.set("re", 1).dump(), payload.size()) + payload;
}

} // namespace

TEST_CASE("there is no place to read to before a large payload is under way") {
  frame_decoder decoder;
  CHECK(decoder.space().empty());
  auto bytes = encoded(payload_of(1000, 1));
  decoder.feed(blob::copy_of(std::string_view{bytes}.substr(0, bytes.size() - 1)));
  REQUIRE(decoder.next());
  CHECK(decoder.space().empty());
}

TEST_CASE("frames come out the same, however their bytes come in") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    std::string stream;
    std::vector<std::string> payloads;
    for (int i = 0; i < 4; ++i) {
      payloads.push_back(payload_of(random() % (max_frame_payload + 1), seed + i));
      stream += encoded(payloads.back());
    }
    frame_decoder decoder;
    std::string_view rest{stream};
    size_t got = 0;
    while (got < payloads.size()) {
      auto next = decoder.next();
      REQUIRE(next);
      if (*next) {
        REQUIRE((**next).payload.view() == payloads[got++]);
        continue;
      }
      REQUIRE_FALSE(rest.empty());
      auto place = decoder.space();
      auto n = std::min<size_t>(1 + random() % 100'000, rest.size());
      if (!place.empty() && random() % 4 != 0) {
        n = std::min(n, place.size());
        std::memcpy(place.data(), rest.data(), n);
        decoder.wrote(n);
      } else {
        decoder.feed(blob::copy_of(rest.substr(0, n)));
      }
      rest.remove_prefix(n);
    }
    CHECK(rest.empty());
    CHECK(decoder.missing() == 0);
  }
}

TEST_CASE("a bad header of a large frame is a fault before its payload is there") {
  frame_decoder decoder;
  decoder.feed(blob::copy_of(encode_frame_head("[1]", 100'000)));
  CHECK_FALSE(decoder.next());
  CHECK(decoder.space().empty());
}

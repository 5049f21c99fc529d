#include "messages/wire/frame.hpp"
#include "messages/wire/ops.hpp"
#include "tests/golden/cases.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace corral;
using namespace corral::test;

namespace {

std::vector<std::string> lines_of(const golden_file& file) {
  std::ifstream in{CORRAL_GOLDEN_DIR "/" + file.name + ".jsonl", std::ios::binary};
  REQUIRE_MESSAGE(in, file.name);
  std::vector<std::string> result;
  for (std::string line; std::getline(in, line);)
    result.push_back(line);
  return result;
}

struct golden_entry {
  fields line;
  frame sent;
};

/// An entry, its frame read as the daemon would.
golden_entry read_entry(const std::string& text) {
  auto line = fields::parse(text, 1 << 20);
  REQUIRE(line);
  frame_decoder decoder;
  decoder.feed(blob::take(from_hex(line->text("frame").value())));
  auto f = decoder.next();
  REQUIRE(f);
  REQUIRE(*f);
  return {*line, std::move(**f)};
}

} // namespace

TEST_CASE("the golden files hold what this version writes") {
  for (auto& file : golden_files()) {
    CAPTURE(file.name);
    auto lines = lines_of(file);
    REQUIRE(lines.size() == file.cases.size());
    for (size_t i = 0; i < lines.size(); ++i)
      CHECK(lines[i] == golden_line(file.cases[i], file.requests));
  }
}

TEST_CASE("a golden frame read and written again is the same bytes") {
  for (auto& file : golden_files())
    for (auto& text : lines_of(file)) {
      auto [line, sent] = read_entry(text);
      CAPTURE(line.text("name").value());
      CHECK(sent.header == line.object("header").value());
      CHECK(to_hex(sent.payload.view()) == line.text("payload"));
      auto x = message::cut(sent.header, sent.payload);
      REQUIRE(x);
      auto again = encode_frame_head(x->encode_header(), x->payload_size());
      again.append(x->encode_payload().view());
      CHECK(to_hex(again) == line.text("frame"));
    }
}

TEST_CASE("the golden requests are accepted and refused as their lines say") {
  for (auto& file : golden_files())
    for (auto& text : lines_of(file)) {
      auto [line, sent] = read_entry(text);
      if (!file.requests)
        continue;
      CAPTURE(line.text("name").value());
      auto r = check_request(message::cut(sent.header, sent.payload).value());
      CHECK(r.has_value() == line.flag("accepted").value());
      CHECK((r ? "" : r.error().message) == line.text("error").value_or(""));
    }
}

TEST_CASE("what the golden files call accepted and refused is") {
  for (auto& file : golden_files())
    for (auto& x : file.cases) {
      CAPTURE(x.name);
      if (file.requests)
        CHECK(check_request(x.what).has_value() == (file.name == "accepted"));
    }
}

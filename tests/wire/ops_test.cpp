#include "messages/wire/ops.hpp"

#include "tests/support/sample_requests.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace corral;
using namespace corral::test;

namespace {

/// The text of the refusal; empty if it was accepted.
std::string refusal(message x) {
  auto r = check_request(std::move(x));
  if (r)
    return "";
  CHECK(r.error().code == errc::invalid_request);
  return r.error().message;
}

message with(const op_spec& spec, const fields& more) {
  auto x = minimal_request(spec);
  x.header.merge(more);
  return x;
}

message without(const op_spec& spec, std::string_view field) {
  auto x = minimal_request(spec);
  x.header.erase(field);
  return x;
}

message exec_with(const fields& more) {
  return with(spec_of(op::exec), more);
}

bool mentions(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// Every fault of a field is refused by a text that names the op and the field.
void check_refusals(const op_spec& spec, const field_spec& f) {
  CAPTURE(f.name);
  for (auto& bad : bad_values(f)) {
    CAPTURE(bad.fault);
    auto x = with(spec, bad.value);
    if (f.name == "sandbox" && spec.target == target_kind::any)
      x.header.erase("thread");
    auto text = refusal(std::move(x));
    CHECK(text.starts_with(std::string{spec.name} + ": "));
    CHECK(mentions(text, std::string{f.name} + " must be "));
  }
}

} // namespace

TEST_CASE("every op is found by its name and by its number, once") {
  std::set<std::string_view> names;
  for (auto& spec : all_ops()) {
    CHECK(names.insert(spec.name).second);
    CHECK(find_op(spec.name) == &spec);
    CHECK(&spec_of(spec.id) == &spec);
  }
  CHECK(names.size() == static_cast<size_t>(op::ack) + 1);
  CHECK(find_op("nonsense") == nullptr);
}

TEST_CASE("every op accepts the least that it needs") {
  for (auto& spec : all_ops()) {
    CAPTURE(spec.name);
    auto r = check_request(minimal_request(spec));
    REQUIRE_MESSAGE(r, refusal(minimal_request(spec)));
    CHECK(r->spec == &spec);
    CHECK(r->id == (spec.has_reply ? "1" : ""));
    CHECK_FALSE(r->body.header.has("op"));
    CHECK_FALSE(r->body.header.has("id"));
  }
}

TEST_CASE("every op accepts everything that it takes, at its limits") {
  for (auto& spec : all_ops()) {
    CAPTURE(spec.name);
    auto sent = full_request(spec);
    auto r = check_request(sent);
    REQUIRE_MESSAGE(r, refusal(sent));
    for (auto& f : spec.fields)
      CHECK(r->body.header.has(f.name));
    for (auto& p : spec.parts)
      CHECK(r->body.part_of(p.name).view() == sent.part_of(p.name).view());
  }
}

TEST_CASE("every op refuses a missing field or part by its name") {
  for (auto& spec : all_ops()) {
    CAPTURE(spec.name);
    for (auto& f : spec.fields)
      if (f.required)
        CHECK(refusal(without(spec, f.name))
              == std::string{spec.name} + ": the field \"" + std::string{f.name} + "\" is missing");
    for (auto& p : spec.parts) {
      auto x = minimal_request(spec);
      std::erase_if(x.parts, [&](auto& given) { return given.name == p.name; });
      auto expected =
          std::string{spec.name} + ": the part \"" + std::string{p.name} + "\" is missing";
      CHECK(refusal(std::move(x)) == (p.required ? expected : ""));
    }
  }
}

TEST_CASE("every op refuses a mistyped or out-of-range field by its name") {
  for (auto& spec : all_ops()) {
    CAPTURE(spec.name);
    for (auto& f : spec.fields)
      check_refusals(spec, f);
    for (auto& f : target_fields_of(spec))
      check_refusals(spec, f);
  }
}

TEST_CASE("a refusal says what the value should have been") {
  CHECK(refusal(exec_with(fields{}.set("timeout_ms", 0)))
        == "exec: timeout_ms must be a whole number from 1 to 86400000");
  CHECK(refusal(exec_with(fields{}.set("stream", 1))) == "exec: stream must be true or false");
  CHECK(refusal(exec_with(fields{}.set("cwd", "")))
        == "exec: cwd must be a string from 1 to 4096 bytes long");
  CHECK(refusal(exec_with(fields{}.set("cwd", std::string_view{"\0", 1})))
        == "exec: cwd must be a string without NUL");
  CHECK(refusal(exec_with(fields{}.set("thread", "a/b")))
        == "exec: thread must be a name that matches [A-Za-z0-9_-]{1,64}");
  CHECK(refusal(exec_with(fields{}.set("want", "stdout")))
        == "exec: want must be a list of strings");
  CHECK(refusal(exec_with(fields{}.set("env", fields{}.set("A-B", "x"))))
        == "exec: env must be names that match [A-Za-z_][A-Za-z0-9_]*, not \"A-B\"");
  CHECK(refusal(with(spec_of(op::read_file), fields{}.set("start_line", 0)))
        == "read_file: start_line must be a whole number from 1 to 2^63-1");
}

TEST_CASE("an unknown field is refused with the nearest one that the op knows") {
  CHECK(refusal(exec_with(fields{}.set("timeout", 1)))
        == "exec: unknown field \"timeout\"; did you mean \"timeout_ms\"?");
  CHECK(refusal(exec_with(fields{}.set("Env", fields{})))
        == "exec: unknown field \"Env\"; did you mean \"env\"?");
  CHECK(refusal(exec_with(fields{}.set("a_thing_unlike_any", 1)))
        == "exec: unknown field \"a_thing_unlike_any\"");
  for (auto& spec : all_ops()) {
    auto text = refusal(with(spec, fields{}.set("zzzzzzzzzzzz", 1)));
    CHECK(text == std::string{spec.name} + ": unknown field \"zzzzzzzzzzzz\"");
  }
}

TEST_CASE("a long unknown field is shown cut and costs no search") {
  auto text = refusal(exec_with(fields{}.set(std::string(60'000, 'x'), 1)));
  CHECK(text == "exec: unknown field \"" + std::string(64, 'x') + "...\"");
}

TEST_CASE("an unknown op is refused with the nearest one") {
  message x;
  x.header.set("op", "exce").set("id", "1");
  CHECK(refusal(x) == "unknown op \"exce\"; did you mean \"exec\"?");
  x.header.set("op", "mount");
  CHECK(mentions(refusal(x), "unknown op \"mount\""));
  x.header.set("op", 7);
  CHECK(refusal(x) == "the header has no \"op\"");
  CHECK(refusal({}) == "the header has no \"op\"");
}

TEST_CASE("an op with a reply needs an id of 1 to 128 bytes") {
  for (auto& spec : all_ops()) {
    auto expected = std::string{spec.name} + ": id must be a string from 1 to 128 bytes long";
    if (!spec.has_reply)
      expected.clear();
    CHECK(refusal(without(spec, "id")) == expected);
    CHECK(refusal(with(spec, fields{}.set("id", ""))) == expected);
    CHECK(refusal(with(spec, fields{}.set("id", 7))) == expected);
    CHECK(refusal(with(spec, fields{}.set("id", std::string(129, 'x')))) == expected);
  }
}

TEST_CASE("a target is a sandbox or a thread, exactly one of them") {
  for (auto& spec : all_ops()) {
    if (spec.target != target_kind::any)
      continue;
    CAPTURE(spec.name);
    std::string op{spec.name};
    CHECK(refusal(without(spec, "thread"))
          == op + ": name its target with \"thread\" or \"sandbox\"");
    CHECK(refusal(with(spec, fields{}.set("sandbox", "2c26b46b")))
          == op + ": give either \"thread\" or \"sandbox\", not both");
    auto r = check_request(with(spec, fields{}.set("user", "u").set("pool", "p")));
    REQUIRE(r);
    CHECK(r->to == target{"", "t", "u", "p"});
    for (auto name : {"sandbox", "thread", "user", "pool"})
      CHECK_FALSE(r->body.header.has(name));
  }
}

TEST_CASE("an op on a running sandbox takes no thread") {
  for (auto& spec : all_ops()) {
    if (spec.target != target_kind::sandbox)
      continue;
    std::string op{spec.name};
    CHECK(refusal(without(spec, "sandbox")) == op + ": the field \"sandbox\" is missing");
    CHECK(refusal(with(spec, fields{}.set("thread", "t")))
              .starts_with(op + ": unknown field \"thread\""));
    CHECK(check_request(minimal_request(spec))->to.sandbox == "2c26b46b");
  }
}

TEST_CASE("an acquire without a thread, or with null, is anonymous") {
  auto& spec = spec_of(op::acquire);
  CHECK(refusal(minimal_request(spec)).empty());
  auto r = check_request(with(spec, fields{}.set("thread", nullptr)));
  REQUIRE(r);
  CHECK(r->body.header.is_null("thread"));
}

TEST_CASE("a payload must be parts that the op takes") {
  auto x = minimal_request(spec_of(op::exec));
  x.add_part("content", blob::copy_of("x"));
  CHECK(refusal(x) == "exec: it takes no part \"content\"");
  for (auto& spec : all_ops()) {
    auto raw = minimal_request(spec);
    raw.add_part("", blob::copy_of("x"));
    auto expected = std::string{spec.name} + ": the header's parts must say what the payload is";
    CHECK(refusal(raw) == (spec.raw ? "" : expected));
  }
}

TEST_CASE("a hostile name is quoted and cut in the refusal, never passed on") {
  message x;
  x.header.set("op", std::string(1000, 'a')).set("id", "1");
  CHECK(refusal(x) == "unknown op \"" + std::string(64, 'a') + "...\"");
}

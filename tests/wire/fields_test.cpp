#include "messages/wire/fields.hpp"

#include <doctest/doctest.h>

#include <cmath>

using corral::fields;

namespace {

fields parsed(std::string_view json) {
  auto x = fields::parse(json);
  REQUIRE_MESSAGE(x.has_value(), json);
  return *x;
}

std::string fault_of(std::string_view json) {
  auto x = fields::parse(json);
  return x ? "accepted" : x.error();
}

std::string nested(size_t depth) {
  std::string text = R"({"a":)";
  text += std::string(depth - 1, '[') + std::string(depth - 1, ']');
  return text + "}";
}

} // namespace

TEST_CASE("only one JSON object is taken") {
  CHECK(parsed("{}").empty());
  CHECK(parsed(" {\"a\" : 1} ").dump() == R"({"a":1})");
  for (auto text : {"[]", "1", "null", "\"x\""})
    CHECK(fault_of(text) == "not a JSON object");
  for (auto text : {"", " ", "{", "{}{}", "{\"a\":}", "{'a':1}", "{\"a\":1,}", "{} x", "// c\n{}"})
    CHECK(fault_of(text) == "not valid JSON in UTF-8");
}

TEST_CASE("a header may fill its limit and not one byte more") {
  auto of_size = [](size_t n) { return R"({"a":")" + std::string(n - 8, 'x') + "\"}"; };
  CHECK(fault_of(of_size(fields::max_bytes)) == "accepted");
  CHECK(fault_of(of_size(fields::max_bytes + 1)) == "larger than 65536 bytes");
  CHECK(fields::parse(of_size(70'000), 100'000).has_value());
  CHECK_FALSE(fields::parse("{\"a\":1}", 6).has_value());
}

TEST_CASE("nesting is refused before anything recurses into it") {
  CHECK(fault_of(nested(fields::max_depth)) == "accepted");
  CHECK(fault_of(nested(fields::max_depth + 1)) == "nested deeper than 16 levels");
  CHECK(fault_of(std::string(60'000, '[')) == "nested deeper than 16 levels");
}

TEST_CASE("brackets inside strings don't count as nesting") {
  CHECK(fault_of(R"({"a":"[[[[[[[[[[[[[[[[[[[[[[[[[["})") == "accepted");
  CHECK(fault_of(R"({"a":"\"[[[[[[[[[[[[[[[[[[[[[[[["})") == "accepted");
  CHECK(fault_of(R"({"a\\":[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]})")
        == "nested deeper than 16 levels");
}

TEST_CASE("of two fields with one name the last counts, and only it is sent on") {
  auto x = parsed(R"({"op":"ping","op":"exec"})");
  CHECK(x.text("op") == "exec");
  CHECK(x.dump() == R"({"op":"exec"})");
}

TEST_CASE("a field of another type is as good as none") {
  auto x = parsed(R"({"s":"x","i":1,"d":1.5,"b":true,"n":null,"o":{},"l":["a"],"m":["a",1]})");
  CHECK(x.text("s") == "x");
  CHECK_FALSE(x.text("i"));
  CHECK_FALSE(x.text("n"));
  CHECK(x.integer("i") == 1);
  CHECK_FALSE(x.integer("d"));
  CHECK_FALSE(x.integer("s"));
  CHECK_FALSE(x.integer("b"));
  CHECK(x.number("d") == 1.5);
  CHECK(x.number("i") == 1.0);
  CHECK_FALSE(x.number("s"));
  CHECK(x.flag("b") == true);
  CHECK_FALSE(x.flag("i"));
  CHECK(x.object("o"));
  CHECK_FALSE(x.object("l"));
  CHECK(x.texts("l") == std::vector<std::string>{"a"});
  CHECK_FALSE(x.texts("m"));
  CHECK_FALSE(x.texts("o"));
  CHECK(x.is_null("n"));
  CHECK_FALSE(x.is_null("absent"));
  CHECK_FALSE(x.text("absent"));
}

TEST_CASE("a whole number is one only within 64 bits") {
  CHECK(parsed(R"({"a":9223372036854775807})").integer("a") == INT64_MAX);
  CHECK(parsed(R"({"a":-9223372036854775808})").integer("a") == INT64_MIN);
  CHECK_FALSE(parsed(R"({"a":9223372036854775808})").integer("a"));
  CHECK_FALSE(parsed(R"({"a":18446744073709551616})").integer("a"));
  CHECK_FALSE(parsed(R"({"a":1e3})").integer("a"));
}

TEST_CASE("a number that no double holds, or that is none, is refused") {
  CHECK(fault_of(R"({"a":1e999})") == "not valid JSON in UTF-8");
  for (auto text : {"NaN", "Infinity", "-Infinity", "nan", "01", "+1", "0x1"})
    CHECK(fault_of("{\"a\":" + std::string{text} + "}") == "not valid JSON in UTF-8");
}

TEST_CASE("a number that is none is written as null") {
  CHECK(fields{}.set("a", std::nan("")).dump() == R"({"a":null})");
  CHECK(fields{}.set("a", INFINITY).dump() == R"({"a":null})");
}

TEST_CASE("bytes that are not UTF-8 are refused in a header and replaced when written") {
  CHECK(fault_of("{\"a\":\"\xff\"}") == "not valid JSON in UTF-8");
  CHECK(fault_of("{\"a\":\"\xc0\x80\"}") == "not valid JSON in UTF-8");
  CHECK(fault_of("{\"a\":\"\xed\xa0\x80\"}") == "not valid JSON in UTF-8");
  CHECK(fault_of(R"({"a":"\ud800"})") == "not valid JSON in UTF-8");
  CHECK(fields{}.set("a", "x\xffy").dump() == "{\"a\":\"x\xef\xbf\xbdy\"}");
}

TEST_CASE("text arrives as it was, NUL and control characters included") {
  std::string text{"a\0b\x01\n\t\"\\\x7f ä 😀", 18};
  auto x = fields{}.set("a", text);
  CHECK(x.dump().find('\n') == std::string::npos);
  CHECK(parsed(x.dump()).text("a") == text);
}

TEST_CASE("fields are written compactly and in the order of their names") {
  fields x;
  x.set("b", 1).set("a", "x").set("c", true).set("n", nullptr).set("d", 0.5);
  CHECK(x.dump() == R"({"a":"x","b":1,"c":true,"d":0.5,"n":null})");
  CHECK(x.names() == std::vector<std::string>{"a", "b", "c", "d", "n"});
  CHECK(fields{}.dump() == "{}");
}

TEST_CASE("a character pointer is text and a flag stays a flag") {
  CHECK(fields{}.set("a", "x").text("a") == "x");
  CHECK(fields{}.set("a", true).flag("a") == true);
  CHECK(fields{}.set("a", uint8_t{200}).integer("a") == 200);
}

TEST_CASE("sizes are pairs of a name and a count") {
  auto x = parsed(R"({"parts":[["a",0],["b",12]]})").sizes("parts");
  REQUIRE(x);
  CHECK(*x == std::vector<std::pair<std::string, uint64_t>>{{"a", 0}, {"b", 12}});
  for (auto text :
       {R"([["a"]])", R"([["a",1,2]])", R"([[1,"a"]])", R"([["a",-1]])", R"([["a",1.5]])",
        R"(["a",1])", R"({"a":1})", R"([["a",18446744073709551615]])", R"("a")", "null"})
    CHECK_FALSE(parsed("{\"parts\":" + std::string{text} + "}").sizes("parts"));
}

TEST_CASE("a copy is independent of its original") {
  auto a = fields{}.set("x", 1);
  auto b = a;
  b.set("x", 2);
  CHECK(a.integer("x") == 1);
  a = b;
  b.erase("x");
  CHECK(a.integer("x") == 2);
  auto& self = a;
  a = self;
  CHECK(a.integer("x") == 2);
  auto moved = std::move(a);
  CHECK(moved.integer("x") == 2);
}

TEST_CASE("merging takes every field of the other, over ones of the same name") {
  auto x = fields{}.set("a", 1).set("b", 1);
  x.merge(fields{}.set("b", 2).set("c", 2)).merge({});
  CHECK(x.dump() == R"({"a":1,"b":2,"c":2})");
  CHECK(x.erase("a").erase("absent").dump() == R"({"b":2,"c":2})");
}

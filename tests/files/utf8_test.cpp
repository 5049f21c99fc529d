#include "guest/files/utf8.hpp"

#include <doctest/doctest.h>

using namespace corral::guest;

TEST_CASE("what is UTF-8 and what is not") {
  for (std::string_view x : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                             "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "a\xef\xbb\xbf"})
    CHECK(is_utf8(x));
  // Cut off, stray, overlong, a surrogate, beyond U+10FFFF, never valid.
  for (std::string_view x : {"\xc3", "\xa9", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                             "\xf4\x90\x80\x80", "\xff", "a\xe2\x82z"})
    CHECK_FALSE(is_utf8(x));
}

TEST_CASE("text may come in pieces cut anywhere") {
  std::string_view text = "a\xf0\x9f\x98\x80z\xe2\x82\xac";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    text_checker checker;
    CHECK(checker.feed(text.substr(0, cut)));
    CHECK(checker.feed(text.substr(cut)));
    CHECK(checker.complete());
  }
}

TEST_CASE("text that ends within a code point is not complete, text with NUL is none") {
  text_checker cut;
  CHECK(cut.feed("a\xe2\x82"));
  CHECK_FALSE(cut.complete());
  text_checker nul;
  CHECK_FALSE(nul.feed({"a\0b", 3}));
  CHECK_FALSE(nul.feed("fine"));
}

TEST_CASE("each broken sequence becomes one replacement character") {
  CHECK(replace_invalid_utf8("plain \xc3\xa9") == "plain \xc3\xa9");
  CHECK(replace_invalid_utf8("a\xff"
                             "b")
        == "a\xef\xbf\xbd"
           "b");
  CHECK(replace_invalid_utf8("\xe2\x82z") == "\xef\xbf\xbdz");
  CHECK(replace_invalid_utf8("\xe2\x82\xc3\xa9") == "\xef\xbf\xbd\xc3\xa9");
  CHECK(replace_invalid_utf8("x\xf0\x9f") == "x\xef\xbf\xbd");
  CHECK(replace_invalid_utf8("\xff\xff") == "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("code points are counted and cut whole") {
  CHECK(count_code_points("a\xc3\xa9\xf0\x9f\x98\x80") == 3);
  CHECK(bytes_of_code_points("a\xc3\xa9z", 2) == 3);
  CHECK(bytes_of_code_points("ab", 5) == 2);
}

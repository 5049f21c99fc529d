#include "guest/files/glob_match.hpp"

#include <doctest/doctest.h>

#include <string>

using corral::errc;
using corral::guest::glob_pattern;

namespace {

bool matches(std::string_view pattern, std::string_view path, bool is_directory = false) {
  auto x = glob_pattern::compile(pattern);
  REQUIRE(x);
  return x->matches(path, is_directory);
}

} // namespace

TEST_CASE("a glob matches as .gitignore and globstar do") {
  struct {
    std::string_view pattern;
    std::string_view path;
    bool expected;
  } rows[] = {
      // Without a slash: the last name, at any depth.
      {"*.py", "a.py", true},
      {"*.py", "d/e/a.py", true},
      {"*.py", "a.pyc", false},
      {"a.py", "d/a.py", true},
      {"a.py", "d/ba.py", false},
      {"A.PY", "a.py", false},
      {"*", ".hidden", true},
      {"?.c", "a.c", true},
      {"?.c", "ab.c", false},
      {"?.c", "\xc3\xa9.c", true},
      // With one: from the root, and no star crosses it.
      {"src/*.py", "src/a.py", true},
      {"src/*.py", "x/src/a.py", false},
      {"src/*.py", "src/d/a.py", false},
      {"/a.py", "a.py", true},
      {"/a.py", "d/a.py", false},
      {"./a.py", "a.py", true},
      {"a?b", "a/b", false},
      {"x/a[+-9]b", "x/a/b", false},
      {"x/a[!x]b", "x/a/b", false},
      // Two stars as a whole name.
      {"**/*.py", "a.py", true},
      {"**/*.py", "d/e/a.py", true},
      {"src/**/*.py", "src/a.py", true},
      {"src/**/*.py", "src/b/c/a.py", true},
      {"src/**/*.py", "srcx/a.py", false},
      {"**/src/**", "a/src/x/y", true},
      {"**/src/**", "src/x", true},
      {"**/src/**", "a/src", false},
      {"src/**", "src/a/b", true},
      {"src/**", "src", false},
      {"**", "a/b", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/**/b", "a/x/b", true},
      // Elsewhere they are one star.
      {"x/a**b", "x/azzb", true},
      {"x/a**b", "x/az/zb", false},
      {"x/***", "x/y", true},
      // Classes.
      {"[a-c].c", "b.c", true},
      {"[a-c].c", "d.c", false},
      {"[!a-c].c", "d.c", true},
      {"[^a-c].c", "a.c", false},
      {"[]x].c", "].c", true},
      {"[a-].c", "-.c", true},
      {"[\\]].c", "].c", true},
      {"[\xc3\xa0-\xc3\xa9].c", "\xc3\xa8.c", true},
      {"[z-a].c", "m.c", false},
      {"a[b", "a[b", true},
      {"a[", "a[", true},
      {"x[a-", "x[a-", true},
      // Braces.
      {"*.{py,js}", "d/a.js", true},
      {"*.{py,js}", "a.ts", false},
      {"{a,b{c,d}}.x", "bd.x", true},
      {"{a,b{c,d}}.x", "b.x", false},
      {"{src,test}/**/*.c", "test/x/a.c", true},
      {"{**/a,b}.c", "x/y/a.c", true},
      {"a{,b}", "a", true},
      {"a{b}", "a{b}", true},
      {"a{b", "a{b", true},
      {"a}b,c", "a}b,c", true},
      {"a\\{b,c\\}", "a{b,c}", true},
      // What means something to a regular expression means nothing here.
      {"a.(b)+|^$", "a.(b)+|^$", true},
      {"a.c", "abc", false},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"a\\", "a\\", true},
      {"a*b", "a\nb", true},
      {"-rf", "-rf", true},
      // Names need not be text.
      {"*.c", "\xff\xfe.c", true},
  };
  for (auto& x : rows) {
    CAPTURE(std::string{x.pattern});
    CAPTURE(std::string{x.path});
    CHECK(matches(x.pattern, x.path) == x.expected);
  }
}

TEST_CASE("a slash at the end asks for a directory") {
  CHECK(matches("build/", "x/build", true));
  CHECK_FALSE(matches("build/", "x/build", false));
}

TEST_CASE("a pattern full of stars takes no longer than its path") {
  std::string pattern;
  for (int i = 0; i < 400; ++i)
    pattern += "*a";
  CHECK_FALSE(matches(pattern + "b", std::string(4000, 'a')));
  std::string deep = "x";
  for (int i = 0; i < 200; ++i)
    deep += "/x";
  std::string globstars;
  for (int i = 0; i < 100; ++i)
    globstars += "**/x/";
  CHECK_FALSE(matches(globstars + "y", deep));
}

TEST_CASE("alternatives are not multiplied out") {
  std::string pattern;
  for (int i = 0; i < 300; ++i)
    pattern += "{a,b}";
  CHECK(matches(pattern, std::string(300, 'b')));
  CHECK_FALSE(matches(pattern, std::string(299, 'b')));
}

TEST_CASE("alternatives nest as deep as a pattern can be long") {
  std::string nested;
  for (int i = 0; i < 1000; ++i)
    nested += "{b,";
  nested += "a" + std::string(1000, '}');
  CHECK(matches(nested, "a"));
  CHECK(matches(nested, "b"));
  CHECK_FALSE(matches(nested, "c"));
}

TEST_CASE("an empty pattern is invalid") {
  for (auto pattern : {"", "./", "/"})
    CHECK(glob_pattern::compile(pattern).error().code == errc::invalid_pattern);
}

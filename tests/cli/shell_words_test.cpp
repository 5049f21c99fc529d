#include "apps/cli/shell_words.hpp"

#include <doctest/doctest.h>

#include "apps/cli/run_program.hpp"

using namespace corral::cli;

TEST_CASE("a single argument is a script and stays as it is") {
  CHECK(to_script({"echo \"$HOME\"; ls | wc"}) == "echo \"$HOME\"; ls | wc");
}

TEST_CASE("several arguments are quoted where a shell would change them") {
  CHECK(to_script({"ls", "-la", "/tmp"}) == "ls -la /tmp");
  CHECK(to_script({"echo", "a b", "$HOME", ""}) == "echo 'a b' '$HOME' ''");
  CHECK(to_script({"echo", "it's"}) == "echo 'it'\\''s'");
}

TEST_CASE("a shell reads every quoted word back as it was") {
  std::vector<std::string> words{"/usr/bin/printf", "<%s>"};
  std::string expected;
  for (std::string word : {"", "plain", "a b", "'", "''", "\"", "\\", "$x", "`x`", "~", "A=b", "*",
                           "a\nb", "#", "!", "-n", "{a,b}", "\x01\xff", "é"}) {
    words.push_back(word);
    expected += "<" + word + ">";
  }
  auto x = run_program({"/bin/sh", "-c", to_script(words)}, std::chrono::seconds{10});
  REQUIRE(x);
  CHECK(x->status == 0);
  CHECK(x->output == expected);
}

TEST_CASE("a word that assigns is quoted, so that it stays the name of a command") {
  CHECK(quote_word("A=b") == "'A=b'");
}

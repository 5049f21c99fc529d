#include "fixture.hpp"

#include <sys/stat.h>

using namespace corral;
using namespace corral::guest::test;
namespace fs = std::filesystem;

TEST_CASE_FIXTURE(sandbox, "one match is replaced and all else stays byte for byte") {
  put("a.c", "\xef\xbb\xbfint\tx = 1;\r\nint y = 2;\r\n");
  auto x = replace("a.c", "= 1;\r\n", "= 3;\n");
  CHECK(x.ok());
  CHECK(x.header.integer("replacements") == 1);
  CHECK(get("a.c") == "\xef\xbb\xbfint\tx = 3;\nint y = 2;\r\n");
}

TEST_CASE_FIXTURE(sandbox, "a match must be there, and be the only one unless all are meant") {
  put("a", "one two one\n");
  auto none = replace("a", "three", "x");
  CHECK(none.code() == "match_not_found");
  auto many = replace("a", "one", "1");
  CHECK(many.code() == "match_not_unique");
  CHECK(many.details().integer("count") == 2);
  CHECK(many.message().find("2 times") != std::string::npos);
  CHECK(get("a") == "one two one\n");
  auto all = replace("a", "one", "1", true);
  CHECK(all.header.integer("replacements") == 2);
  CHECK(get("a") == "1 two 1\n");
  CHECK(replace("a", "three", "x", true).code() == "match_not_found");
}

TEST_CASE_FIXTURE(sandbox, "line endings are part of what is looked for") {
  put("a", "x\r\ny\r\n");
  CHECK(replace("a", "x\ny", "z").code() == "match_not_found");
  CHECK(get("a") == "x\r\ny\r\n");
}

TEST_CASE_FIXTURE(sandbox, "matches don't overlap, and what is put in is not searched again") {
  put("a", "aaaaa");
  auto x = replace("a", "aa", "aaa", true);
  CHECK(x.header.integer("replacements") == 2);
  CHECK(get("a") == "aaaaaaa");
}

TEST_CASE_FIXTURE(sandbox, "new text may be empty, old text may not") {
  put("a", "abc");
  CHECK(replace("a", "", "x").code() == "invalid_request");
  CHECK(replace("a", "b", "").ok());
  CHECK(get("a") == "ac");
}

TEST_CASE_FIXTURE(sandbox, "only text is edited, and only up to the limit") {
  put("nul", std::string{"a\0b", 3});
  put("latin1", "caf\xe9");
  CHECK(replace("nul", "a", "x").code() == "not_text");
  CHECK(replace("latin1", "c", "x").code() == "not_text");
  settings.text_max_bytes = 100;
  sandbox small;
  small.settings.text_max_bytes = 100;
  small.put("big", std::string(101, 'a'));
  CHECK(small.replace("big", "a", "b", true).code() == "file_too_large");
  small.put("fits", std::string(100, 'a'));
  CHECK(small.replace("fits", "a", "b", true).ok());
}

TEST_CASE_FIXTURE(sandbox,
                  "an edit that would grow a file over the limit of one transfer is refused") {
  settings.transfer_max_bytes = 1000;
  put("a", std::string(100, 'a'));
  CHECK(replace("a", "a", std::string(11, 'b'), true).code() == "file_too_large");
  CHECK(get("a") == std::string(100, 'a'));
  CHECK(replace("a", "a", std::string(10, 'b'), true).ok());
}

TEST_CASE_FIXTURE(sandbox, "many small replacements make a large file right") {
  std::string before;
  std::string after;
  for (int i = 0; i < 60'000; ++i) {
    before += "a,";
    after += "bc,";
  }
  put("a", before);
  CHECK(replace("a", "a", "bc", true).header.integer("replacements") == 60'000);
  CHECK(get("a") == after);
}

TEST_CASE_FIXTURE(sandbox, "text made to be searched slowly is searched in linear time") {
  put("a", std::string(4'000'000, 'a'));
  auto begin = std::chrono::steady_clock::now();
  CHECK(replace("a", std::string(1'000'000, 'a') + "b", "x").code() == "match_not_found");
  CHECK(replace("a", "b" + std::string(1'000'000, 'a'), "x").code() == "match_not_found");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
}

TEST_CASE_FIXTURE(sandbox, "a missing file is not made, and a mode is kept") {
  CHECK(replace("none", "a", "b").code() == "file_not_found");
  CHECK(replace("no/dir", "a", "b").code() == "file_not_found");
  CHECK(names().empty());
  put("script", "echo a\n");
  fs::permissions(at("script"), fs::perms{0750});
  CHECK(replace("script", "a", "b").ok());
  CHECK(fs::status(at("script")).permissions() == fs::perms{0750});
}

TEST_CASE_FIXTURE(sandbox, "parts that don't fit the payload are refused") {
  put("a", "abc");
  fields header;
  header.set("path", "a");
  header.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"old", 1}, {"new", 5}});
  CHECK(call(op::str_replace, header, {"b"}).code() == "invalid_request");
  CHECK(get("a") == "abc");
}

#include "fixture.hpp"

#include <chrono>

using namespace corral;
using namespace corral::guest::test;
namespace fs = std::filesystem;

namespace {

/// "path:line: text", without the workspace's path.
std::vector<std::string> shown(const reply& x) {
  std::vector<std::string> result;
  for (auto& line : x.lines())
    result.push_back(line.text("path")->substr(25) + ":"
                     + std::to_string(*line.integer("line_number")) + ": " + *line.text("line"));
  return result;
}

using strings = std::vector<std::string>;

} // namespace

TEST_CASE_FIXTURE(sandbox, "grep finds lines in files and below directories, in order") {
  put("b/x.c", "int main() {}\n\nreturn TODO;\r\n");
  put("a.c", "todo: one\nnothing\nTodo: two");
  CHECK(shown(grep(".", "todo"))
        == strings{"a.c:1: todo: one", "a.c:3: Todo: two", "b/x.c:3: return TODO;"});
  CHECK(shown(grep("b/x.c", "^return")) == strings{"b/x.c:3: return TODO;"});
  CHECK(shown(grep(".", "two$")) == strings{"a.c:3: Todo: two"});
}

TEST_CASE_FIXTURE(sandbox, "case counts only if asked") {
  put("a", "todo\nTODO\n");
  CHECK(grep(".", "TODO").lines().size() == 2);
  CHECK(shown(grep(".", "TODO", fields{}.set("case_sensitive", true))) == strings{"a:2: TODO"});
}

TEST_CASE_FIXTURE(sandbox, "a literal pattern means itself") {
  put("a", "(a+b)\naab\n");
  auto literal = fields{}.set("literal", true);
  CHECK(shown(grep(".", "(a+b)", literal)) == strings{"a:1: (a+b)"});
  CHECK(shown(grep(".", "[invalid", literal)).empty());
  CHECK(grep(".", "(a+b)").lines().size() == 1);
  CHECK(grep(".", "(a+b)").lines()[0].integer("line_number") == 2);
}

TEST_CASE_FIXTURE(sandbox, "an invalid pattern is told with its fault") {
  for (auto pattern : {"[invalid", "(", "a{2,1}", "(?=x)", "\\1", "((a{100}){100}){100}"}) {
    CAPTURE(pattern);
    auto x = grep(".", pattern);
    CHECK(x.code() == "invalid_pattern");
    CHECK(x.message().find("RE2") != std::string::npos);
  }
  CHECK(grep(".", "[invalid").message().find("missing ]") != std::string::npos);
  CHECK(grep(".", "x", fields{}.set("glob", "/")).code() == "invalid_pattern");
}

TEST_CASE_FIXTURE(sandbox, "a pattern that stops other engines takes linear time") {
  put("a", std::string(1900, 'a') + "!\n");
  auto begin = std::chrono::steady_clock::now();
  CHECK(grep(".", "^(a+)+$").lines().empty());
  CHECK(grep(".", "^(a|aa|a?)*b$").lines().empty());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
}

TEST_CASE_FIXTURE(sandbox, "a glob selects files by path from the root, or a single file by name") {
  put("src/a.py", "needle");
  put("src/a.js", "needle");
  put("b.py", "needle");
  CHECK(grep(".", "needle", fields{}.set("glob", "*.py")).lines().size() == 2);
  CHECK(shown(grep(".", "needle", fields{}.set("glob", "src/**"))).size() == 2);
  CHECK(shown(grep("src", "needle", fields{}.set("glob", "/*.{js,ts}")))
        == strings{"src/a.js:1: needle"});
  CHECK(grep("src/a.py", "needle", fields{}.set("glob", "*.js")).lines().empty());
  CHECK(grep("src/a.py", "needle", fields{}.set("glob", "*.py")).lines().size() == 1);
}

TEST_CASE_FIXTURE(sandbox, "grep is truncated only if there was more") {
  put("a", "x\nx\nx\n");
  auto three = grep(".", "x", fields{}.set("max_results", 3));
  CHECK(three.lines().size() == 3);
  CHECK_FALSE(three.truncated());
  auto two = grep(".", "x", fields{}.set("max_results", 2));
  CHECK(two.lines().size() == 2);
  CHECK(two.truncated());
}

TEST_CASE_FIXTURE(sandbox, "files that are large or binary are skipped and counted") {
  std::string needle = "needle\n";
  put("fits", needle + std::string(1'000'000 - needle.size(), '\n'));
  put("large", needle + std::string(1'000'001 - needle.size(), '\n'));
  put("binary", needle + std::string{"\0", 1});
  put("late", needle + std::string(8192, '\n') + std::string{"\0", 1});
  auto x = grep(".", "needle");
  CHECK(x.paths() == strings{"/mnt/user-data/workspace/fits", "/mnt/user-data/workspace/late"});
  CHECK(x.header.integer("skipped_files") == 2);
  auto one = grep("large", "needle");
  CHECK(one.ok());
  CHECK(one.lines().empty());
  CHECK(one.header.integer("skipped_files") == 1);
}

TEST_CASE_FIXTURE(sandbox,
                  "a long line is cut, a very long one skipped; characters count, not bytes") {
  std::string euro = "\xe2\x82\xac";
  auto euros = [&](int n) {
    std::string result;
    for (int i = 0; i < n; ++i)
      result += euro;
    return result;
  };
  put("a", std::string(200, 'x') + "\n" + std::string(201, 'x') + "\n" + std::string(1999, 'x')
               + "\n" + std::string(2000, 'x') + "\nlast x\n");
  auto lines = grep("a", "x").lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].text("line") == std::string(200, 'x'));
  CHECK(lines[1].text("line") == std::string(197, 'x') + "...");
  CHECK(lines[2].integer("line_number") == 3);
  CHECK(lines[3].integer("line_number") == 5);
  CHECK(grep("a", "x").header.integer("skipped_lines") == 1);
  put("b", euros(1999) + "\n" + euros(200) + "\n" + euros(2000) + "\n");
  auto wide = grep("b", euro).lines();
  REQUIRE(wide.size() == 2);
  CHECK(wide[0].text("line") == euros(197) + "...");
  CHECK(wide[1].text("line") == euros(200));
}

TEST_CASE_FIXTURE(sandbox, "bytes that are not UTF-8 are replaced before a line is matched") {
  put("a", "caf\xe9 needle\n");
  CHECK(shown(grep(".", "^caf. needle$")) == strings{"a:1: caf\xef\xbf\xbd needle"});
}

TEST_CASE_FIXTURE(sandbox, "links below the operand are not searched, the operand is followed") {
  put("real/a", "needle");
  fs::create_symlink("real", at("dir"));
  fs::create_symlink("real/a", at("file"));
  CHECK(shown(grep(".", "needle")) == strings{"real/a:1: needle"});
  CHECK(shown(grep("dir", "needle")) == strings{"dir/a:1: needle"});
  CHECK(shown(grep("file", "needle")) == strings{"file:1: needle"});
}

TEST_CASE_FIXTURE(sandbox, "a grep that is cancelled midway is busy and answers once") {
  for (int i = 0; i < 100; ++i)
    put("f" + std::to_string(i), "needle\n");
  auto out = std::make_shared<recording_writer>();
  out->checks_before_cancel = 250;
  auto x = call(op::grep, fields{}.set("path", ".").set("pattern", "needle"),
                std::make_shared<scripted_payload>(), out);
  CHECK(x.code() == "busy");
  CHECK(out->answers() == 1);
}

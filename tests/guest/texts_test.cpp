#include "guest/output_text.hpp"
#include "guest/script_text.hpp"

#include <doctest/doctest.h>

using namespace corral::guest;
using namespace std::chrono_literals;

TEST_SUITE("the text an agent is shown") {
  struct row {
    const char* out;
    const char* err;
    command_end end;
    const char* text;
  };

  TEST_CASE("puts stdout, stderr and the ending together") {
    const std::string notice =
        " and was terminated. To run a long-lived process such as a web server, start it in the "
        "background and redirect its output, e.g. `your-command > "
        "/mnt/user-data/workspace/server.log 2>&1 &`.";
    const auto half = "Command timed out after 0.5 seconds" + notice;
    const auto after = "some\n\n" + half;
    for (auto& [out, err, end, text] :
         {row{"", "", {}, "(no output)"}, row{"hi\n", "", {}, "hi\n"},
          row{"hi\n", "", {3, false, false, 0ms}, "hi\n\nExit Code: 3"},
          row{"", "", {3, false, false, 0ms}, "\nExit Code: 3"}, row{"", "err\n", {}, "err\n"},
          row{"", "err\n", {2, false, false, 0ms}, "err\n\nExit Code: 2"},
          row{"out\n", "err\n", {}, "out\n\nStd Error:\nerr\n"},
          row{"", "", {-9, false, false, 0ms}, "\nExit Code: -9"},
          row{"\xff\xfe", "", {}, "\xef\xbf\xbd\xef\xbf\xbd"},
          row{"", "", {0, true, false, 500ms}, half.c_str()},
          row{"some\n", "", {0, true, false, 500ms}, after.c_str()},
          row{"", "", {0, false, true, 0ms}, "Command cancelled."},
          row{"some", "", {0, false, true, 0ms}, "some\nCommand cancelled."}})
      CHECK(compose_output(out, err, end, 0) == text);
  }

  TEST_CASE("names a duration as %g does, with its unit") {
    CHECK(describe_seconds(600s) == "600 seconds");
    CHECK(describe_seconds(1s) == "1 second");
    CHECK(describe_seconds(1500ms) == "1.5 seconds");
    CHECK(describe_seconds(250ms) == "0.25 seconds");
    CHECK(describe_seconds(86'400s) == "86400 seconds");
    CHECK(describe_seconds(1ms) == "0.001 seconds");
  }

  TEST_CASE("cuts the middle so that the whole stays within the limit") {
    auto cut = cut_middle(std::string(30'000, 'x'), 20'000);
    CHECK(cut
          == std::string(9975, 'x') + "\n... [middle truncated: 10049 chars skipped] ...\n"
                 + std::string(9976, 'x'));
    CHECK(cut.size() == 20'000);
    auto barely = cut_middle(std::string(20'001, 'x'), 20'000);
    CHECK(barely.size() == 19'997);
    CHECK(barely.find(" 50 chars skipped") != std::string::npos);
    CHECK(cut_middle(std::string(1000, 'x'), 52)
          == "xx\n... [middle truncated: 996 chars skipped] ...\nxx");
    CHECK(cut_middle(std::string(1000, 'x'), 10) == "xxxxxxxxxx");
    CHECK(cut_middle(std::string(20'000, 'x'), 20'000) == std::string(20'000, 'x'));
    CHECK(cut_middle(std::string(30'000, 'x'), 0).size() == 30'000);
  }

  TEST_CASE("counts characters, not bytes, and cuts between them") {
    std::string snow;
    for (int i = 0; i < 20'000; ++i)
      snow += "\xe2\x98\x83";
    CHECK(cut_middle(snow, 20'000) == snow);
    auto cut = cut_middle(snow + "!", 20'000);
    CHECK(to_valid_utf8(cut) == cut);
    CHECK(cut.ends_with("\xe2\x98\x83!"));
  }

  TEST_CASE("replaces what is not UTF-8, one mark for the longest start of a sequence") {
    const std::string mark = "\xef\xbf\xbd";
    CHECK(to_valid_utf8("h\xc3\xa9 \xe2\x98\x83 \xf0\x9f\x98\x80")
          == "h\xc3\xa9 \xe2\x98\x83 \xf0\x9f\x98\x80");
    CHECK(to_valid_utf8("a\xe2\x98") == "a" + mark);
    CHECK(to_valid_utf8("\xe2\x98z") == mark + "z");
    CHECK(to_valid_utf8("\xc0\x80") == mark + mark);
    CHECK(to_valid_utf8("\xed\xa0\x80") == mark + mark + mark);
    CHECK(to_valid_utf8("\xf4\x90\x80\x80") == mark + mark + mark + mark);
    CHECK(to_valid_utf8(std::string("\0\x80", 2)) == std::string("\0", 1) + mark);
  }
}

TEST_SUITE("texts for bash") {
  const control_paths paths{"/run/c"};

  TEST_CASE("quoting leaves plain words alone and survives every other byte") {
    CHECK(quote("/a/b-c_1.x") == "/a/b-c_1.x");
    CHECK(quote("") == "''");
    CHECK(quote("a b") == "'a b'");
    CHECK(quote("it's $x\n") == "'it'\\''s $x\n'");
  }

  TEST_CASE("blank is what has blanks and comments only") {
    for (auto text : {"", " \t\r\n", "# x", "  # x\n\n\t#y\n"})
      CHECK(is_blank(text));
    for (auto text : {"x", "# x\ny", "\n:\n", " \n x # y"})
      CHECK_FALSE(is_blank(text));
  }

  TEST_CASE("a command runs as one group, after its first line has set the mark") {
    CHECK(command_text(paths, "echo a", 0, false) == "9>|/run/c/mark || return 1\n{ echo a\n\n}\n");
    CHECK(command_text(paths, "# nothing", 0, false) == "9>|/run/c/mark || return 1\n{ :\n\n}\n");
    CHECK(command_text(paths, "x", 7, true)
          == "\\. /run/c/enter || return\n9>|/run/c/mark || return 1; \\. /run/c/rc 7 && :\n{ "
             "x\n\n}\n");
  }

  TEST_CASE("what holds for one command is undone in the line that reports its end") {
    CHECK(status_line(paths, "n1", true).starts_with("\\. /run/c/leave \"$?\"; \\builtin printf"));
    CHECK(status_line(paths, "n1", true).find('\n') == status_line(paths, "n1", true).size() - 1);
    CHECK(status_line(paths, "n1", false).find("leave") == std::string::npos);
  }

  TEST_CASE("no scope makes no text") {
    CHECK(enter_text(paths, {}).empty());
    CHECK(leave_text(paths, {}, "/").empty());
  }

  TEST_CASE("stdin is /dev/null unless there is input") {
    CHECK(run_line(paths, 3, false) == "\\. /run/c/cmd </dev/null >|/run/c/o3 2>|/run/c/e3\n");
    CHECK(run_line(paths, 3, true) == "\\. /run/c/cmd </run/c/i3 >|/run/c/o3 2>|/run/c/e3\n");
  }
}

#include "guest/capture.hpp"
#include "guest/interrupt_ladder.hpp"
#include "guest/process_table.hpp"
#include "guest/status_parser.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

using namespace corral::guest;
using namespace std::chrono_literals;

TEST_SUITE("capture") {
  TEST_CASE("keeps all of what fits and says so") {
    capture x{4, 4};
    x.append("abc");
    x.append("defgh");
    CHECK(x.text() == "abcdefgh");
    CHECK(x.total() == 8);
    CHECK_FALSE(x.truncated());
  }

  TEST_CASE("keeps both ends however the bytes arrive") {
    std::string all = "0123456789abcdefghij";
    for (size_t step = 1; step <= all.size(); ++step) {
      CAPTURE(step);
      capture x{4, 5};
      for (size_t i = 0; i < all.size(); i += step)
        x.append(std::string_view{all}.substr(i, step));
      CHECK(x.total() == all.size());
      CHECK(x.truncated());
      CHECK(x.text() == "0123\n... [output truncated: 11 bytes skipped] ...\nfghij");
    }
  }

  TEST_CASE("is empty at first") {
    CHECK(capture{}.text().empty());
    CHECK_FALSE(capture{}.truncated());
  }
}

TEST_SUITE("process table") {
  TEST_CASE("a name with brackets, spaces and newlines can't shift the fields") {
    auto x = parse_stat("42 (a) R 7 (\nb) S 17 42 42 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2");
    REQUIRE(x);
    CHECK(x->pid == 42);
    CHECK(x->parent == 17);
    CHECK(x->state == 'S');
    CHECK(x->start_time == 9876);
  }

  TEST_CASE("what is cut short or no number is no entry") {
    for (auto text : {"", "42", "42 (x)", "42 (x) ", "42 (x) S 1 2 3", "x (y) S 1 2 3"}) {
      CAPTURE(text);
      CHECK_FALSE(parse_stat(text));
    }
  }

  TEST_CASE("finds this process, with the start time it was stamped with") {
    auto table = process_table::read();
    auto me = table.find(::getpid());
    REQUIRE(me);
    CHECK(me->parent == ::getppid());
    CHECK(me->start_time <= current_start_time());
  }

  constexpr pid_t guest = 1, shell = 2;

  std::vector<pid_t> pids(const std::vector<process_entry>& entries) {
    std::vector<pid_t> result;
    for (auto& x : entries)
      result.push_back(x.pid);
    std::sort(result.begin(), result.end());
    return result;
  }

  TEST_CASE(
      "a command's processes are those born since, below the shell or orphaned to the guest") {
    process_table table{{{guest, 0, 'S', 1},
                         {shell, guest, 'S', 5},
                         {10, shell, 'S', 100}, // Its own child
                         {11, 10, 'S', 101},    // and grandchild.
                         {12, guest, 'S', 102}, // An orphan.
                         {13, shell, 'Z', 103}, // Has ended.
                         {20, shell, 'S', 50},  // A job of an earlier command
                         {21, 20, 'S', 104},    // and its new worker.
                         {30, 99, 'S', 105}}};  // Not below the guest.
    CHECK(pids(processes_since(table, birth_line{100}, guest, shell))
          == std::vector<pid_t>{10, 11, 12});
    CHECK(pids(descendants_of(table, guest)) == std::vector<pid_t>{shell, 10, 11, 12, 20, 21});
  }

  TEST_CASE("in the tick of the line, those seen before it are earlier ones") {
    process_table before{{{20, shell, 'S', 100}}};
    birth_line line{100, before};
    CHECK_FALSE(line.is_later({20, shell, 'S', 100}));
    CHECK(line.is_later({21, shell, 'S', 100}));
    CHECK_FALSE(line.is_later({22, shell, 'S', 99}));
    CHECK(line.is_later({20, shell, 'S', 101})); // The pid was given out again.
  }

  TEST_CASE("a torn table with a loop in it ends the walk") {
    process_table table{{{10, 11, 'S', 100}, {11, 10, 'S', 100}}};
    CHECK(processes_since(table, birth_line{1}, guest, shell).empty());
  }
}

TEST_SUITE("status parser") {
  std::string report(std::string nonce, std::string code, std::string directory) {
    auto nul = std::string(1, '\0');
    return std::move(nonce) + nul + std::move(code) + nul + std::move(directory) + nul;
  }

  TEST_CASE("finds the report however it is cut") {
    auto text = "noise\n" + report("abcd", "7", "/a\nb");
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      CAPTURE(cut);
      status_parser x;
      x.expect("abcd");
      auto first = x.feed(text.substr(0, cut));
      auto second = first ? first : x.feed(text.substr(cut));
      REQUIRE(second);
      CHECK(second->exit_code == 7);
      CHECK(second->directory == "/a\nb");
    }
  }

  TEST_CASE("skips reports that break the form, and takes the next one") {
    for (auto code : {"", "256", "-1", "7x", "x"}) {
      CAPTURE(code);
      status_parser x;
      x.expect("abcd");
      CHECK_FALSE(x.feed(report("abcd", code, "/")));
      auto found = x.feed(report("abcd", "0", "/ok"));
      REQUIRE(found);
      CHECK(found->directory == "/ok");
    }
  }

  TEST_CASE("another command's report is noise") {
    status_parser x;
    x.expect("abcd");
    CHECK_FALSE(x.feed(report("abce", "0", "/")));
    x.expect("efgh");
    CHECK_FALSE(x.feed(report("abcd", "0", "/")));
    CHECK(x.feed(report("efgh", "0", "/")));
  }

  TEST_CASE("a directory without end is given up") {
    status_parser x;
    x.expect("abcd");
    CHECK_FALSE(x.feed(std::string("abcd\0"
                                   "0\0",
                                   7)
                       + std::string(200'000, 'x')));
    CHECK(x.feed(report("abcd", "3", "/"))->exit_code == 3);
  }
}

TEST_SUITE("interrupt ladder") {
  TEST_CASE("SIGINT at once, SIGTERM after 0.6 s, SIGKILL after 1.2 s, the shell after 1.7 s") {
    interrupt_ladder::time_point t0{};
    interrupt_ladder x{t0};
    process_entry p{10, 2, 'S', 100};
    CHECK(x.signal_for(p, false, t0) == SIGINT);
    CHECK(x.signal_for(p, false, t0 + 50ms) == 0);
    CHECK(x.signal_for(p, false, t0 + 599ms) == 0);
    CHECK(x.signal_for(p, false, t0 + 600ms) == SIGTERM);
    CHECK(x.signal_for(p, false, t0 + 650ms) == 0);
    CHECK(x.signal_for(p, false, t0 + 1200ms) == SIGKILL);
    CHECK_FALSE(x.exhausted(t0 + 1699ms));
    CHECK(x.exhausted(t0 + 1700ms));
  }

  TEST_CASE("one that ignores SIGINT gets SIGTERM from the start, once") {
    interrupt_ladder::time_point t0{};
    interrupt_ladder x{t0};
    process_entry p{10, 2, 'S', 100};
    CHECK(x.signal_for(p, true, t0) == SIGTERM);
    CHECK(x.signal_for(p, true, t0 + 600ms) == 0);
    CHECK(x.signal_for(p, true, t0 + 1200ms) == SIGKILL);
  }

  TEST_CASE("a pid given out again is another process") {
    interrupt_ladder x{{}};
    CHECK(x.signal_for({10, 2, 'S', 100}, false, {}) == SIGINT);
    CHECK(x.signal_for({10, 2, 'S', 101}, false, {}) == SIGINT);
  }
}

#include "tests/guest/session_fixture.hpp"

#include <csignal>

using namespace corral::guest;
using namespace corral::guest::test;

TEST_SUITE("shell session: descriptors and output") {
  TEST_CASE_FIXTURE(session_fixture, "exec >file does not swallow the next command's output") {
    run("exec >hidden; echo hidden");
    CHECK(run("echo visible").out == "visible\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a descriptor that the script opened persists") {
    run("exec 5>fd5");
    CHECK(run("echo to5 >&5; exec 5>&-; cat fd5").out == "to5\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "closing 0, 1 and 2 is survived") {
    run("exec 0<&- 1>&- 2>&-; :");
    CHECK(run("echo back").out == "back\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "closing the shell's own saved descriptors is survived") {
    run("D3=3");
    await_dump("D3=");
    run("exec 10<&- 11<&- 12<&- 13<&-; echo a");
    CHECK(has(run("echo ok $D3").out, "ok 3"));
  }

  TEST_CASE_FIXTURE(session_fixture, "stdin is empty unless given") {
    CHECK(run("read x; echo \"got[$x] rc=$?\"; cat; head -c 5").out == "got[] rc=1\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "given stdin arrives, then ends") {
    CHECK(run(shell_command{.script = "read a; read b; echo $b-$a; cat",
                            .input = "line1\nline2\nrest"})
              .out
          == "line2-line1\nrest");
    CHECK(run(shell_command{.script = "cat; echo end", .input = ""}).out == "end\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "8 MB of stdin pass through without a deadlock") {
    auto& r = run(shell_command{.script = "wc -c", .input = std::string(8'000'000, 'x')});
    CHECK(r.out == "8000000\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "stdin that nobody reads holds nothing up") {
    CHECK(run(shell_command{.script = "echo ok", .input = std::string(1'000'000, 'x')}).out
          == "ok\n");
    CHECK(run("cat; echo next").out == "next\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "an open stdin takes more until its end") {
    begin({.script = "while read x; do echo got $x; done; echo end", .input_open = true});
    CHECK(session.feed("one\n", false) == 4u);
    CHECK(wait([&] { return has_output("got one\n"); }));
    CHECK(session.feed("two\n", true) == 4u);
    CHECK(end().out == "got one\ngot two\nend\n");
    CHECK_FALSE(session.feed("late\n", false));
  }

  TEST_CASE_FIXTURE(session_fixture, "an open stdin that is not read accepts a bounded amount") {
    begin({.script = "sleep 30", .input_open = true});
    size_t accepted = 0, n = 0;
    std::string block(100'000, 'x');
    do {
      n = session.feed(block, false).value();
      accepted += n;
    } while (n > 0 && accepted < 10'000'000);
    CHECK(accepted >= input_pipe::max_buffered);
    CHECK(accepted < 2'000'000);
    CHECK(session.cancel());
    CHECK(end().cancelled);
  }

  TEST_CASE_FIXTURE(session_fixture, "children get 0 to 2 and nothing else") {
    CHECK(run("ls /proc/self/fd | tr '\\n' ' '").out == "0 1 2 3 "); // 3 is ls reading.
  }

  TEST_CASE_FIXTURE(session_fixture, "NUL and binary output are exact") {
    CHECK(run("printf 'a\\0b\\0\\377\\n'").out == std::string("a\0b\0\xff\n", 6));
  }

  TEST_CASE_FIXTURE(session_fixture, "3 MB of binary are counted and bounded") {
    auto& r = run("head -c 3000000 /dev/urandom; echo done >&2");
    CHECK(r.out_total == 3'000'000);
    CHECK(r.err == "done\n");
    CHECK(r.out.size() < 1'100'000);
  }

  TEST_CASE_FIXTURE(session_fixture, "1 GB of stdout and 100 MB of stderr are counted") {
    auto& r = run("head -c 1000000000 /dev/zero; head -c 100000000 /dev/zero >&2", 60s);
    CHECK(r.out_total == 1'000'000'000);
    CHECK(r.err_total == 100'000'000);
    CHECK(r.code() == 0);
  }

  TEST_CASE_FIXTURE(session_fixture, "the start and the end of long output are kept") {
    auto& r = run("seq 1 200000; echo END");
    CHECK(r.out.starts_with("1\n2\n"));
    CHECK(r.out.ends_with("200000\nEND\n"));
  }

  TEST_CASE_FIXTURE(session_fixture, "a heavy pipeline ends by itself") {
    auto& r = run("cat /dev/zero | tr '\\0' x | head -c 200000000 | md5sum", 60s);
    CHECK(r.code() == 0);
    CHECK(has(r.out, "-"));
  }

  TEST_CASE_FIXTURE(session_fixture, "garbage on the status pipe is ignored") {
    auto& r = run("PROMPT_COMMAND='echo noise; printf \"0\\\\0/\\\\0\"'; "
                  "for f in /proc/$$/fd/1[0-9]; do echo garbage >$f; done 2>/dev/null; echo fine");
    CHECK(r.out == "fine\n");
    CHECK(r.code() == 0);
  }

  TEST_CASE_FIXTURE(session_fixture, "programs that want a terminal fail at once") {
    auto& r = run("sudo(){ :; }; read -t 100 x </dev/tty; less /etc/passwd | head -1; echo ok");
    CHECK_FALSE(r.timed_out);
    CHECK(has(r.out, "ok\n"));
  }
}

TEST_SUITE("shell session: background processes") {
  TEST_CASE_FIXTURE(session_fixture, "a background job does not hold its command open") {
    auto& r = run("sleep 300 & echo $!");
    auto job = std::stoi(r.out);
    CHECK(r.duration < 1s);
    CHECK(r.err.empty());
    CHECK(run("jobs -l | grep -c Running; kill -0 " + std::to_string(job) + " && echo alive").out
          == "1\nalive\n");
    CHECK(has(run("kill %1; wait; echo w$?").out, "w"));
    CHECK_FALSE(is_alive(job));
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "its output neither leaks into the next command nor kills it") {
    auto& r = run("(while :; do echo tick; sleep 0.01; done) & echo started");
    CHECK(has(r.out, "started"));
    CHECK(r.duration < 1s);
    auto job = std::stoi(run("echo $!").out);
    // More ticks than a pipe holds without a reader would block it: it must go on being read.
    auto reader = [&] { return run("cat /proc/" + std::to_string(job) + "/io | grep wchar").out; };
    auto before = reader();
    CHECK(wait([&] { return reader() != before; }));
    CHECK(run("echo clean").out == "clean\n");
    CHECK(is_alive(job));
  }

  TEST_CASE_FIXTURE(session_fixture, "nohup setsid disown returns at once") {
    CHECK(run("nohup setsid sleep 301 >/dev/null 2>&1 & disown; echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "the last line of a process substitution is caught") {
    auto& r = run("echo a > >(cat; echo tail); echo b");
    CHECK(has(r.out, "a\n"));
    CHECK(has(r.out, "tail"));
  }

  TEST_CASE_FIXTURE(session_fixture, "coprocesses work") {
    CHECK(has(run("coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} l; echo $l; "
                  "kill $COPROC_PID; wait 2>/dev/null")
                  .out,
              "hi"));
  }
}

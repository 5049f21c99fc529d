#include "tests/guest/session_fixture.hpp"

#include <csignal>

using namespace corral::guest;
using namespace corral::guest::test;

namespace {

/// Runs into its timeout; the limit holds for every command whatever it does.
finished& expire(session_fixture& x, std::string script,
                 std::chrono::milliseconds timeout = 300ms) {
  auto& r = x.run(std::move(script), timeout);
  CHECK(r.timed_out);
  CHECK_FALSE(r.exit_code);
  CHECK(r.duration < timeout + 2s);
  return r;
}

} // namespace

TEST_SUITE("shell session: timeouts") {
  TEST_CASE_FIXTURE(session_fixture, "a timeout ends a program and keeps the session") {
    auto& r = expire(*this, "export KEEP=1; cd /var; KEEPARR=(x y); sleep 100; echo notreached");
    CHECK(r.out.empty());
    CHECK_FALSE(r.died());
    CHECK(r.duration < 1s);
    CHECK(run("echo $KEEP ${KEEPARR[1]} $PWD").out == "1 y /var\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "loops, pipelines and nested shells end without a word more") {
    for (std::string script : {"while :; do :; done",
                               "f2(){ while :; do sleep 0.01; done; }; f2; echo after; f2; echo 2",
                               "for i in $(seq 1000); do sleep 100 || true; done; echo no",
                               "setsid sleep 100; echo no", "yes | cat | cat >/dev/null; echo no",
                               "x=$(sleep 100); echo no", "timeout 100 sleep 100; echo no",
                               "bash -c 'bash -c \"sleep 100 & wait\" & wait'; echo no",
                               "x=1; for ((;;)); do ((x++)); done", "set -m; sleep 100; echo no"}) {
      CAPTURE(script);
      auto& r = expire(*this, script);
      CHECK(r.out.empty());
      CHECK_FALSE(r.died());
      CHECK(run("set +m; echo ok").out == "ok\n");
    }
  }

  TEST_CASE_FIXTURE(session_fixture, "a program that ignores SIGINT gets SIGTERM, then SIGKILL") {
    auto& term = expire(*this,
                        "python3 -c \"\nimport signal,time\nsignal.signal(signal.SIGINT,"
                        "signal.SIG_IGN)\nprint('go')\ntime.sleep(100)\"; echo no",
                        800ms);
    CHECK(term.out == "go\n");
    CHECK_FALSE(term.died());
    auto& kill = expire(*this,
                        "python3 -c \"\nimport signal,time\nfor s in (signal.SIGINT,"
                        "signal.SIGTERM): signal.signal(s,signal.SIG_IGN)\nprint('go')\n"
                        "time.sleep(100)\"; echo no",
                        800ms);
    CHECK(kill.out == "go\n");
    CHECK_FALSE(kill.died());
  }

  TEST_CASE_FIXTURE(session_fixture, "a program may clean up, and the next one is not started") {
    auto& r = expire(*this,
                     "python3 -c \"\nimport time\ntry:\n  time.sleep(100)\nexcept "
                     "KeyboardInterrupt:\n  print('cleanup')\"; sleep 100; echo no",
                     800ms);
    CHECK(r.out == "cleanup\n");
    CHECK_FALSE(r.died());
  }

  TEST_CASE_FIXTURE(session_fixture, "signals that the session itself ignores don't help it") {
    expire(*this, "trap '' INT QUIT TERM; sleep 100");
    CHECK(run("trap - INT QUIT TERM; echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a trapped SIGINT in a busy loop costs neither shell nor state") {
    run("export KEEP=1; cd /var");
    expire(*this, "trap 'echo caught' INT; while :; do :; done");
    CHECK(run("echo $KEEP $PWD").out == "1 /var\n");
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "its own background jobs end too, those of earlier ones stay") {
    auto earlier = std::stoi(run("sleep 400 & echo $!").out);
    auto& r = expire(*this, "sleep 401 & echo $!; setsid sleep 402 & echo $!; sleep 100");
    int own = 0, detached = 0;
    REQUIRE(std::sscanf(r.out.c_str(), "%d %d", &own, &detached) == 2);
    CHECK_FALSE(is_alive(own));
    CHECK_FALSE(is_alive(detached));
    CHECK(is_alive(earlier));
    CHECK_FALSE(r.died());
    expire(*this, "sleep 100", 100ms);
    CHECK(is_alive(earlier));
  }

  TEST_CASE_FIXTURE(session_fixture, "a daemon that left its parents ends with its command") {
    auto& r = expire(*this, "(setsid bash -c 'echo $$; exec sleep 403' &) ; sleep 100", 400ms);
    CHECK_FALSE(is_alive(std::stoi(r.out)));
  }

  TEST_CASE_FIXTURE(session_fixture, "a grandchild of a killed program dies too") {
    auto& r = expire(*this,
                     "python3 -c \"import subprocess,time; p=subprocess.Popen(['sleep','402']); "
                     "print(p.pid,flush=True); time.sleep(100)\"",
                     1s);
    CHECK_FALSE(is_alive(std::stoi(r.out)));
  }

  TEST_CASE_FIXTURE(session_fixture, "a flood is counted and bounded until its timeout") {
    auto& r = expire(*this, "yes");
    CHECK(r.out_total > 1'000'000);
    CHECK(r.out.size() < 1'200'000);
  }

  TEST_CASE_FIXTURE(session_fixture, "a shell that stopped itself is woken or replaced") {
    run("export KEEP=1");
    await_dump("KEEP");
    expire(*this, "kill -STOP $$");
    CHECK(run("echo ok $KEEP").out == "ok 1\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "exec of a program ends the shell; its timeout too") {
    run("D2=yes");
    await_dump("D2=");
    expire(*this, "exec sleep 100");
    CHECK(run("echo $D2").out == "yes\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a timeout that races with the end corrupts nothing") {
    int wrong = 0;
    for (int i = 0; i < 60; ++i) {
      run("sleep 0.0" + std::to_string(i % 6 + 1) + "; echo done",
          std::chrono::milliseconds{30 + i % 20});
      auto tag = "chk" + std::to_string(i);
      auto& r = run("echo " + tag);
      wrong += r.out != tag + "\n" || r.code() != 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_SUITE("shell session: cancelling") {
  TEST_CASE_FIXTURE(session_fixture,
                    "a cancelled command has no exit code and the session goes on") {
    begin({.script = "export A=1; echo go; sleep 100; echo no"});
    CHECK(wait([&] { return has_output("go\n"); }));
    CHECK(session.cancel());
    auto& r = end();
    CHECK(r.cancelled);
    CHECK_FALSE(r.timed_out);
    CHECK_FALSE(r.exit_code);
    CHECK(r.out == "go\n");
    CHECK(run("echo $A").out == "1\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a cancel before the command has begun ends it as well") {
    begin({.script = "sleep 100"});
    CHECK(session.cancel());
    CHECK_FALSE(session.cancel());
    CHECK(end().cancelled);
    CHECK(run("echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "nothing running can't be cancelled") {
    CHECK_FALSE(session.cancel());
  }
}

#include "tests/guest/session_fixture.hpp"

#include <csignal>

using namespace corral;
using namespace corral::guest;
using namespace corral::guest::test;

TEST_SUITE("shell session: the shell's end") {
  TEST_CASE_FIXTURE(session_fixture, "exit reports its code, and what the command set is kept") {
    run("arr=(1 2 '3 4'); declare -A m=([k]=v); f(){ echo \"f:$1\"; }; alias ll='echo LL'");
    auto first = session.session();
    auto& r = run("export D1=now; cd /usr/share; exit 42");
    CHECK(r.code() == 42);
    CHECK(r.reset == session_reset::restored);
    CHECK(r.session == first + 1);
    CHECK(r.directory == "/usr/share");
    auto& next = run("echo $D1 ${arr[2]} ${m[k]} $PWD; f y; ll");
    CHECK(next.out == "now 3 4 v /usr/share\nf:y\nLL\n");
    CHECK(next.reset == session_reset::none);
  }

  TEST_CASE_FIXTURE(session_fixture, "exec of a program reports its output and code") {
    run("D2=yes");
    await_dump("D2=");
    auto& r = run("exec echo replaced");
    CHECK(r.out == "replaced\n");
    CHECK(r.code() == 0);
    CHECK(r.died());
    CHECK(run("echo $D2").out == "yes\n");
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a death by signal has no exit code; the last dump is restored") {
    run("D3=3; cd /usr/share");
    await_dump("D3=");
    for (int number : {SIGKILL, SIGSEGV}) {
      auto& r = run("kill -" + std::to_string(number) + " $$; echo no");
      CHECK_FALSE(r.exit_code);
      CHECK(r.signal == number);
      CHECK(r.reset == session_reset::restored);
      CHECK(r.out.empty());
      CHECK(run("echo $D3 $PWD").out == "3 /usr/share\n");
    }
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "without a dump the session starts anew, in the known directory") {
    run("cd /usr/share");
    auto& r = run("kill -9 $$");
    CHECK(r.reset == session_reset::initial);
    CHECK(run("pwd").out == "/usr/share\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "SIGTERM does not end the session") {
    CHECK(run("kill -TERM $$; echo survived").out == "survived\n");
    CHECK_FALSE(run("kill 0; echo survived").timed_out);
    CHECK(run("echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "the agent's EXIT trap runs") {
    auto& r = run("trap 'echo bye' EXIT; exit 5");
    CHECK(r.code() == 5);
    CHECK(r.out == "bye\n");
    CHECK(run("trap - EXIT; echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a descriptor limit that keeps commands from starting is got rid of") {
    CHECK_FALSE(run("ulimit -n 6; cat /etc/hostname; echo $?").timed_out);
    auto& r = run("echo ok >>ran; echo ok");
    CHECK(r.out == "ok\n");
    CHECK(run("cat ran").out == "ok\n"); // Ran once, even though a shell had to be replaced.
  }

  TEST_CASE_FIXTURE(session_fixture, "a command that ends like a failed redirection runs once") {
    run("echo ran >>count; echo 'bash: redirection error' >&2; false");
    CHECK(run("cat count").out == "ran\n");
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a shell killed while idle is replaced, and the next outcome says so") {
    run("D4=4");
    await_dump("D4=");
    auto pid = session.shell_pid();
    ::kill(pid, SIGKILL);
    CHECK(wait([&] { return session.shell_pid() != pid && session.shell_pid() > 0; }));
    auto& r = run("echo ok $D4");
    CHECK(r.out == "ok 4\n");
    CHECK(r.reset == session_reset::restored);
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a shell that logs out by TMOUT is replaced, but not for ever") {
    run("export D5=5; TMOUT=1");
    auto first = session.session();
    CHECK(wait([&] { return session.session() > first; }));
    // The restored TMOUT ends the new shell too; that one is replaced when it is needed.
    CHECK(wait([&] { return session.shell_pid() < 0; }));
    CHECK(session.session() == first + 1);
    CHECK(run("echo ok $D5").out == "ok 5\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a control directory that was removed is made anew") {
    run("export D6=6");
    await_dump("D6");
    run("rm -rf " + control());
    auto& r = run("echo ok");
    CHECK(r.out == "ok\n");
    CHECK_FALSE(r.timed_out);
  }

  TEST_CASE_FIXTURE(session_fixture, "no damage to the control directory outlasts one command") {
    auto d = control();
    for (auto damage : {"chmod 000 mark", "rm mark; mkdir mark", "rm mark; mkfifo mark",
                        "rm mark; ln -s /dev/null mark", "chmod 000 cmd", "rm cmd; mkdir cmd",
                        "rm -r o* e*; mkdir o1 o2 o3 e1 e2 e3", "chmod 000 rc; false"}) {
      CAPTURE(damage);
      // In the background, after this command has ended and everything is ready for the next one.
      auto marker = work() + "/damaged";
      run("( while [ ! -e go ]; do sleep 0.01; done; cd " + d + "; " + damage + "; touch " + marker
          + " ) >/dev/null 2>&1 & sleep 0.05; touch go; false");
      REQUIRE(wait([&] { return std::filesystem::exists(marker); }));
      run("true", 5s);
      CHECK(run("rm -f go damaged; echo ok", 5s).out == "ok\n");
    }
  }

  TEST_CASE_FIXTURE(session_fixture, "few descriptors keep a command from running, not a session") {
    for (auto limit : {6, 10, 12}) {
      CAPTURE(limit);
      run("ulimit -Sn " + std::to_string(limit));
      CHECK(run("ulimit -Sn 512; echo ok").out == "ok\n");
    }
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a FIFO that agent code replaced or holds is replaced in turn") {
    auto d = control();
    run("rm " + d + "/o1; echo lost >" + d + "/o1; exec 8>" + d + "/mark");
    CHECK(run("echo ran >>count; echo ok; false").out == "ok\n");
    CHECK(run("cat count; exec 8>&-").out == "ran\n");
    CHECK(run("echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "a reset starts a new session and leaves background jobs alone") {
    auto job = std::stoi(run("export D7=7; cd /usr; sleep 300 & echo $!").out);
    auto before = session.session();
    auto after = session.reset();
    REQUIRE(after);
    CHECK(*after == before + 1);
    auto& r = run("echo [$D7] $PWD");
    CHECK(r.out == "[] " + work() + "\n");
    CHECK(r.reset == session_reset::none);
    CHECK(is_alive(job));
  }
}

TEST_SUITE("shell session: what holds for one command only") {
  TEST_CASE_FIXTURE(session_fixture, "variables are set, and put back to what they were") {
    run("OLD=old; export EXPORTED='e x'; unset NONE; declare -i INT=4");
    auto& r =
        run_in({.variables = {{"OLD", "1"}, {"EXPORTED", "2"}, {"NONE", "a'b\nc"}, {"INT", "x"}}},
               "bash -c 'echo $OLD $EXPORTED \"$NONE\" $INT'");
    CHECK(r.out == "1 2 a'b\nc x\n");
    CHECK(run("echo $OLD $EXPORTED ${NONE-unset} $INT; bash -c 'echo [$OLD] $EXPORTED'").out
          == "old e x unset 4\n[] e x\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "the directory holds for one command, OLDPWD included") {
    run("cd /usr; cd /usr/share");
    auto& r = run_in({.directory = "/usr/lib"}, "pwd; cd /var");
    CHECK(r.out == "/usr/lib\n");
    CHECK(r.directory == "/usr/share");
    CHECK(run("pwd; echo $OLDPWD").out == "/usr/share\n/usr\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "the exit code passes through") {
    CHECK(run_in({.variables = {{"A", "1"}}, .directory = "/"}, "(exit 9)").code() == 9);
    CHECK(run("echo $?").out == "9\n");
    CHECK(run_in({.variables = {{"A", "1"}}}, "echo $?; return 77").out == "0\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "no value reaches the state, however the command ends") {
    for (std::string script : {"true", "exit 3", "set -u; echo $NOPE_X", "kill -9 $$", "sleep 100",
                               "kill -INT $$", "readonly SECRET"}) {
      CAPTURE(script);
      run(shell_command{
          .script = script, .scope = {.variables = {{"SECRET", "s3cret"}}}, .timeout = 300ms});
      CHECK(run("echo [${SECRET-}]; MARK=" + std::to_string(script.size())).out == "[]\n");
      await_dump("MARK=\"" + std::to_string(script.size()));
      for (auto& entry : std::filesystem::directory_iterator{control()})
        if (entry.is_regular_file())
          CHECK_FALSE(has(read_small_file(entry.path()).value_or(""), "s3cret"));
    }
  }

  TEST_CASE_FIXTURE(session_fixture, "a variable that the session made read-only is refused") {
    run("readonly RO=1; A=a");
    auto& r = run_in({.variables = {{"A", "1"}, {"RO", "2"}}}, "echo ran");
    CHECK(r.failed == errc::invalid_request);
    CHECK(r.out.empty());
    CHECK(run("echo $RO $A").out == "1 a\n");
  }
}

#include "tests/guest/session_fixture.hpp"

using namespace corral::guest;
using namespace corral::guest::test;

TEST_SUITE("shell session: what a command can be") {
  TEST_CASE_FIXTURE(session_fixture, "stdout, stderr and the exit code come apart") {
    auto& r = run("echo out; echo err >&2; (exit 7)");
    CHECK(r.out == "out\n");
    CHECK(r.err == "err\n");
    CHECK(r.code() == 7);
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "directory, variables, arrays, functions and aliases persist") {
    auto& set =
        run("cd /usr/lib; export FOO='a b\n c'; arr=(1 2 '3 4'); f(){ echo \"f:$1:$FOO\"; }; "
            "alias ll='echo LL'; declare -A m=([k]=v)");
    CHECK(set.code() == 0);
    CHECK(set.directory == "/usr/lib");
    CHECK(run("pwd; f x; ll; echo ${arr[2]} ${m[k]}; bash -c 'echo $FOO'").out
          == "/usr/lib\nf:x:a b\n c\nLL\n3 4 v\na b c\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "what bash can't parse runs nothing and the session goes on") {
    for (std::string script :
         {"echo \"unbalanced", "echo 'unbalanced", "if then fi", "echo one\n)\necho two",
          "for i in 1 2; do", "cat <<EOF\nunterminated", "echo $(( 1 + ", "echo `date"}) {
      CAPTURE(script);
      auto& r = run(script);
      CHECK(r.code() != 0);
      CHECK(r.out.empty());
      CHECK_FALSE(r.err.empty());
      CHECK_FALSE(r.died());
      CHECK(run("echo ok").out == "ok\n");
    }
  }

  TEST_CASE_FIXTURE(session_fixture, "a syntax error has exit code 2 and says where it is") {
    CHECK(run("if then fi").code() == 2);
    CHECK(has(run("echo \"unbalanced").err, "unexpected EOF"));
    CHECK(has(run("cat <<EOF\nunterminated").err, "here-document"));
  }

  TEST_CASE_FIXTURE(session_fixture, "here-documents arrive as written") {
    CHECK(run("cat <<EOF\nhello $((1+1))\nEOF\ncat <<'E2'\n$raw\nE2").out == "hello 2\n$raw\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a trailing backslash ends nothing but the command") {
    CHECK(run("echo hi #comment\\").out == "hi\n");
    CHECK(run("echo a \\").code() == 0);
    CHECK(run("echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "empty and comment-only commands succeed") {
    for (std::string script : {"", "  \n\t", "# only a comment", "\n# a\n  # b\n"}) {
      CAPTURE(script);
      auto& r = run(script);
      CHECK(r.code() == 0);
      CHECK(r.out.empty());
      CHECK(r.err.empty());
    }
  }

  TEST_CASE_FIXTURE(session_fixture, "bytes that are not UTF-8 pass through a command") {
    CHECK(run("echo 'h\xc3\xa9llo \xff\xfe'").out == "h\xc3\xa9llo \xff\xfe\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "break, continue and return at the top level are harmless") {
    CHECK(run("break; continue 2; echo still").out == "still\n");
    auto& r = run("return 9; echo no");
    CHECK(r.code() == 9);
    CHECK(r.out.empty());
  }

  TEST_CASE_FIXTURE(session_fixture, "the exit code is handed on to the next command") {
    run("false");
    CHECK(run("echo $?").out == "1\n");
    CHECK(run("echo $?").out == "0\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "extended globs work in the command that needs them") {
    CHECK(run("shopt -s extglob\nmkdir eg; cd eg; touch a b c; echo !(b)").out == "a c\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "an alias defined in a command is defined there") {
    CHECK(run("alias zz='echo ZZ'\ntype zz >/dev/null && echo def").out == "def\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a script of several lines runs as written") {
    CHECK(run("for i in 1 2 3; do echo $i; done\nfunction g() {\n echo g$1\n}\ng 5\n"
              "case x in x) echo cx;; esac\n[[ abc =~ b ]] && echo re\n"
              "read -r q w <<< 'a b'; echo $w")
              .out
          == "1\n2\n3\ng5\ncx\nre\nb\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a command text of 2 MB arrives whole") {
    CHECK(run("x='" + std::string(2'000'000, 'q') + "'; echo ${#x}").out == "2000000\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "300 commands back to back are exact") {
    int wrong = 0;
    for (int i = 0; i < 300; ++i) {
      auto n = std::to_string(i);
      auto& r = run("echo " + n + "; echo e" + n + " >&2; (exit " + std::to_string(i % 200) + ")");
      wrong += r.out != n + "\n" || r.err != "e" + n + "\n" || r.code() != i % 200;
    }
    CHECK(wrong == 0);
  }
}

TEST_SUITE("shell session: what would kill a shell that is not interactive") {
  TEST_CASE_FIXTURE(session_fixture, "an unset variable under set -u stops the whole script") {
    for (std::string script :
         {"set -u; echo $NOPE_X; echo after", "set -u\necho $NOPE_X\necho after"}) {
      auto& r = run(script);
      CHECK(r.code() != 0);
      CHECK(r.out.empty());
      CHECK(has(r.err, "unbound"));
      CHECK_FALSE(r.died());
    }
    CHECK(run("set +u; echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "${x:?} stops the script only") {
    auto& r = run("echo ${NOPE_X:?is missing}; echo after");
    CHECK(r.code() != 0);
    CHECK(has(r.err, "is missing"));
    CHECK_FALSE(r.died());
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "exec of a program that is not there leaves the session alone") {
    auto& r = run("exec /no/such/cmd");
    CHECK(r.code() == 127);
    CHECK_FALSE(r.died());
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "assigning to a read-only variable is an error of the script") {
    auto& r = run("readonly RO=1; RO=2; echo after");
    CHECK(has(r.err, "readonly"));
    CHECK_FALSE(r.died());
  }

  TEST_CASE_FIXTURE(session_fixture, "posix mode with a syntax error leaves the session alone") {
    CHECK_FALSE(run("set -o posix; . /no/such/file; echo x\"").died());
    CHECK(run("set -o posix\n. /no/such/file; echo x").timed_out == false);
    CHECK(run("set +o posix; echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "set -n stops nothing") {
    CHECK_FALSE(run("set -n\necho x").timed_out);
    CHECK(run("set +n; echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "set -e ends with its command") {
    auto& r = run("set -e; D2=yes; false; echo no");
    CHECK(r.died());
    CHECK(r.code() == 1);
    CHECK(r.out.empty());
    auto& next = run("false; echo still $D2");
    CHECK(next.out == "still yes\n");
    CHECK_FALSE(next.died());
  }

  TEST_CASE_FIXTURE(session_fixture, "set -euo pipefail behaves as in a script") {
    auto& r = run("set -euo pipefail; false | true; echo no");
    CHECK(r.code() == 1);
    CHECK(r.out.empty());
    CHECK(run("set +u +o pipefail; echo ok").out == "ok\n");
  }
}

TEST_SUITE("shell session: options, traps and functions of the agent") {
  TEST_CASE_FIXTURE(session_fixture, "noglob, noclobber, IFS and traps don't reach our own lines") {
    CHECK_FALSE(run("set -f -C; IFS=:; trap 'echo DBG' DEBUG; trap 'echo E >&2' ERR").died());
    auto& r = run("false; x=a:b; echo $x");
    CHECK(r.code() == 0);
    CHECK(has(r.out, "a b"));
  }

  TEST_CASE_FIXTURE(session_fixture, "set -x traces the script's lines only") {
    auto& r = run("set -x; echo t; set +x");
    CHECK(has(r.err, "echo t"));
    CHECK_FALSE(has(r.err, "printf"));
    CHECK_FALSE(has(r.err, "mark"));
  }

  TEST_CASE_FIXTURE(session_fixture,
                    "functions named printf and builtin can't hide a command's end") {
    auto& r = run("printf(){ echo HIJACK; }; builtin(){ echo HIJACK2; }; echo ok");
    CHECK(r.out == "ok\n");
    CHECK(r.duration < 2s);
    CHECK_FALSE(r.timed_out);
    CHECK(run("unset -f printf builtin; echo ok2").out == "ok2\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a disabled printf can't hide a command's end") {
    auto& r = run("enable -n printf; echo ok");
    CHECK(r.out == "ok\n");
    CHECK(r.duration < 2s);
    CHECK(run("enable printf; echo ok3").out == "ok3\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "IFS changes no exit code") {
    run("IFS=12; (exit 121)");
    CHECK(run("echo $?").out.find_first_not_of(" \n") == std::string::npos);
    run("unset IFS; (exit 121)");
    CHECK(run("echo $?").out == "121\n");
    run("IFS=1; (exit 121)");
    CHECK(run("echo \"$?\"; IFS=2").out == "121\n");
    CHECK(run_in({.variables = {{"A", "1"}}}, "(exit 121)").code() == 121);
  }

  TEST_CASE_FIXTURE(session_fixture, "umask takes nothing from the session") {
    run("umask 777; A=old");
    CHECK(run_in({.variables = {{"A", "1"}}}, "echo $A").out == "1\n");
    CHECK(run("echo $A").out == "old\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "an ERR trap sees the commands of the session only") {
    run("trap 'echo failed' ERR; (exit 3)");
    CHECK(run("echo $?").out == "3\n");
    CHECK(run_in({.variables = {{"NOPE", "1"}}}, "echo $?").out == "0\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "aliases of our own words change nothing") {
    run("alias .='echo no' builtin='echo no' set='echo no'");
    CHECK(run("echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "a function that takes the place of `.` costs a new shell") {
    run("function . { :; }");
    auto& r = run("echo ok");
    CHECK(r.out == "ok\n");
    CHECK_FALSE(r.timed_out);
  }

  TEST_CASE_FIXTURE(session_fixture, "the session's interrupt trap and kill -INT $$ are survived") {
    auto& r = run("kill -INT $$; echo no");
    CHECK_FALSE(r.timed_out);
    CHECK(r.duration < 5s);
    CHECK(run("echo ok").out == "ok\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "PATH may be unset meanwhile") {
    CHECK(run("unset PATH; echo x; PATH=/usr/bin:/bin").out == "x\n");
  }

  TEST_CASE_FIXTURE(session_fixture, "prompts reach no output") {
    run("PS1='boo> '; PROMPT_COMMAND='echo PROMPT'; PS4='T '; echo y");
    auto& r = run("echo z");
    CHECK(r.out == "z\n");
    CHECK(r.err.empty());
  }

  TEST_CASE_FIXTURE(session_fixture, "a deleted working directory can be left again") {
    CHECK_FALSE(run("mkdir gone; cd gone; rmdir ../gone; pwd; ls -la | wc -l").died());
    CHECK(run("cd /usr/lib").directory == "/usr/lib");
  }

  TEST_CASE_FIXTURE(session_fixture, "a cd function and a newline in the directory are reported") {
    auto& r = run("function cd { builtin cd \"$@\" && echo moved; }; cd /tmp; unset -f cd");
    CHECK(r.directory == "/tmp");
    CHECK(run("mkdir -p \"$HOME\"/$'new\\nline'; cd \"$HOME\"/$'new\\nline'").directory
          == work() + "/new\nline");
  }

  TEST_CASE_FIXTURE(session_fixture, "an arithmetic loop that ends by itself needs no help") {
    CHECK(run("for ((i = 0; i < 1000; i++)); do :; done; echo $i").out == "1000\n");
  }
}

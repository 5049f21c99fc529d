#include "guest/process_table.hpp"
#include "os/files.hpp"
#include "tests/guest/guest_driver.hpp"

#include <csignal>
#include <thread>

using namespace corral;
using namespace corral::guest;
using namespace corral::guest::test;

namespace {

struct greeted : guest_driver {
  greeted() { greet(); }
};

bool has_ended(pid_t pid) {
  auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  auto entry = text ? parse_stat(*text) : std::nullopt;
  return !entry || entry->state == 'Z';
}

} // namespace

TEST_SUITE("corral-guest: the link") {
  TEST_CASE_FIXTURE(guest_driver, "the hello names the sandbox, its boot and its session") {
    CHECK(hello.text("op") == "hello");
    CHECK(hello.text("id") == "box");
    CHECK(hello.text("secret") == secret);
    CHECK(hello.text("boot")->size() == 32);
    CHECK(hello.integer("session") == 1);
    CHECK(hello.flag("running") == false);
    CHECK(hello.texts("keys")->empty());
  }

  TEST_CASE_FIXTURE(guest_driver,
                    "a daemon that doesn't know the secret is left, and dialled again") {
    greet("ffffffffffffffffffffffffffffffff");
    CHECK(is_closed());
    accept();
    greet();
    CHECK(text_of(run("echo ok"), "stdout") == "ok\n");
  }

  TEST_CASE_FIXTURE(guest_driver, "nothing is served before the hello") {
    send(fields{}.set("op", "ping").set("re", 1));
    CHECK(is_closed());
  }

  TEST_CASE_FIXTURE(greeted, "a ping is answered") {
    CHECK(reply(request({fields{}.set("op", "ping"), {}})).header.flag("ok") == true);
  }

  TEST_CASE_FIXTURE(greeted, "what breaks the protocol costs the connection, not the session") {
    run("export KEPT=1");
    for (std::string bytes :
         {encode_frame_head("no json", 0), encode_frame_head("{}", 0),
          std::string("\xff\xff\xff\xff\0\0\0\0", 8),
          encode_frame_head(R"({"op":"exec","re":-1})", 0),
          encode_frame_head(R"({"op":"exec","re":900,"parts":[["command",5]]})", 2) + "ab",
          encode_frame_head(R"({"op":"exec","re":901,"parts":7})", 0)}) {
      CAPTURE(bytes);
      send_bytes(bytes);
      CHECK(is_closed());
      accept();
      greet();
      CHECK(text_of(run("echo $KEPT"), "stdout") == "1\n");
    }
  }

  TEST_CASE_FIXTURE(greeted, "unknown ops are refused by name of the fault") {
    CHECK(error_of(reply(request({fields{}.set("op", "fly"), {}}))) == "invalid_request");
  }

  TEST_CASE_FIXTURE(greeted, "exit ends the guest and all it has started") {
    auto job = std::stoi(text_of(run("setsid sleep 300 >/dev/null 2>&1 & echo $!"), "stdout"));
    send(fields{}.set("op", "exit").set("purge", false));
    CHECK(wait_for_end() == 0);
    CHECK(has_ended(job));
  }

  TEST_CASE("a guest that no daemon talks to ends by itself") {
    guest_driver x{{"--orphan-timeout", "1"}};
    x.greet();
    x.drop();
    CHECK(x.wait_for_end() == 0);
  }

  TEST_CASE_FIXTURE(greeted, "signals that agent code can send don't end it") {
    auto r = run("for s in HUP INT QUIT TERM USR1 PIPE ALRM RTMIN; do kill -$s "
                 + std::to_string(pid()) + "; done; echo sent");
    CHECK(text_of(r, "stdout") == "sent\n");
    CHECK(text_of(run("echo alive"), "stdout") == "alive\n");
  }

  TEST_CASE_FIXTURE(greeted, "no descriptor of the guest's reaches the shell") {
    CHECK(text_of(run("ls /proc/self/fd | tr '\\n' ' '"), "stdout") == "0 1 2 3 ");
    CHECK(text_of(run("for f in /proc/$$/fd/*; do readlink $f; done | grep -c socket"), "stdout")
          == "0\n");
  }
}

TEST_SUITE("corral-guest: exec") {
  TEST_CASE_FIXTURE(greeted, "the reply has every field of an exec result") {
    auto r = run("cd /usr; echo out; echo err >&2; exit 3");
    CHECK(r.header.flag("ok") == true);
    CHECK(r.header.integer("exit_code") == 3);
    CHECK(r.header.flag("timed_out") == false);
    CHECK(r.header.flag("cancelled") == false);
    CHECK(r.header.integer("duration_ms").has_value());
    CHECK(r.header.text("cwd") == "/usr");
    CHECK(r.header.integer("stdout_bytes") == 4);
    CHECK(r.header.integer("stderr_bytes") == 4);
    CHECK(r.header.flag("truncated") == false);
    CHECK(r.header.integer("session") == 2);
    CHECK(r.header.text("session_reset") == "restored");
    CHECK(text_of(r, "stdout") == "out\n");
    CHECK(text_of(r, "stderr") == "err\n");
    CHECK(text_of(r, "output") == "out\n\nStd Error:\nerr\n\nExit Code: 3");
  }

  TEST_CASE_FIXTURE(greeted, "want picks the parts") {
    auto r = run("echo x", fields{}.set("want", std::vector<std::string>{"stdout"}));
    CHECK(r.parts.size() == 1);
    CHECK(text_of(r, "stdout") == "x\n");
    CHECK(error_of(run("echo x", fields{}.set("want", std::vector<std::string>{"all"})))
          == "invalid_request");
  }

  TEST_CASE_FIXTURE(greeted, "malformed requests are refused and nothing runs") {
    CHECK(error_of(run(std::string("touch a\0b", 9))) == "invalid_request");
    CHECK(error_of(run("x", fields{}.set("timeout_ms", 0))) == "invalid_request");
    CHECK(error_of(run("x", fields{}.set("env", fields{}.set("1A", "x")))) == "invalid_request");
    CHECK(error_of(run("x", fields{}.set("cwd", "/no/such/place"))) == "file_not_found");
    CHECK(error_of(run("x", fields{}.set("cwd", "/etc/passwd"))) == "not_a_directory");
    CHECK(error_of(reply(request({fields{}.set("op", "exec"), {}}))) == "invalid_request");
    CHECK(text_of(run("ls"), "stdout").empty());
  }

  TEST_CASE_FIXTURE(greeted, "env and cwd hold for their exec") {
    auto r =
        run("echo $A; pwd", fields{}.set("env", fields{}.set("A", "x y")).set("cwd", "/usr/lib"));
    CHECK(text_of(r, "stdout") == "x y\n/usr/lib\n");
    CHECK(text_of(run("echo [$A]; pwd"), "stdout") == "[]\n" + work() + "\n");
  }

  TEST_CASE_FIXTURE(greeted, "a command and stdin of several MB arrive through the credit") {
    auto re = exec("x='" + std::string(3'000'000, 'q') + "'; echo ${#x}; wc -c", {},
                   std::string(3'000'000, 'i'));
    CHECK(text_of(reply(re), "stdout") == "3000000\n3000000\n");
  }

  TEST_CASE_FIXTURE(greeted, "3 MB of output arrive cut, with the true count") {
    auto r = run("head -c 3000000 /dev/zero | tr '\\0' x");
    CHECK(r.header.integer("stdout_bytes") == 3'000'000);
    CHECK(r.header.flag("truncated") == true);
    CHECK(text_of(r, "stdout").find("1951424 bytes skipped") != std::string::npos);
    CHECK(text_of(r, "output").size() == 20'000);
  }

  TEST_CASE_FIXTURE(greeted, "a timeout is a result with the notice") {
    auto r = run("echo some; sleep 100", fields{}.set("timeout_ms", 250));
    CHECK(r.header.flag("timed_out") == true);
    CHECK(r.header.is_null("exit_code"));
    CHECK(text_of(r, "output").starts_with("some\n\nCommand timed out after 0.25 seconds and"));
  }

  TEST_CASE_FIXTURE(greeted, "a cancel ends the running exec") {
    auto re = exec("echo go; sleep 100", fields{}.set("stream", true));
    while (next(re).header.text("event") != "chunk") {
    }
    send(fields{}.set("op", "cancel").set("re", re));
    auto r = reply(re);
    CHECK(r.header.flag("cancelled") == true);
    CHECK(text_of(r, "output") == "go\n\nCommand cancelled.");
  }

  TEST_CASE_FIXTURE(greeted, "a second exec while one runs is busy") {
    auto first = exec("sleep 100");
    CHECK(error_of(run("echo x")) == "busy");
    send(fields{}.set("op", "cancel").set("re", first));
    CHECK(reply(first).header.flag("cancelled") == true);
  }

  TEST_CASE_FIXTURE(greeted, "a stream brings started, then chunks that make up the output") {
    auto r = reply(exec("for i in 1 2 3; do echo $i; sleep 0.03; done; echo e >&2",
                        fields{}.set("stream", true)));
    REQUIRE(events.size() >= 3);
    CHECK(events[0].header.text("event") == "started");
    std::string out, err;
    int64_t seq = 0;
    for (size_t i = 1; i < events.size(); ++i) {
      auto name = *events[i].header.text("stream");
      auto& text = name == "stdout" ? out : err;
      CHECK(events[i].header.integer("seq") == seq++);
      CHECK(events[i].header.integer("offset") == static_cast<int64_t>(text.size()));
      text += text_of(events[i], name);
    }
    CHECK(out == "1\n2\n3\n");
    CHECK(err == "e\n");
    CHECK(text_of(r, "stdout") == out);
  }

  TEST_CASE_FIXTURE(greeted,
                    "an unacknowledged stream stops at its window, and goes on after an ack") {
    auto re = exec("head -c 1000000 /dev/zero; touch flooded; read x; echo end",
                   fields{}.set("stream", true).set("stdin_open", true));
    size_t bytes = 0;
    int64_t last = -1;
    while (bytes < 256 * 1024) {
      auto x = next(re);
      bytes += x.payload_size();
      last = x.header.integer("seq").value_or(last);
    }
    CHECK(bytes == 256 * 1024);
    while (!std::filesystem::exists(work() + "/flooded"))
      std::this_thread::yield();
    send(fields{}.set("op", "ack").set("re", re).set("seq", last));
    message line{fields{}.set("op", "input").set("target", re), {}};
    line.add_part("stdin", blob::copy_of("go\n"));
    CHECK(reply(request(line)).header.integer("bytes") == 3);
    auto r = reply(re);
    CHECK(r.header.integer("stdout_bytes") == 1'000'004);
    REQUIRE_FALSE(events.empty());
    uint64_t gaps = 0;
    for (auto& x : events) {
      gaps += static_cast<uint64_t>(x.header.integer("gap").value_or(0));
      bytes += x.payload_size();
    }
    CHECK(bytes + gaps == 1'000'004);
  }

  TEST_CASE_FIXTURE(greeted, "a short exec that nobody watches sends its reply alone") {
    auto re = exec("echo x");
    CHECK(next(re).header.has("ok"));
  }

  TEST_CASE_FIXTURE(greeted, "a long one says that it has started") {
    auto re = exec("sleep 0.1");
    CHECK(next(re).header.text("event") == "started");
    CHECK(next(re).header.has("ok"));
  }

  TEST_CASE_FIXTURE(greeted, "input goes to an exec that asked for it, to its end") {
    auto re = exec("while read x; do echo got $x; done", fields{}.set("stdin_open", true));
    message line{fields{}.set("op", "input").set("target", re), {}};
    line.add_part("stdin", blob::copy_of("a\n"));
    CHECK(reply(request(line)).header.integer("bytes") == 2);
    line.header.set("eof", true);
    CHECK(reply(request(line)).header.integer("bytes") == 2);
    CHECK(text_of(reply(re), "stdout") == "got a\ngot a\n");
    CHECK(error_of(reply(request(line))) == "invalid_request");
  }

  TEST_CASE_FIXTURE(greeted, "a reset starts a new session") {
    run("A=1; cd /usr");
    auto r = reply(request({fields{}.set("op", "reset_session"), {}}));
    CHECK(r.header.integer("session") == 2);
    CHECK(text_of(run("echo [$A] $PWD"), "stdout") == "[] " + work() + "\n");
  }

  TEST_CASE("the hello's limits set how much text an agent is shown") {
    guest_driver x;
    x.greet(guest_driver::secret, fields{}.set("max_output_chars", 100));
    CHECK(text_of(x.run("seq 1 1000"), "output").size() == 100);
    CHECK(text_of(x.run("seq 1 1000", fields{}.set("max_output_chars", 0)), "output").size()
          == 3893);
  }
}

TEST_SUITE("corral-guest: keys") {
  TEST_CASE_FIXTURE(greeted, "the same key gets the first result, another command is refused") {
    auto key = fields{}.set("key", "k1");
    CHECK(text_of(run("echo $((++N))", key), "stdout") == "1\n");
    CHECK(text_of(run("echo $((++N))", key), "output") == "1\n");
    CHECK(error_of(run("echo other", key)) == "invalid_request");
    CHECK(text_of(run("echo $N"), "stdout") == "1\n");
  }

  TEST_CASE_FIXTURE(greeted, "the same key joins the running exec") {
    auto key = fields{}.set("key", "k2").set("stdin_open", true);
    auto first = exec("read x; echo $x", key);
    auto second = exec("read x; echo $x", key);
    message line{fields{}.set("op", "input").set("target", second), {}};
    line.add_part("stdin", blob::copy_of("once\n"));
    CHECK(reply(request(line)).header.integer("bytes") == 5);
    CHECK(text_of(reply(first), "stdout") == "once\n");
    CHECK(text_of(reply(second), "stdout") == "once\n");
  }

  TEST_CASE_FIXTURE(greeted,
                    "a running keyed exec outlives the connection and is joined by its key") {
    auto key = fields{}.set("key", "k3");
    exec("until test -e go; do sleep 0.01; done; echo done", key);
    drop();
    accept();
    CHECK(hello.flag("running") == true);
    CHECK(hello.texts("keys") == std::vector<std::string>{"k3"});
    greet();
    auto again = exec("until test -e go; do sleep 0.01; done; echo done", key);
    CHECK(write_file_atomically(work() + "/go", ""));
    CHECK(text_of(reply(again), "stdout") == "done\n");
  }

  TEST_CASE_FIXTURE(greeted, "a result that nobody was there for waits under its key") {
    auto key = fields{}.set("key", "k4");
    exec("echo kept; touch ended", key);
    drop();
    accept();
    greet();
    CHECK(text_of(run("echo kept; touch ended", key), "stdout") == "kept\n");
  }

  TEST_CASE_FIXTURE(greeted, "a key's result can be asked for without its command") {
    auto result_of = [&](const char* key) {
      message x;
      x.header.set("op", "result").set("key", key).set("want", std::vector<std::string>{"stdout"});
      return reply(request(std::move(x)));
    };
    auto ran = exec("read x; echo $x; exit 3", fields{}.set("key", "k").set("stdin_open", true));
    CHECK(result_of("k").header.text("state") == "running");
    CHECK(result_of("other").header.text("state") == "not_found");
    CHECK(result_of("other").header.integer("age_ms").has_value());
    message input;
    input.header.set("op", "input").set("target", ran).set("eof", true);
    input.add_part("stdin", blob::copy_of("in\n"));
    reply(request(std::move(input)));
    reply(ran);
    auto x = result_of("k");
    CHECK(x.header.text("state") == "finished");
    CHECK(x.header.integer("exit_code") == 3);
    CHECK(x.parts.size() == 1);
    CHECK(text_of(x, "stdout") == "in\n");
  }

  TEST_CASE_FIXTURE(greeted, "a later daemon can wait for the running exec, and cancel it") {
    auto attach = [&] {
      message x;
      x.header.set("op", "attach");
      return request(std::move(x));
    };
    CHECK(reply(attach()).header.flag("ok") == true);
    exec("sleep 1000", fields{}.set("key", "k"));
    drop();
    accept();
    CHECK(hello.text("running_key") == "k");
    greet();
    auto waits = attach();
    send(fields{}.set("op", "cancel").set("re", waits));
    auto ended = reply(waits);
    CHECK(ended.header.flag("cancelled") == true);
    CHECK(ended.parts.empty());
  }
}

// What subscribers are told of execs.

#include "tests/support/fake_daemon.hpp"

using namespace corral;
using namespace corral::test;

namespace {

struct fixture : fake_daemon {
  fixture() { start(); }

  wire_client client{endpoint};

  asked running(const std::string& id, bool stream = false, const std::string& thread = "t1") {
    message x{fields{}.set("op", "exec").set("id", id).set("thread", thread), {}};
    x.header.set("stream", stream).set("user", "ann");
    client.send(x.add_part("command", blob::copy_of("echo secret")));
    auto asked = boxes.take();
    event(asked, fields{}.set("event", "started"));
    return asked;
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "an exec is told of when it starts and when it ends") {
  auto x = running("mine");
  auto [started, about] = published.take();
  CHECK(started == "exec.started");
  CHECK(about.text("request") == "mine");
  CHECK(about.text("sandbox") == sandbox_id_of({"ann", "t1"}));
  CHECK(about.text("user") == "ann");
  CHECK(about.text("thread") == "t1");
  CHECK(about.text("pool") == "default");
  auto result = make_reply(fields{}
                               .set("exit_code", 3)
                               .set("duration_ms", 12)
                               .set("timed_out", false)
                               .set("cancelled", false)
                               .set("cwd", "/secret"));
  reply(x, result.add_part("output", blob::copy_of("secret")));
  auto [finished, how] = published.take();
  CHECK(finished == "exec.finished");
  CHECK(how.text("request") == "mine");
  CHECK(how.text("thread") == "t1");
  CHECK(how.integer("exit_code") == 3);
  CHECK(how.integer("duration_ms") == 12);
  CHECK(how.flag("timed_out") == false);
  CHECK(how.flag("cancelled") == false);
  for (auto& told : {about, how})
    CHECK(told.dump().find("secret") == std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "a start is told once, and to the client only if it streams") {
  auto x = running("quiet");
  event(x, fields{}.set("event", "started"));
  reply(x);
  CHECK(client.receive().header.flag("ok") == true);
  CHECK(published.take().first == "exec.started");
  CHECK(published.take().first == "exec.finished");
  reply(running("loud", true));
  CHECK(client.receive().header.text("event") == "started");
}

TEST_CASE_FIXTURE(fixture,
                  "a quick exec, whose start the guest did not tell, is told of all the same") {
  message x{fields{}.set("op", "exec").set("id", "1").set("thread", "t1"), {}};
  client.send(x.add_part("command", blob::copy_of("true")));
  reply(boxes.take(), make_reply(fields{}.set("exit_code", 0).set("session", 1)));
  CHECK(published.take().first == "exec.started");
  CHECK(published.take().first == "exec.finished");
}

TEST_CASE_FIXTURE(fixture, "an exec that failed while it ran says with which error") {
  auto x = running("1");
  published.take();
  end("t1", caf::exit_reason::remote_link_unreachable);
  auto [topic, how] = published.take();
  CHECK(topic == "exec.finished");
  CHECK(how.text("error") == "sandbox_lost");
  CHECK_FALSE(how.has("exit_code"));
}

TEST_CASE_FIXTURE(fixture, "one that never started is not told of, nor is another operation") {
  fail_next({errc::sandbox_runtime, "no", {}});
  message x{fields{}.set("op", "exec").set("id", "1").set("thread", "t1"), {}};
  CHECK(client.ask(x.add_part("command", blob::copy_of("true"))).header.flag("ok") == false);
  client.send(fields{}.set("op", "read_file").set("id", "2").set("thread", "t1").set("path", "f"));
  auto file = boxes.take();
  event(file, fields{}.set("event", "started"));
  reply(file);
  CHECK(client.receive().header.text("re") == "2");
  CHECK(published.empty());
}

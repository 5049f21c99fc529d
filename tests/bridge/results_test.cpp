#include "tests/support/fake_daemon.hpp"

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

struct fixture : fake_daemon {
  fixture() { start(); }

  wire_client client{endpoint};

  message keyed(std::string_view id, std::string_view key = "k") {
    auto x = exec(id, "true");
    x.header.set("key", key);
    return x;
  }
  fields result_of_key(std::string_view id, std::string_view key = "k") {
    return op_of("result", id).set("thread", "t1").set("key", key);
  }
  fields result_of(std::string_view id, std::string_view request) {
    return op_of("result", id).set("request", request);
  }
  void hello(wire_client& x, std::string instance = "i") {
    CHECK(code_of(x.ask(op_of("hello", "h").set("client", "ann").set("instance", instance))) == "");
  }
  static message ended(int code = 3) {
    auto x = make_reply(fields{}.set("exit_code", code).set("session", 1));
    return std::move(x.add_part("stdout", blob::copy_of("out")));
  }
  /// Runs an exec to its end.
  void run(wire_client& x, const message& what) {
    x.send(what);
    reply(boxes.take(), ended());
    CHECK(x.receive().header.integer("exit_code") == 3);
  }
  /// The sandbox ends, and it has been noticed.
  void end_box(caf::exit_reason why = caf::exit_reason::kill) {
    client.send(exec("probe", "true"));
    auto asked = boxes.take();
    end("t1", why);
    CHECK(code_of(client.receive()) == "sandbox_lost");
  }
};

std::string started_of(const message& reply) {
  auto details = reply.header.object("error")->object("details").value_or(fields{});
  auto flag = details.flag("started");
  return flag ? (*flag ? "true" : "false") : details.text("started").value_or("?");
}

} // namespace

TEST_CASE_FIXTURE(fixture, "a key's result is asked of its sandbox, by thread or id") {
  client.send(result_of_key("r"));
  CHECK(orders.take().what == "find"); // Not acquired: asking makes no sandbox.
  auto asked = boxes.take();
  CHECK(asked.request->spec->id == op::result);
  reply(asked, make_reply(fields{}.set("state", "not_found").set("age_ms", 5)));
  auto x = client.receive();
  CHECK(x.header.text("state") == "not_found");
  CHECK(x.header.integer("age_ms") == 5);
}

TEST_CASE_FIXTURE(fixture, "a result needs a key with its target, or a request") {
  auto refused = [&](const fields& more) {
    auto x = client.ask(more);
    return code_of(x) == "invalid_request";
  };
  CHECK(refused(op_of("result", "1")));
  CHECK(refused(op_of("result", "1").set("key", "k")));
  CHECK(refused(op_of("result", "1").set("thread", "t1")));
  CHECK(refused(result_of("1", "e").set("key", "k")));
  CHECK(refused(result_of("1", "e").set("thread", "t1")));
  CHECK(refused(result_of_key("1").set("request", "e")));
}

TEST_CASE_FIXTURE(fixture,
                  "a key goes to the guest as often as it is sent while its sandbox lives") {
  run(client, keyed("1"));
  run(client, keyed("2"));
}

TEST_CASE_FIXTURE(fixture, "a key that an ended sandbox has used is not run by the next one") {
  run(client, keyed("1"));
  end_box();
  client.send(keyed("2"));
  auto x = client.receive();
  CHECK(x.header.text("re") == "2");
  CHECK(x.header.integer("exit_code") == 3);
  CHECK(x.part_of("stdout").view() == "out");
  CHECK_FALSE(x.header.has("incarnation"));
  CHECK(boxes.empty());
  auto other = exec("5", "false");
  other.header.set("key", "k");
  CHECK(code_of(client.ask(other)) == "invalid_request");
  client.send(result_of_key("3").set("want", std::vector<std::string>{"stderr"}));
  x = client.receive();
  CHECK(x.header.text("state") == "finished");
  CHECK(x.parts.empty());
  run(client, keyed("4", "another"));
}

TEST_CASE_FIXTURE(fixture, "a key whose exec was lost with its sandbox stays lost") {
  client.send(keyed("1"));
  boxes.take();
  end("t1", caf::exit_reason::kill);
  CHECK(code_of(client.receive()) == "sandbox_lost");
  client.send(keyed("2"));
  auto x = client.receive();
  CHECK(code_of(x) == "sandbox_lost");
  CHECK(started_of(x) == "unknown");
  client.send(result_of_key("3"));
  CHECK(code_of(client.receive()) == "sandbox_lost");
  CHECK(boxes.empty());
}

TEST_CASE_FIXTURE(fixture, "a key whose exec never started is free again") {
  for (auto code : {errc::queue_full, errc::busy, errc::shutting_down}) {
    client.send(keyed("1"));
    reply(boxes.take(), make_reply(error{code, "no", {}}));
    CHECK(code_of(client.receive()) == to_string(code));
  }
  client.send(keyed("2"));
  reply(boxes.take(), make_reply(fields{}.set("cancelled", true))); // In the queue: no session.
  client.receive();
  client.send(keyed("3"));
  reply(boxes.take(), make_reply(error{errc::sandbox_lost, "x", fields{}.set("started", false)}));
  client.receive();
  end_box();
  run(client, keyed("4"));
}

TEST_CASE_FIXTURE(fixture, "a key whose sandbox is not there any more is answered from memory") {
  run(client, keyed("1"));
  end_box();
  fail_next({errc::sandbox_lost, "ended", fields{}.set("started", false)});
  client.send(result_of_key("2"));
  CHECK(client.receive().header.text("state") == "finished");
  fail_next({errc::sandbox_lost, "ended", fields{}.set("started", false)});
  client.send(result_of_key("3", "unknown"));
  CHECK(code_of(client.receive()) == "sandbox_lost");
}

TEST_CASE_FIXTURE(fixture, "a client with a name gets a reply again that its connection lost") {
  hello(client);
  run(client, exec("1", "true"));
  client.send(exec("2", "true"));
  auto open = boxes.take();
  wire_client again{endpoint};
  hello(again);
  auto x = again.ask(result_of("a", "1"));
  CHECK(x.header.text("state") == "finished");
  CHECK(x.header.integer("exit_code") == 3);
  CHECK(x.part_of("stdout").view() == "out");
  CHECK(again.ask(result_of("b", "2")).header.text("state") == "running");
  CHECK(again.ask(result_of("c", "3")).header.text("state") == "not_found");
  reply(open, ended());
  CHECK(again.receive().header.text("re") == "2"); // To the newest connection of the name.
}

TEST_CASE_FIXTURE(fixture, "an exec that failed is told again as the failure it was") {
  hello(client);
  client.send(exec("1", "true"));
  reply(boxes.take(), make_reply(error{errc::queue_full, "full", {}}));
  client.receive();
  CHECK(code_of(client.ask(result_of("r", "1"))) == "queue_full");
}

TEST_CASE_FIXTURE(fixture, "nobody gets another client's replies") {
  hello(client);
  run(client, exec("1", "true"));
  wire_client stranger{endpoint};
  CHECK(stranger.ask(result_of("r", "1")).header.text("state") == "not_found");
}

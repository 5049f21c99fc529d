#include "tests/support/fake_daemon.hpp"

#include <random>

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

fields upload(std::string_view id, int64_t size) {
  return op_of("write_file", id).set("thread", "t1").set("path", "f").set("size", size);
}

message data(std::string_view re, int64_t seq, std::string bytes, bool eof = false) {
  message x{fields{}.set("op", "data").set("re", re).set("seq", seq), {}};
  if (eof)
    x.header.set("eof", true);
  x.add_part("", blob::take(std::move(bytes)));
  return x;
}

fields credit(int64_t bytes) {
  return fields{}.set("event", "credit").set("bytes", bytes);
}

struct fixture : fake_daemon {
  fixture() { start(); }

  wire_client client{endpoint};
  int pings = 0;

  void hello(wire_client& x, std::string name, std::string instance, int64_t heartbeat_ms) {
    auto reply = x.ask(op_of("hello", "h")
                           .set("client", name)
                           .set("instance", instance)
                           .set("heartbeat_ms", heartbeat_ms));
    CHECK(code_of(reply) == "");
  }

  /// Everything that the client sent before has been handled, and nothing came of it but this.
  void nothing_came(wire_client& x) {
    auto id = "ping " + std::to_string(++pings);
    CHECK(code_of(x.ask(op_of("ping", id))) == "");
  }

  /// An exec that has reached its sandbox.
  asked running(std::string id = "e", std::string thread = "t1") {
    client.send(exec(id, "true", thread));
    return boxes.take();
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "hello tells what the daemon is") {
  auto x = client.ask(op_of("hello", "1").set("client", "ann").set("instance", "i")).header;
  CHECK(x.flag("ok") == true);
  CHECK(x.text("server") == "corral/9");
  CHECK(x.text("boot") == "b00t");
  CHECK(x.texts("pools") == std::vector<std::string>{"default"});
  CHECK(x.object("limits")->integer("queue") == 64);
  CHECK(x.integer("now").value_or(0) > 0);
  CHECK(client.ask(op_of("ping", "2")).header.text("boot") == "b00t");
}

TEST_CASE_FIXTURE(fixture, "only a client with heartbeats leases") {
  auto x = client.ask(op_of("acquire", "1").set("thread", "t1")).header;
  CHECK(x.text("sandbox") == sandbox_id_of({"default", "t1"}));
  CHECK(x.text("provider") == "fake");
  CHECK(x.text("origin") == "created");
  CHECK(x.integer("session") == 4);
  CHECK(x.object("capabilities")->flag("isolated") == true);
  CHECK_FALSE(x.has("lease"));
  CHECK_FALSE(orders.take().flag);
  hello(client, "ann", "i", 60'000);
  CHECK(client.ask(op_of("acquire", "2").set("thread", "t1")).header.text("lease") == "L");
  auto order = orders.take();
  CHECK(order.flag);
  CHECK(order.client.find("ann") == 0);
}

TEST_CASE_FIXTURE(fixture, "what the provider answers goes to the client as it is") {
  CHECK(client.ask(op_of("get", "1").set("sandbox", "x")).header.text("state") == "parked");
  CHECK(orders.take().subject == "x");
  CHECK(client.ask(op_of("release", "2").set("sandbox", "x").set("lease", "L"))
            .header.integer("remaining")
        == 0);
  CHECK(orders.take().subject == "x/L");
  CHECK(client.ask(op_of("release", "3").set("all", true)).header.integer("released") == 1);
  CHECK(orders.take().what == "gone");
  CHECK(code_of(client.ask(op_of("release", "4"))) == "invalid_request");
  CHECK(client.ask(op_of("destroy", "5").set("sandbox", "x").set("force", true))
            .header.flag("destroyed")
        == true);
  CHECK(orders.take().flag);
  auto rows = client.ask(op_of("list", "6").set("state", "parked").set("user", "u"));
  CHECK(rows.header.integer("count") == 2);
  CHECK(rows.part_of("results").view() == "{\"sandbox\":\"1\"}\n{\"sandbox\":\"2\"}\n");
  CHECK(orders.take().subject == "parked/u");
}

TEST_CASE_FIXTURE(fixture, "the provider's error is the client's") {
  fail_next({errc::capacity_exceeded, "full", fields{}.set("active", 3)});
  auto reply = client.ask(op_of("acquire", "1").set("thread", "t1"));
  CHECK(code_of(reply) == "capacity_exceeded");
  CHECK(reply.header.object("error")->object("details")->integer("active") == 3);
  fail_next({errc::sandbox_not_found, "none", {}});
  message x{op_of("exec", "2").set("sandbox", "12345678"), {}};
  CHECK(code_of(client.ask(x.add_part("command", blob::copy_of("true")))) == "sandbox_not_found");
}

TEST_CASE_FIXTURE(fixture, "an exec goes to its thread's sandbox and its result back") {
  client.send(exec("1", "echo"));
  auto x = boxes.take();
  CHECK(x.what == "submit");
  CHECK(x.command() == "echo");
  auto order = orders.take();
  CHECK(order.what == "acquire");
  CHECK_FALSE(order.flag); // It borrows.
  message result = make_reply(fields{}.set("exit_code", 0));
  reply(x, result.add_part("output", blob::copy_of("hi")));
  auto got = client.receive();
  CHECK(got.header.text("re") == "1");
  CHECK(got.header.text("origin") == "created");
  CHECK(got.part_of("output").view() == "hi");
  auto second = running("2");
  CHECK(orders.empty()); // The sandbox is known now.
  reply(second);
  CHECK(client.receive().header.text("origin") == "active");
}

TEST_CASE_FIXTURE(fixture, "events come before the reply, under the client's own id") {
  auto streamed = exec("mine", "true");
  streamed.header.set("stream", true);
  client.send(streamed);
  auto x = boxes.take();
  event(x, fields{}.set("event", "started").set("re", 77));
  event(x, fields{}.set("event", "chunk").set("seq", 0), "abc");
  reply(x);
  CHECK(client.receive().header == fields{}.set("event", "started").set("re", "mine"));
  auto chunk = client.receive();
  CHECK(chunk.part_of("").view() == "abc");
  CHECK(client.receive().header.flag("ok") == true);
}

TEST_CASE_FIXTURE(fixture, "a request has one reply, whatever its sandbox says") {
  auto x = running();
  reply(x);
  reply(x);
  event(x, fields{}.set("event", "chunk"), "late");
  CHECK(client.receive().header.flag("ok") == true);
  nothing_came(client);
}

TEST_CASE_FIXTURE(fixture, "what is malformed is answered if it has an id, else counted") {
  client.send_raw(R"({"op":"fly","id":"1"})");
  auto x = client.receive();
  CHECK(x.header.text("re") == "1");
  CHECK(code_of(x) == "invalid_request");
  client.send_raw("{");
  client.send_raw(R"({"op":"ping"})");
  client.send_raw(R"({"op":"data","re":"1","seq":0})"); // Of no request: not an error.
  auto stats = client.ask(op_of("stats", "2")).header;
  CHECK(stats.integer("dropped") == 2);
  CHECK(stats.object("errors")->integer("invalid_request") == 1);
}

TEST_CASE_FIXTURE(fixture, "an id in flight can't be used again, and its request is not hurt") {
  auto x = running("1");
  CHECK(code_of(client.ask(exec("1", "other"))) == "invalid_request");
  wire_client other{endpoint};
  other.send(exec("1", "hers"));
  CHECK(boxes.take().command() == "hers"); // Another client's id is another id.
  reply(x);
  CHECK(code_of(client.receive()) == "");
}

TEST_CASE_FIXTURE(fixture, "beyond its limit the daemon refuses requests at once") {
  for (int i = 0; i < 20; ++i)
    running("e" + std::to_string(i));
  CHECK(code_of(client.ask(exec("more", "true"))) == "queue_full");
}

TEST_CASE_FIXTURE(fixture, "a REQ socket gets its reply and no events") {
  wire_client req{endpoint, zmq::socket_type::req};
  req.send(exec("1", "true"));
  auto x = boxes.take();
  event(x, fields{}.set("event", "started"));
  event(x, fields{}.set("event", "chunk").set("seq", 0), "abc");
  reply(x);
  CHECK(req.receive().header.flag("ok") == true);
  CHECK(code_of(req.ask(op_of("fly", "2"))) == "invalid_request");
  CHECK(code_of(req.ask(op_of("ping", "3"))) == "");
}

TEST_CASE_FIXTURE(fixture, "a transfer too large for a REQ socket is refused and stopped") {
  wire_client req{endpoint, zmq::socket_type::req};
  std::string code;
  SUBCASE("a reply in chunks") {
    req.send(op_of("download_file", "1").set("thread", "t1").set("path", "f"));
    event(boxes.take(), fields{}.set("event", "chunk").set("seq", 0), "abc");
  }
  SUBCASE("an upload in pieces") {
    req.send(upload("1", 100));
    event(boxes.take(), credit(100));
  }
  CHECK(code_of(req.receive()) == "file_too_large");
  auto cancel = boxes.take();
  CHECK(cancel.what == "cancel");
  CHECK(cancel.ticket == 0);
}

TEST_CASE_FIXTURE(fixture,
                  "a request that comes back from a retired sandbox goes to the next one") {
  auto x = running();
  orders.take();
  replace("t1", "second");
  retired(x);
  auto again = boxes.take();
  CHECK(again.box == "second");
  CHECK(again.ticket == x.ticket);
  CHECK(orders.take().what == "acquire");
  reply(again);
  CHECK(code_of(client.receive()) == "");
}

TEST_CASE_FIXTURE(fixture,
                  "requests that come back keep their order, and later ones wait for them") {
  auto a = running("a");
  auto b = running("b");
  orders.take();
  replace("t1", "second");
  hold(true);
  retired(a);
  CHECK(orders.take().what == "acquire");
  client.send(exec("c", "third"));
  nothing_came(client);
  retired(b);
  nothing_came(client);
  CHECK(boxes.empty());
  grant();
  CHECK(boxes.take().ticket == a.ticket);
  CHECK(boxes.take().ticket == b.ticket);
  CHECK(boxes.take().command() == "third");
  CHECK(orders.empty()); // One question for all of them.
}

TEST_CASE_FIXTURE(fixture, "a request that is sent back again and again is given up") {
  client.send(exec("1", "true"));
  for (int i = 0; i < 6; ++i)
    retired(boxes.take());
  auto x = client.receive();
  CHECK(code_of(x) == "sandbox_lost");
  CHECK(x.header.object("error")->flag("retryable") == true);
}

TEST_CASE_FIXTURE(fixture, "while a target is being resolved its requests wait, in order") {
  hold(true);
  for (auto id : {"1", "2", "3"})
    client.send(exec(id, id));
  client.send(exec("4", "4", "t2"));
  nothing_came(client);
  CHECK(boxes.empty());
  grant();
  std::vector<std::string> t1;
  for (int i = 0; i < 4; ++i)
    if (auto x = boxes.take(); x.box == "t1")
      t1.push_back(x.command());
  CHECK(t1 == std::vector<std::string>{"1", "2", "3"});
}

TEST_CASE_FIXTURE(fixture,
                  "an acquire that resolves a target lets those go first who wait for it") {
  // The answer to the acquire comes before the one to the exec's own question.
  wire_client other{endpoint};
  hold(true);
  other.send(op_of("acquire", "1").set("thread", "t1"));
  orders.take();
  client.send(exec("1", "first"));
  orders.take();
  grant();
  client.send(exec("2", "second"));
  CHECK(boxes.take().command() == "first");
  CHECK(boxes.take().command() == "second");
}

TEST_CASE_FIXTURE(fixture, "a failed resolution answers everyone who waited") {
  hold(true);
  fail_next({errc::sandbox_runtime, "no", {}});
  client.send(exec("1", "true"));
  CHECK(code_of(client.receive()) == "sandbox_runtime");
  hold(false);
  reply(running("2"));
  CHECK(code_of(client.receive()) == "");
}

TEST_CASE_FIXTURE(fixture, "a sandbox that dies takes nobody's answer along") {
  running("1");
  running("2");
  running("3", "t2");
  end("t1", caf::exit_reason::remote_link_unreachable);
  for (auto id : {"1", "2"}) {
    auto x = client.receive();
    CHECK(x.header.text("re") == id);
    CHECK(code_of(x) == "sandbox_lost");
    CHECK(x.header.object("error")->object("details")->text("started") == "unknown");
  }
  nothing_came(client);
  auto x = running("4"); // And the target is resolved anew.
  CHECK(x.box == "t1");
}

TEST_CASE_FIXTURE(fixture, "what a retired sandbox still had when it ended goes to the next one") {
  auto x = running();
  client.send(op_of("cancel", "c").set("request", "e"));
  client.send(op_of("input", "i").set("request", "e"));
  CHECK(boxes.take().what == "cancel");
  CHECK(boxes.take().what == "input");
  orders.take();
  end("t1", caf::exit_reason::user_shutdown);
  auto again = boxes.take();
  CHECK(again.ticket == x.ticket);
  CHECK(orders.take().subject == "t1");
  // Not so what is about a running exec: there is none, and no sandbox is made for it.
  CHECK(client.receive().header == fields{}.set("re", "c").set("ok", true).set("cancelled", false));
  CHECK(code_of(client.receive()) == "invalid_request");
  nothing_came(client);
  CHECK(orders.empty());
}

TEST_CASE_FIXTURE(fixture, "a cancel finds the client's own exec and no other's") {
  auto x = running("1");
  wire_client other{endpoint};
  CHECK(other.ask(op_of("cancel", "c").set("request", "1")).header.flag("cancelled") == false);
  client.send(op_of("cancel", "c").set("request", "1"));
  auto cancel = boxes.take();
  CHECK(cancel.what == "cancel");
  CHECK(cancel.target == x.ticket);
  reply(cancel, make_reply(fields{}.set("cancelled", true)));
  CHECK(client.receive().header.flag("cancelled") == true);
  CHECK(client.ask(op_of("cancel", "d").set("request", "9")).header.flag("cancelled") == false);
  CHECK(code_of(client.ask(op_of("cancel", "e"))) == "invalid_request");
}

TEST_CASE_FIXTURE(fixture,
                  "an exec that waits for its sandbox can be cancelled, and never starts") {
  hold(true);
  client.send(exec("1", "first"));
  client.send(op_of("cancel", "c").set("request", "1"));
  auto x = client.receive();
  CHECK(x.header.text("re") == "1");
  CHECK(x.header.flag("cancelled") == true);
  CHECK(client.receive().header.flag("cancelled") == true);
  client.send(exec("2", "second"));
  nothing_came(client);
  grant();
  CHECK(boxes.take().command() == "second");
}

TEST_CASE_FIXTURE(fixture, "input goes to the sandbox of its exec") {
  auto x = running("1");
  message input{op_of("input", "i").set("request", "1").set("eof", true), {}};
  client.send(input.add_part("", blob::copy_of("abc")));
  auto got = boxes.take();
  CHECK(got.what == "input");
  CHECK(got.target == x.ticket);
  CHECK(got.input->part_of("").view() == "abc");
  CHECK(code_of(client.ask(op_of("input", "j").set("request", "9"))) == "invalid_request");
}

TEST_CASE_FIXTURE(fixture, "an acknowledgement goes to the exec that it names") {
  auto x = running("1");
  client.send(fields{}.set("op", "ack").set("re", "9").set("seq", 3));
  client.send(fields{}.set("op", "ack").set("re", "1").set("seq", 4));
  auto got = boxes.take();
  CHECK(got.what == "credit");
  CHECK(got.ticket == x.ticket);
  CHECK(got.seq == 4);
}

TEST_CASE_FIXTURE(fixture, "pieces of an upload go on within the credit that was given") {
  client.send(upload("1", 6));
  auto x = boxes.take();
  event(x, credit(6));
  CHECK(client.receive().header.integer("bytes") == 6);
  client.send(data("1", 0, "abc"));
  client.send(data("1", 1, "def", true));
  auto first = boxes.take(), last = boxes.take();
  CHECK(first.bytes == "abc");
  CHECK_FALSE(first.last);
  CHECK(last.bytes == "def");
  CHECK(last.last);
  reply(x);
  CHECK(code_of(client.receive()) == "");
}

TEST_CASE_FIXTURE(fixture,
                  "an upload that breaks its rules is refused, and the guest's work stopped") {
  client.send(upload("1", 300'000));
  auto x = boxes.take();
  event(x, credit(280'000));
  client.receive();
  SUBCASE("out of order") {
    client.send(data("1", 1, "abc"));
  }
  SUBCASE("a piece too large") {
    client.send(data("1", 0, std::string(256 * 1024 + 1, 'x')));
  }
  SUBCASE("beyond its credit") {
    client.send(data("1", 0, std::string(256 * 1024, 'x')));
    CHECK(boxes.take().what == "data");
    client.send(data("1", 1, std::string(20'000, 'x')));
  }
  SUBCASE("beyond its size") {
    event(x, credit(10'000'000));
    client.receive();
    client.send(data("1", 0, std::string(256 * 1024, 'x')));
    CHECK(boxes.take().what == "data");
    client.send(data("1", 1, std::string(256 * 1024, 'x')));
  }
  SUBCASE("ended early") {
    client.send(data("1", 0, "abc", true));
  }
  CHECK(code_of(client.receive()) == "invalid_request");
  auto cancel = boxes.take();
  CHECK(cancel.what == "cancel");
  CHECK(cancel.ticket == 0);
  CHECK(cancel.target == x.ticket);
  client.send(data("1", 2, "late"));
  nothing_came(client);
  CHECK(boxes.empty());
}

TEST_CASE_FIXTURE(fixture, "a transfer beyond the limit is refused before it begins") {
  CHECK(code_of(client.ask(upload("1", 100 * 1024 * 1024 + 1))) == "file_too_large");
  CHECK(orders.empty());
}

TEST_CASE_FIXTURE(fixture, "what a client takes of a long reply is credited to the sandbox") {
  client.send(op_of("download_file", "1").set("thread", "t1").set("path", "f"));
  auto x = boxes.take();
  event(x, fields{}.set("event", "chunk").set("seq", 0), std::string(100'000, 'x'));
  client.receive();
  auto got = boxes.take();
  CHECK(got.what == "credit");
  CHECK(got.ticket == x.ticket);
  CHECK(got.credit == 100'000);
  CHECK(got.seq == -1);
}

TEST_CASE_FIXTURE(fixture, "a client that does not read is forgotten until it says hello") {
  auto x = running();
  int sent = 0;
  for (; sent < 1000 && observed.empty(); ++sent)
    event(x, fields{}.set("event", "chunk").set("seq", sent), std::string(256 * 1024, 'x'));
  CHECK(observed.take() == "client forgotten");
  wire_client other{endpoint};
  nothing_came(other); // Nobody else feels it.
  client.send(op_of("ping", "p"));
  // It reads again; its ping was dropped, and so it gets no more until its hello.
  int chunks = 0;
  std::optional<message> greeted;
  for (int i = 0; i < 50 && !greeted; ++i) {
    client.send(op_of("hello", "h" + std::to_string(i)));
    while (auto got = client.try_receive(200ms)) {
      auto re = *got->header.text("re");
      CHECK(re != "p");
      chunks += re == "e";
      if (re.front() == 'h')
        greeted = std::move(got);
    }
  }
  CHECK(greeted);
  CHECK(chunks < sent);
}

TEST_CASE_FIXTURE(fixture, "a long reply whose client is gone is stopped") {
  std::optional<wire_client> reader{endpoint};
  reader->send(op_of("download_file", "1").set("thread", "t1").set("path", "f"));
  auto x = boxes.take();
  reader.reset();
  asked got;
  for (int i = 0; i < 200 && got.what != "cancel"; ++i) {
    event(x, fields{}.set("event", "chunk").set("seq", i), std::string(200'000, 'x'));
    nothing_came(client);
    if (!boxes.empty())
      got = boxes.take();
  }
  CHECK(got.what == "cancel");
  CHECK(got.target == x.ticket);
}

TEST_CASE_FIXTURE(fixture, "a client that misses three heartbeats loses its leases") {
  hello(client, "ann", "i", 50);
  auto order = orders.take();
  CHECK(order.what == "gone");
  CHECK(order.client.find("ann") == 0);
  CHECK(observed.take() == "client gone");
}

TEST_CASE_FIXTURE(fixture, "an open request counts as a heartbeat") {
  hello(client, "ann", "i", 50);
  auto x = running();
  orders.take();
  wire_client other{endpoint};
  hello(other, "bob", "i", 50);
  CHECK(orders.take().client.find("bob") == 0); // A check has passed ann over.
  reply(x);
  client.receive();
}

TEST_CASE_FIXTURE(fixture, "a client that connects anew keeps its leases and gets its answers") {
  hello(client, "ann", "i", 500);
  auto x = running();
  orders.take();
  wire_client anew{endpoint};
  hello(anew, "ann", "i", 60'000);
  reply(x);
  CHECK(anew.receive().header.text("re") == "e");
  // Long enough for the old connection to have been silent: another client's end tells.
  wire_client other{endpoint};
  hello(other, "bob", "i", 500);
  CHECK(orders.take().client.find("bob") == 0);
}

TEST_CASE_FIXTURE(fixture, "what a connection leased under another name is given back") {
  hello(client, "ann", "i", 60'000);
  SUBCASE("a new name") {
    hello(client, "bob", "i", 60'000);
  }
  SUBCASE("no heartbeats any more") {
    hello(client, "ann", "i", 0);
  }
  auto order = orders.take();
  CHECK(order.what == "gone");
  CHECK(order.client.find("ann") == 0);
}

TEST_CASE_FIXTURE(fixture, "a name has one live instance") {
  hello(client, "ann", "1", 60'000);
  wire_client other{endpoint};
  CHECK(code_of(other.ask(op_of("hello", "1").set("client", "ann").set("instance", "2")))
        == "busy");
  hello(other, "bob", "2", 60'000);
}

TEST_CASE_FIXTURE(fixture, "a pool that is not there is refused by name") {
  auto x = client.ask(op_of("acquire", "1").set("thread", "t").set("pool", "gpu"));
  CHECK(code_of(x) == "invalid_request");
  CHECK(x.header.object("error")->text("message")->find("gpu") != std::string::npos);
  CHECK(client.ask(op_of("acquire", "2").set("thread", "t").set("pool", "default"))
            .header.has("sandbox"));
}

TEST_CASE_FIXTURE(fixture, "a draining daemon turns work away and lets what runs be steered") {
  auto x = running("1");
  caf::anon_send(bridge, drain_atom::value);
  nothing_came(client);
  CHECK(code_of(client.ask(exec("2", "true"))) == "shutting_down");
  CHECK(code_of(client.ask(op_of("acquire", "3").set("thread", "t1"))) == "shutting_down");
  client.send(op_of("cancel", "c").set("request", "1"));
  CHECK(boxes.take().what == "cancel");
  CHECK(code_of(client.ask(op_of("release", "4").set("all", true))) == "");
  reply(x);
  CHECK(code_of(client.receive()) == "");
}

TEST_CASE_FIXTURE(fixture, "whatever is sent, the daemon goes on serving") {
  std::mt19937_64 rng{11};
  for (int i = 0; i < 300; ++i) {
    std::string header = R"({"op":"exec","id":"x","thread":"t1","parts":[["command",4]]})";
    for (auto flips = rng() % 4; flips > 0; --flips)
      header[rng() % header.size()] = static_cast<char>(rng());
    client.send_raw(header, std::string(rng() % 8, 'p'));
  }
  wire_client other{endpoint};
  CHECK(code_of(other.ask(op_of("ping", "1"))) == "");
}

// What a principal with a key can do, and what it can't see.

#include "tests/support/fake_daemon.hpp"
#include "tests/support/sample_requests.hpp"

using namespace corral;
using namespace corral::test;

namespace {

const owner anns{"ann", "t1"}, bobs{"bob", "t1"};

struct fixture : fake_daemon {
  key_pair ann = key_pair::make(), bob = key_pair::make(), admin = key_pair::make();
  std::string anns_id = sandbox_id_of(anns), bobs_id = sandbox_id_of(bobs);

  fixture() {
    using names = std::set<std::string>;
    settings.who = principals{{{"ann", ann.public_key, names{"ann"}, {}},
                               {"bob", bob.public_key, names{"bob"}, names{"exec", "get"}},
                               {"admin", admin.public_key, {}, {}}}};
    settings.events = "ipc:///events";
    settings.tcp_events = "tcp://events:1";
    owners = {{anns_id, anns}, {bobs_id, bobs}};
    start();
  }

  wire_client with(const key_pair& own) {
    return wire_client{tcp, zmq::socket_type::dealer, [&](zmq::socket_t& x) {
                         x.set(zmq::sockopt::curve_publickey, own.public_key);
                         x.set(zmq::sockopt::curve_secretkey, own.secret_key);
                         x.set(zmq::sockopt::curve_serverkey, server.public_key);
                       }};
  }

  /// A request for a sandbox, of an op that can name one; nothing for another.
  static std::optional<message> about(const op_spec& spec, const std::string& id) {
    auto in_field = std::any_of(spec.fields.begin(), spec.fields.end(),
                                [](auto& f) { return f.name == "sandbox"; });
    if (spec.target == target_kind::none && !in_field)
      return std::nullopt;
    auto x = minimal_request(spec);
    x.header.erase("thread").erase("user").set("sandbox", id);
    if (spec.id == op::result)
      x.header.set("key", "k");
    return x;
  }

  static fields op_of(std::string_view op, std::string_view id = "1") {
    return fields{}.set("op", op).set("id", id);
  }
  static message exec(std::string_view id, const owner& who) {
    message x{op_of("exec", id).set("user", who.user).set("thread", who.thread), {}};
    return x.add_part("command", blob::copy_of("true"));
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "to every op another's sandbox is as one that is not there") {
  auto x = with(ann);
  for (auto known : {false, true}) {
    if (known) { // The bridge has it among its routes.
      wire_client theirs{endpoint};
      theirs.send(exec("1", bobs));
      reply(boxes.take());
      CHECK(code_of(theirs.receive()) == "");
      CHECK(code_of(theirs.ask(op_of("acquire").set("user", "bob").set("thread", "t1"))) == "");
      orders.clear();
    }
    int tried = 0;
    for (auto& spec : all_ops()) {
      auto r = about(spec, bobs_id);
      if (!r)
        continue;
      ++tried;
      auto theirs = x.ask(*r);
      auto nobodys = x.ask(*about(spec, "00000000000000ff"));
      CHECK_MESSAGE(theirs.header == nobodys.header, spec.name);
      CHECK(theirs.parts.empty());
      if (spec.id == op::get)
        CHECK(theirs.header.flag("found") == false);
      else
        CHECK_MESSAGE(code_of(theirs) == "sandbox_not_found", spec.name);
    }
    CHECK(tried >= 13);
  }
  while (!orders.empty())
    CHECK(orders.take().what == "owner");
  CHECK(boxes.empty());
}

TEST_CASE_FIXTURE(fixture, "to every op its own sandbox is there") {
  auto x = with(ann);
  for (auto& spec : all_ops())
    if (auto r = about(spec, anns_id)) {
      CAPTURE(spec.name);
      x.send(*r);
      if (spec.in_guest || spec.id == op::cancel)
        reply(boxes.take());
      CHECK_MESSAGE(code_of(x.receive()) == "", spec.name);
    }
}

TEST_CASE_FIXTURE(fixture, "a user that is not its own can't be named, by any op") {
  auto x = with(ann);
  for (auto& spec : all_ops())
    for (std::string user : {"bob", "default"}) {
      auto r = minimal_request(spec);
      if (spec.target == target_kind::any || spec.target == target_kind::optional)
        r.header.set("thread", "t1");
      else if (spec.id != op::acquire && spec.id != op::list)
        continue;
      r.header.set("user", user);
      CHECK_MESSAGE(code_of(x.ask(r)) == "forbidden", spec.name);
    }
  CHECK(orders.empty());
  CHECK(boxes.empty());
}

TEST_CASE_FIXTURE(fixture, "a prefix of an id, which might be another's too, is refused") {
  auto x = with(ann);
  auto why = x.ask(op_of("get").set("sandbox", bobs_id.substr(0, 8)));
  CHECK(code_of(why) == "invalid_request");
  CHECK(code_of(with(admin).ask(op_of("get").set("sandbox", bobs_id.substr(0, 8)))) == "");
}

TEST_CASE_FIXTURE(fixture, "a key is for its ops, and for the connection's own") {
  auto x = with(bob);
  CHECK(code_of(x.ask(op_of("hello"))) == "");
  CHECK(code_of(x.ask(op_of("ping"))) == "");
  CHECK(code_of(x.ask(op_of("get").set("sandbox", bobs_id))) == "");
  CHECK(code_of(x.ask(op_of("destroy").set("sandbox", bobs_id))) == "forbidden");
  CHECK(code_of(x.ask(op_of("stats"))) == "forbidden");
  CHECK(code_of(x.ask(op_of("acquire").set("user", "bob"))) == "forbidden");
}

TEST_CASE_FIXTURE(fixture, "a list has the rows of its users") {
  rows = {fields{}.set("sandbox", "1").set("user", "ann"),
          fields{}.set("sandbox", "2").set("user", "bob")};
  auto mine = with(ann).ask(op_of("list"));
  CHECK(mine.header.integer("count") == 1);
  CHECK(mine.part_of("results").view() == "{\"sandbox\":\"1\",\"user\":\"ann\"}\n");
  CHECK(with(admin).ask(op_of("list")).header.integer("count") == 2);
  CHECK(wire_client{endpoint}.ask(op_of("list")).header.integer("count") == 2);
}

TEST_CASE_FIXTURE(fixture,
                  "principals may call their clients alike; none gets another's requests") {
  auto hello =
      op_of("hello").set("client", "worker").set("instance", "i").set("heartbeat_ms", 60000);
  auto a = with(ann), b = with(bob);
  wire_client local{endpoint};
  for (auto x : {&a, &b, &local})
    CHECK(code_of(x->ask(hello)) == "");
  b.send(exec("mine", bobs));
  auto x = boxes.take();
  CHECK(a.ask(op_of("cancel").set("request", "mine")).header.flag("cancelled") == false);
  CHECK(code_of(a.ask(op_of("input").set("request", "mine"))) == "invalid_request");
  a.send(exec("mine", anns)); // The same id is another request.
  auto y = boxes.take();
  CHECK(x.client != y.client);
  reply(x, make_reply(fields{}.set("exit_code", 7)));
  CHECK(b.receive().header.integer("exit_code") == 7);
  reply(y, make_reply(fields{}.set("exit_code", 8)));
  CHECK(a.receive().header.integer("exit_code") == 8);
}

TEST_CASE_FIXTURE(fixture,
                  "nobody chooses a routing id, with which it could wait for another's replies") {
  auto choose = [](zmq::socket_t& x) { x.set(zmq::sockopt::routing_id, "mine"); };
  wire_client x{endpoint, zmq::socket_type::dealer, choose};
  CHECK(code_of(x.ask(op_of("ping"))) == "invalid_request");
}

TEST_CASE_FIXTURE(fixture, "events, which tell of everyone, are for those who may name everyone") {
  CHECK_FALSE(with(ann).ask(op_of("hello")).header.has("events"));
  CHECK(with(admin).ask(op_of("hello")).header.text("events") == "tcp://events:1");
  CHECK(wire_client{endpoint}.ask(op_of("hello")).header.text("events") == "ipc:///events");
}

TEST_CASE_FIXTURE(fixture, "an exec that is cancelled while its owner is asked for never starts") {
  auto x = with(ann);
  hold(true);
  auto r = *about(spec_of(op::exec), anns_id);
  r.header.set("id", "e");
  x.send(r);
  x.send(op_of("cancel", "c").set("request", "e"));
  auto first = x.receive().header, second = x.receive().header;
  CHECK(first.flag("cancelled") == true);
  CHECK(second.flag("cancelled") == true);
  grant();
  CHECK(code_of(x.ask(op_of("ping", "p"))) == "");
  CHECK(boxes.empty());
}

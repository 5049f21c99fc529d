// What one client may ask at a time.

#include "tests/support/fake_daemon.hpp"

using namespace corral;
using namespace corral::test;

namespace {

struct fixture : fake_daemon {
  fixture() {
    settings.rate_limit = 2;
    settings.client_request_bytes = 100'000;
    start();
  }

  wire_client client{endpoint};

  static fields op_of(std::string_view op, std::string_view id) {
    return fields{}.set("op", op).set("id", id);
  }
  static int64_t wait_of(const message& reply) {
    auto details = reply.header.object("error")->object("details");
    return details->integer("retry_after_ms").value_or(0);
  }
  static message exec(std::string_view id, size_t stdin_bytes) {
    message x{op_of("exec", id).set("thread", "t"), {}};
    x.add_part("command", blob::copy_of("cat"));
    return x.add_part("stdin", blob::copy_of(std::string(stdin_bytes, 'x')));
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "requests beyond a client's rate are refused, with the time to wait") {
  constexpr int sent = 30;
  for (int i = 0; i < sent; ++i)
    client.send(op_of("stats", std::to_string(i)));
  int refused = 0;
  for (int i = 0; i < sent; ++i)
    if (auto reply = client.receive(); code_of(reply) == "queue_full") {
      ++refused;
      CHECK(wait_of(reply) > 0);
      CHECK(wait_of(reply) <= 500);
      CHECK(reply.header.object("error")->flag("retryable") == true);
    }
  CHECK(refused > sent / 2);
  CHECK(refused <= sent - 2); // Two at once are within it.
  wire_client other{endpoint};
  CHECK(code_of(other.ask(op_of("stats", "1"))) == "");
}

TEST_CASE_FIXTURE(fixture, "what ends work or keeps a connection alive is never too fast") {
  for (int i = 0; i < 30; ++i)
    for (auto op : {"ping", "hello"})
      CHECK(code_of(client.ask(op_of(op, "1"))) == "");
  for (int i = 0; i < 30; ++i)
    CHECK(code_of(client.ask(op_of("release", "1").set("all", true))) == "");
  for (int i = 0; i < 30; ++i)
    CHECK(code_of(client.ask(op_of("cancel", "1").set("request", "x"))) == "");
}

TEST_CASE_FIXTURE(fixture, "the bytes that a client has open are bounded") {
  client.send(exec("1", 80'000));
  auto x = boxes.take();
  auto reply = client.ask(exec("2", 80'000));
  CHECK(code_of(reply) == "queue_full");
  CHECK(wait_of(reply) > 0);
  fake_daemon::reply(x);
  CHECK(code_of(client.receive()) == "");
}

#include "apps/cli/daemon_client.hpp"
#include "apps/cli/transfer.hpp"

#include <doctest/doctest.h>

#include "os/files.hpp"
#include "os/socket.hpp"
#include "tests/cli/fake_daemon.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

using namespace corral;
using namespace corral::cli;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

message request(std::string_view op) {
  message x;
  x.header.set("op", op);
  return x;
}

message event(std::string_view name) {
  message x;
  x.header.set("event", name);
  return x;
}

message chunk(int64_t offset, std::string_view bytes) {
  auto x = event("chunk");
  x.header.set("stream", "content").set("seq", offset).set("offset", offset);
  x.add_part("", blob::copy_of(bytes));
  return x;
}

fake_daemon::script script(fake_daemon::script rest) {
  return [rest = std::move(rest)](const message& x) {
    auto answers = greet(x);
    return answers.empty() ? rest(x) : answers;
  };
}

cli_result<daemon_client> connect(const fake_daemon& daemon) {
  return daemon_client::connect({daemon.endpoint(), 2s, 20ms});
}

} // namespace

TEST_CASE("a client says hello and knows what the daemon said") {
  fake_daemon daemon{script([](auto&) { return std::vector<message>{}; })};
  auto client = connect(daemon);
  REQUIRE(client);
  CHECK(client->welcome().text("server") == "corrald test");
}

TEST_CASE("a socket that something else listens on is no daemon") {
  auto dir = temp_dir::make("corral-cli-").value();
  auto path = (dir.path() / "s").native();
  auto listener = listen_unix(path, 0600);
  auto client = daemon_client::connect({"ipc://" + path, 100ms, 20ms});
  REQUIRE(!client);
  CHECK(client.error().code == "no_daemon");
}

TEST_CASE("a reply belongs to its request, whatever comes before it") {
  fake_daemon daemon{script([](auto&) {
    auto other = ok(fields{}.set("n", 1));
    other.header.set("re", "another");
    return std::vector<message>{other, event("started"), ok(fields{}.set("n", 2))};
  })};
  auto client = connect(daemon);
  REQUIRE(client);
  std::string events;
  auto reply = client->call(request("stats"), 2s, [&](const message& x) -> cli_result<void> {
    events += x.header.text("event").value_or("?");
    return {};
  });
  REQUIRE(reply);
  CHECK(reply->header.integer("n") == 2);
  CHECK(events == "started");
}

TEST_CASE("a refusal is an error with the wire's code, words and details") {
  fake_daemon daemon{script([](auto&) {
    error why{errc::capacity_exceeded, "full", fields{}.set("active", 3)};
    return std::vector<message>{make_reply(why)};
  })};
  auto client = connect(daemon);
  REQUIRE(client);
  auto reply = client->call(request("acquire"));
  REQUIRE(!reply);
  CHECK(reply.error().code == "capacity_exceeded");
  CHECK(reply.error().message == "full");
  CHECK(reply.error().details.integer("active") == 3);
  CHECK(reply.error().retryable);
}

TEST_CASE("a request is not waited for beyond its limit while the daemon answers pings") {
  fake_daemon daemon{script([](auto&) { return std::vector<message>{}; })};
  auto client = connect(daemon);
  REQUIRE(client);
  auto reply = client->call(request("stats"), 200ms);
  REQUIRE(!reply);
  CHECK(reply.error().code == "no_answer");
  CHECK(reply.error().message.find("200 milliseconds") != std::string::npos);
}

TEST_CASE("a signal ends a call that heeds it") {
  interrupts signals; // Before any thread, as the program has it.
  fake_daemon daemon{script([](auto&) {
    ::kill(::getpid(), SIGINT);
    return std::vector<message>{event("started")};
  })};
  auto client = connect(daemon);
  REQUIRE(client);
  client->interrupt_by(&signals);
  auto reply = client->call(request("stats"));
  REQUIRE(!reply);
  CHECK(reply.error().code == "interrupted");
}

TEST_CASE("a client says who it is and how often it will be heard") {
  fields hello;
  fake_daemon daemon{[&hello](const message& x) {
    if (x.header.text("op") == "hello")
      hello = x.header;
    return greet(x);
  }};
  REQUIRE(daemon_client::connect({daemon.endpoint(), 2s, 20ms, {"me", 3s}}));
  CHECK(hello.text("client") == "me");
  CHECK(hello.text("instance") == "me");
  CHECK(hello.integer("heartbeat_ms") == 3000);
}

TEST_CASE("a daemon that stops answering ends every wait") {
  fake_daemon daemon{[](const message& x) {
    return x.header.text("op") == "hello" ? greet(x) : std::vector<message>{};
  }};
  auto client = connect(daemon);
  REQUIRE(client);
  auto reply = client->call(request("exec"));
  REQUIRE(!reply);
  CHECK(reply.error().code == "no_answer");
  CHECK(reply.error().message.find("no longer answers") != std::string::npos);
}

TEST_CASE("a daemon that was restarted meanwhile is told apart by its boot") {
  fake_daemon daemon{
      [](const message& x) { return greet(x, x.header.text("op") == "hello" ? "b1" : "b2"); }};
  auto client = connect(daemon);
  REQUIRE(client);
  auto reply = client->call(request("exec"));
  REQUIRE(!reply);
  CHECK(reply.error().code == "daemon_restarted");
}

TEST_CASE("what libzmq would drop without a word is refused before it is sent") {
  fake_daemon daemon{script([](auto&) { return std::vector<message>{ok()}; })};
  auto client = connect(daemon);
  REQUIRE(client);
  auto large = request("write_file");
  large.add_part("content", blob::take(std::string(max_payload_bytes + 1, 'x')));
  CHECK(client->call(std::move(large)).error().code == "invalid_request");
  auto wide = request("exec");
  wide.header.set("cwd", std::string(fields::max_bytes, 'x'));
  CHECK(client->call(std::move(wide)).error().code == "invalid_request");
  CHECK(client->call(request("stats")));
}

TEST_CASE("a download takes content that comes whole and content in chunks") {
  for (bool whole : {true, false}) {
    fake_daemon daemon{script([whole](auto&) {
      auto last = ok(fields{}.set("size", 5));
      if (whole)
        return std::vector<message>{last.add_part("content", blob::copy_of("abcde"))};
      return std::vector<message>{chunk(0, "abc"), chunk(3, "de"), last};
    })};
    auto client = connect(daemon);
    REQUIRE(client);
    std::string content;
    auto done = download(*client, request("download_file"), [&](auto bytes) -> cli_result<void> {
      content += bytes;
      return {};
    });
    REQUIRE(done);
    CHECK(content == "abcde");
    CHECK(done->integer("size") == 5);
  }
}

TEST_CASE("a download with a hole is an error") {
  fake_daemon daemon{script([](auto&) {
    return std::vector<message>{chunk(0, "abc"), chunk(4, "e"), ok()};
  })};
  auto client = connect(daemon);
  REQUIRE(client);
  auto done =
      download(*client, request("download_file"), [](auto) -> cli_result<void> { return {}; });
  REQUIRE(!done);
  CHECK(done.error().code == "protocol");
}

TEST_CASE("a large upload sends what credit allows, in order, in pieces of at most 256 KiB") {
  constexpr uint64_t size = max_payload_bytes + 300'000;
  struct {
    uint64_t received = 0, credit = 0;
    int64_t seq = 0;
    std::string id;
    bool in_order = true, within = true;
  } seen;
  auto grant = [&seen](uint64_t bytes) {
    seen.credit += bytes;
    auto x = event("credit");
    x.header.set("re", seen.id).set("bytes", bytes);
    return x;
  };
  fake_daemon daemon{script([&](const message& x) -> std::vector<message> {
    if (x.header.text("op") == "write_file") {
      seen.id = *x.header.text("id");
      return {grant(1024 * 1024)};
    }
    auto bytes = x.part_of("").size();
    seen.received += bytes;
    seen.in_order = seen.in_order && x.header.integer("seq") == seen.seq++;
    seen.within = seen.within && bytes <= 256 * 1024 && seen.received <= seen.credit
                  && x.header.flag("eof") == (seen.received == size);
    if (seen.received < size)
      return {grant(bytes)};
    auto last = ok(fields{}.set("bytes", seen.received));
    last.header.set("re", seen.id);
    return {last};
  })};
  auto dir = temp_dir::make("corral-cli-").value();
  auto path = (dir.path() / "f").native();
  REQUIRE(write_file_atomically(path, std::string(size, 'x')));
  auto client = connect(daemon);
  REQUIRE(client);
  auto done = upload(*client, request("write_file"), content::open(path, size).value());
  REQUIRE(done);
  CHECK(done->integer("bytes") == static_cast<int64_t>(size));
  CHECK(seen.in_order);
  CHECK(seen.within);
}

TEST_CASE("an upload that is refused before any credit ends with the refusal") {
  fake_daemon daemon{script([](auto&) {
    return std::vector<message>{make_reply(error{errc::read_only, "no", {}})};
  })};
  auto dir = temp_dir::make("corral-cli-").value();
  auto path = (dir.path() / "f").native();
  REQUIRE(write_file_atomically(path, ""));
  std::filesystem::resize_file(path, max_payload_bytes + 1);
  auto client = connect(daemon);
  REQUIRE(client);
  auto done =
      upload(*client, request("write_file"), content::open(path, max_payload_bytes + 1).value());
  REQUIRE(!done);
  CHECK(done.error().code == "read_only");
}

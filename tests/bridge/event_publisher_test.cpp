#include "bridge/event_publisher.hpp"

#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <optional>

using namespace corral;

namespace {

constexpr std::chrono::milliseconds patience{10'000};

/// The test is the loop's thread itself.
struct no_loop : io_loop {
  watch_id watch(int, callback) override { return 1; }
  void want_writable(watch_id, bool) override {}
  void unwatch(watch_id) override {}
};

struct heard {
  std::string topic;
  fields about;
  int64_t seq() const { return about.integer("seq").value(); }
};

struct subscriber {
  zmq::context_t context;
  zmq::socket_t socket{context, zmq::socket_type::sub};

  subscriber(const std::string& endpoint, const std::string& topic) {
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvhwm, 1);
    socket.set(zmq::sockopt::subscribe, topic);
    socket.connect(endpoint);
  }

  std::optional<heard> next(std::chrono::milliseconds limit = patience) {
    zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, limit);
    if (item.revents == 0)
      return std::nullopt;
    zmq::message_t topic, body;
    REQUIRE(socket.recv(topic));
    REQUIRE(topic.more());
    REQUIRE(socket.recv(body));
    REQUIRE_FALSE(body.more());
    return heard{topic.to_string(), fields::parse(body.to_string_view()).value()};
  }
};

struct fixture {
  temp_dir dir = std::move(*temp_dir::make("events"));
  std::string endpoint = "ipc://" + (dir.path() / "e").string();
  zmq::context_t context;
  no_loop loop;
  event_publisher events{context, loop, {"b00t", 10}};
  fields subject = fields{}.set("sandbox", "s1").set("user", "ann");

  fixture() { events.bind(endpoint); }

  /// Publishes under a topic until the subscription has arrived; the last that came of it.
  heard joined(subscriber& x, const std::string& topic) {
    for (int i = 0; i < 1000; ++i) {
      events.publish(topic, subject);
      if (auto got = x.next(std::chrono::milliseconds{10})) {
        while (auto more = x.next(std::chrono::milliseconds{50}))
          got = more;
        return *got;
      }
    }
    FAIL("nothing came");
    return {};
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "an event says what happened, to whom, when, and of which daemon") {
  subscriber all{endpoint, ""};
  joined(all, "sandbox.created");
  events.publish("exec.finished", subject, fields{}.set("exit_code", 3));
  auto x = *all.next();
  CHECK(x.topic == "exec.finished");
  CHECK(x.about.text("event") == "exec.finished");
  CHECK(x.about.text("sandbox") == "s1");
  CHECK(x.about.text("user") == "ann");
  CHECK(x.about.integer("exit_code") == 3);
  CHECK(x.about.text("boot") == "b00t");
  CHECK(x.about.integer("time").value() > 1'600'000'000'000);
}

TEST_CASE_FIXTURE(fixture, "numbers have no holes, and count what nobody heard") {
  for (int i = 0; i < 5; ++i)
    events.publish("sandbox.created", subject);
  subscriber all{endpoint, ""};
  auto first = joined(all, "sandbox.created").seq();
  CHECK(first > 5);
  for (int i = 1; i <= 8; ++i)
    events.publish(i % 2 == 0 ? "exec.started" : "sandbox.released", subject);
  for (int i = 1; i <= 8; ++i)
    CHECK(all.next()->seq() == first + i);
}

TEST_CASE_FIXTURE(fixture, "a subscriber gets the topics that it asked for") {
  subscriber execs{endpoint, "exec."};
  joined(execs, "exec.started");
  events.publish("sandbox.created", subject);
  events.publish("exec.finished", subject);
  CHECK(execs.next()->topic == "exec.finished");
}

TEST_CASE_FIXTURE(fixture, "a subscriber that doesn't read loses events, and nobody else does") {
  subscriber slow{endpoint, ""}, quick{endpoint, ""};
  joined(slow, "sandbox.created");
  auto last = joined(quick, "sandbox.created").seq();
  auto large = fields{}.set("text", std::string(32 * 1024, 'x')); // Soon fills what the kernel has.
  for (int i = 0; i < 500; ++i) {
    events.publish("sandbox.created", subject, large);
    CHECK(quick.next()->seq() == ++last);
  }
  int came = 0;
  int64_t before = 0;
  while (auto x = slow.next(std::chrono::milliseconds{300})) {
    CHECK(x->seq() > before);
    before = x->seq();
    ++came;
  }
  CHECK(came < 200);
}

TEST_CASE_FIXTURE(fixture, "subscribers that have gone are forgotten, and new ones are heard") {
  for (int i = 0; i < 3; ++i) {
    subscriber x{endpoint, "a"};
    joined(x, "a");
  }
  subscriber x{endpoint, "b"};
  CHECK(joined(x, "b").topic == "b");
}

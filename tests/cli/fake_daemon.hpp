#pragma once

#include "messages/wire/message.hpp"
#include "os/temp_dir.hpp"

#include <zmq.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace corral::test {

/// A ROUTER on a socket of its own that answers each message with what a script says.
class fake_daemon {
public:
  /// Gets a request, returns the messages to send back, in order; each gets the request's id as its
  /// `re` unless it has one.
  using script = std::function<std::vector<message>(const message&)>;

  explicit fake_daemon(script answer);
  ~fake_daemon();

  std::string endpoint() const { return "ipc://" + (dir_.path() / "s").native(); }

private:
  void serve(zmq::socket_t router);

  script answer_;
  temp_dir dir_ = temp_dir::make("corral-cli-").value();
  zmq::context_t context_{1};
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

/// The answer to hello and ping; nothing to anything else.
std::vector<message> greet(const message& x, std::string_view boot = "b1");

message ok(const fields& result = {});

} // namespace corral::test

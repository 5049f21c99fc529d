#include "apps/cli/commands.hpp"
#include "apps/cli/endpoint.hpp"
#include "apps/cli/terminal.hpp"

#include <array>
#include <cerrno>
#include <ctime>

namespace corral::cli {

namespace {

constexpr int queued = 100'000; // Events that wait here while stdout is slow.

/// Follows the numbers of all events of one daemon.
class sequence {
public:
  /// What the one before and this one tell: losses, a restart; empty if nothing is amiss.
  std::string look(const fields& x) {
    auto boot = x.text("boot").value_or("");
    auto seq = x.integer("seq").value_or(0);
    std::string result;
    if (!boot_.empty() && boot != boot_)
      result = "the daemon was restarted";
    else if (!boot_.empty() && seq > last_ + 1)
      result = std::to_string(seq - last_ - 1) + " events were lost";
    boot_ = boot;
    last_ = seq;
    return result;
  }

private:
  std::string boot_;
  int64_t last_ = 0;
};

std::string shown_time(int64_t unix_ms) {
  auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  auto ms = std::to_string(1000 + unix_ms % 1000).substr(1);
  return std::string{text.data(), size} + "." + ms + "Z";
}

std::string shown_value(const fields& x, const std::string& name) {
  if (auto value = x.text(name))
    return printable(*value);
  if (auto value = x.integer(name))
    return std::to_string(*value);
  if (auto value = x.flag(name))
    return *value ? "true" : "false";
  return "-";
}

zmq::socket_t subscribe(zmq::context_t& context, const std::string& endpoint,
                        const std::optional<client_keys>& keys,
                        const std::vector<std::string>& topics) {
  zmq::socket_t socket{context, zmq::socket_type::sub};
  socket.set(zmq::sockopt::ipv6, endpoint.find('[') != std::string::npos);
  if (keys && endpoint.starts_with("tcp://"))
    keys->set_on(socket);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvhwm, queued);
  socket.set(zmq::sockopt::reconnect_ivl_max, 1000);
  for (auto& topic : topics.empty() ? std::vector<std::string>{""} : topics)
    socket.set(zmq::sockopt::subscribe, topic);
  socket.connect(endpoint);
  return socket;
}

/// The next event's body; waits for ever, also for a daemon that is gone to come back.
std::optional<fields> next(zmq::socket_t& socket) {
  std::vector<std::string> frames;
  bool more = true;
  while (more)
    try {
      zmq::message_t x;
      [[maybe_unused]] auto got = socket.recv(x);
      more = x.more();
      frames.push_back(x.to_string());
    } catch (const zmq::error_t& e) {
      if (e.num() != EINTR)
        throw;
    }
  auto body = frames.size() == 2 ? fields::parse(frames[1]) : tl::unexpected{std::string{}};
  return body ? std::optional{std::move(*body)} : std::nullopt;
}

} // namespace

std::string event_line(const fields& x) {
  auto topic = shown_value(x, "event");
  topic.resize(std::max<size_t>(topic.size(), 17), ' ');
  auto line = shown_time(x.integer("time").value_or(0)) + "  " + topic + " "
              + shown_value(x, "sandbox") + "  " + shown_value(x, "user") + "/"
              + shown_value(x, "thread");
  for (auto& name : x.names()) {
    static const std::vector<std::string> shown{"time",   "event", "sandbox", "user",
                                                "thread", "boot",  "seq"};
    if (std::find(shown.begin(), shown.end(), name) == shown.end())
      line.append("  ").append(printable(name)).append("=").append(shown_value(x, name));
  }
  return line;
}

cli_result<int> events(daemon_client& client, const events_options& x, bool json) {
  auto endpoint = client.welcome().text("events");
  if (!endpoint)
    return failed("forbidden", "this daemon publishes no events for this client: over TCP it takes "
                               "events_listen and a key for all users");
  zmq::context_t context{1};
  auto& where = client.where();
  auto socket = subscribe(context, on_host_of(where.endpoint, *endpoint), where.keys, x.topics);
  sequence order;
  for (;;) {
    auto event = next(socket);
    if (!event)
      continue;
    auto amiss = x.topics.empty() ? order.look(*event) : "";
    if (!amiss.empty())
      notice(amiss);
    if (!x.thread.empty() && event->text("thread") != x.thread)
      continue;
    auto written = write_to(stream::out, (json ? event->dump() : event_line(*event)) + "\n");
    if (!written)
      return tl::unexpected{written.error()};
  }
}

} // namespace corral::cli

#include "apps/cli/daemon_client.hpp"

#include "apps/cli/endpoint.hpp"

#include <algorithm>
#include <cerrno>

namespace corral::cli {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view protocol = "corral/1";
constexpr auto ping_id = "ping";
constexpr int max_unanswered = 3;
constexpr milliseconds linger{500}; // For a last cancel or destroy.
constexpr auto refusals = "inproc://refusals";

blob adopt(zmq::message_t&& x) {
  auto owner = std::make_shared<zmq::message_t>(std::move(x));
  std::string_view bytes{static_cast<const char*>(owner->data()), owner->size()};
  return {std::move(owner), bytes};
}

std::string advice_on_silence(const daemon_client::settings& x) {
  if (!x.endpoint.starts_with("tcp://"))
    return "something listens on " + x.endpoint
           + " but does not answer as corrald; look at the daemon's log, or name another socket "
             "with --endpoint";
  auto text = "no daemon answers at " + x.endpoint + "; see whether corrald listens there";
  return text
         + (x.keys ? " and has the --server-key that was given"
                   : ", and give --key and --server-key unless it is insecure");
}

} // namespace

daemon_client::daemon_client(settings x)
    : settings_{std::move(x)}, context_{1}, socket_{context_, zmq::socket_type::dealer},
      refusals_{context_, zmq::socket_type::pair} {
  socket_.set(zmq::sockopt::linger, static_cast<int>(linger.count()));
  socket_.set(zmq::sockopt::sndhwm, 0);
  socket_.set(zmq::sockopt::sndhwm, 0); // A send never blocks; what is sent is bounded by credit.
  socket_.set(zmq::sockopt::rcvhwm, 0);
  socket_.set(zmq::sockopt::ipv6, settings_.endpoint.find('[') != std::string::npos);
  if (settings_.keys)
    settings_.keys->set_on(socket_);
  ::zmq_socket_monitor(socket_.handle(), refusals, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
  refusals_.set(zmq::sockopt::linger, 0);
  refusals_.connect(refusals);
}

cli_result<daemon_client> daemon_client::connect(settings x) {
  if (auto reachable = check_endpoint(x.endpoint); !reachable)
    return tl::unexpected{reachable.error()};
  daemon_client client{std::move(x)};
  try {
    client.socket_.connect(client.settings_.endpoint);
  } catch (const zmq::error_t& e) {
    return failed("usage", "--endpoint " + client.settings_.endpoint + ": " + e.what()
                               + "; expected one such as ipc:///run/corral/corral.sock");
  }
  if (auto greeted = client.say_hello(); !greeted)
    return tl::unexpected{greeted.error()};
  return client;
}

cli_result<void> daemon_client::say_hello() {
  message hello;
  hello.header.set("op", "hello");
  if (auto& me = settings_.identity; !me.name.empty())
    hello.header.set("client", me.name).set("instance", me.name);
  if (auto beat = settings_.identity.heartbeat.count(); beat > 0)
    hello.header.set("heartbeat_ms", beat);
  auto reply = call(std::move(hello), settings_.hello);
  if (!reply && reply.error().code == "no_answer")
    return failed("no_daemon", advice_on_silence(settings_));
  if (!reply)
    return tl::unexpected{reply.error()};
  welcome_ = reply->header;
  return {};
}

cli_result<std::string> daemon_client::send(message request) {
  if (request.payload_size() > max_payload_bytes)
    return failed("invalid_request", "the request has " + std::to_string(request.payload_size())
                                         + " bytes of payload; at most "
                                         + std::to_string(max_payload_bytes));
  auto id = std::to_string(++last_id_);
  request.header.set("id", id);
  if (auto size = request.encode_header().size(); size > fields::max_bytes)
    return failed("invalid_request", "the request's fields take " + std::to_string(size)
                                         + " bytes; at most " + std::to_string(fields::max_bytes));
  heard_ = pinged_ = clock::now();
  unanswered_ = 0;
  notify(request);
  return id;
}

void daemon_client::notify(const message& x, bool waits) {
  auto payload = x.encode_payload();
  auto flags = payload.empty() ? zmq::send_flags::none : zmq::send_flags::sndmore;
  auto first = waits ? zmq::send_flags::none : zmq::send_flags::dontwait;
  if (!socket_.send(zmq::buffer(protocol), first | zmq::send_flags::sndmore))
    return;
  socket_.send(zmq::message_t{x.encode_header()}, flags);
  if (!payload.empty())
    socket_.send(zmq::message_t{payload.view()}, zmq::send_flags::none);
}

cli_result<std::optional<message>> daemon_client::receive(milliseconds limit,
                                                          const std::vector<int>& others) {
  auto end = clock::now() + limit;
  for (bool waited = false;;) {
    auto x = take();
    if (!x || (*x && !is_own_pong(**x)))
      return x;
    if (*x)
      continue;
    auto left = std::chrono::ceil<milliseconds>(end - clock::now());
    if (left <= milliseconds::zero() || (waited && !others.empty()))
      return std::nullopt;
    if (auto alive = keep_alive(); !alive)
      return tl::unexpected{alive.error()};
    wait(std::min(left, settings_.ping), others);
    waited = true;
  }
}

cli_result<std::optional<message>> daemon_client::take() {
  if (was_refused())
    return failed("unauthorized", "the daemon at " + settings_.endpoint
                                      + " does not know this key: add its line, which corral "
                                        "keygen printed, to keys in the daemon's configuration");
  std::vector<zmq::message_t> frames;
  do {
    zmq::message_t x;
    if (!socket_.recv(x, zmq::recv_flags::dontwait))
      return std::nullopt;
    frames.push_back(std::move(x));
  } while (frames.back().more());
  heard_ = clock::now();
  unanswered_ = 0;
  if (frames.size() < 2 || frames.size() > 3 || frames[0].to_string_view() != protocol)
    return failed("protocol", "the daemon does not speak corral/1");
  auto payload = frames.size() == 3 ? adopt(std::move(frames[2])) : blob{};
  auto x = message::decode(frames[1].to_string_view(), payload);
  if (!x)
    return failed("protocol", "the daemon sent a " + x.error().message);
  if (x->header.text("re") == ping_id && !welcome_.empty()
      && x->header.text("boot") != welcome_.text("boot"))
    return failed("daemon_restarted", "the daemon was restarted meanwhile; what became of the "
                                      "request is not known");
  return std::move(*x);
}

bool daemon_client::was_refused() {
  zmq::message_t x;
  return refusals_.recv(x, zmq::recv_flags::dontwait).has_value();
}

bool daemon_client::is_own_pong(const message& x) const {
  return x.header.text("re") == ping_id;
}

cli_result<void> daemon_client::keep_alive() {
  auto now = clock::now();
  if (now - std::max(heard_, pinged_) < settings_.ping)
    return {};
  if (unanswered_ >= max_unanswered)
    return failed("no_answer", "the daemon at " + settings_.endpoint
                                   + " no longer answers; see whether corrald still runs");
  ++unanswered_;
  pinged_ = now;
  message ping;
  ping.header.set("op", "ping").set("id", ping_id);
  notify(ping, false); // Without a connection it would block; not sent, its silence tells the same.
  return {};
}

void daemon_client::wait(milliseconds limit, const std::vector<int>& others) {
  std::vector<zmq::pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                     {refusals_.handle(), 0, ZMQ_POLLIN, 0}};
  for (auto fd : others)
    items.push_back({nullptr, fd, ZMQ_POLLIN, 0});
  try {
    zmq::poll(items, limit);
  } catch (const zmq::error_t& e) {
    if (e.num() != EINTR)
      throw;
  }
}

std::optional<cli_result<message>> daemon_client::as_reply(const message& x, std::string_view id) {
  if (x.header.text("re") != id || !x.header.has("ok"))
    return std::nullopt;
  if (x.header.flag("ok") == true)
    return x;
  return tl::unexpected{cli_error::from_reply(x.header.object("error").value_or(fields{}))};
}

cli_result<message> daemon_client::call(message request, milliseconds limit,
                                        const event_handler& on_event) {
  auto id = send(std::move(request));
  if (!id)
    return tl::unexpected{id.error()};
  auto end = clock::now() + limit;
  std::vector<int> others;
  if (signals_ != nullptr)
    others.push_back(signals_->fd());
  for (;;) {
    auto x = receive(std::chrono::ceil<milliseconds>(end - clock::now()), others);
    if (!x)
      return tl::unexpected{x.error()};
    if (signals_ != nullptr && signals_->take())
      return failed("interrupted", "stopped before it was done");
    if (!*x && clock::now() < end)
      continue;
    if (!*x)
      return failed("no_answer",
                    "no answer within " + std::to_string(limit.count()) + " milliseconds");
    if (auto reply = as_reply(**x, *id))
      return std::move(*reply);
    if ((*x)->header.text("re") != *id || !on_event)
      continue;
    if (auto handled = on_event(**x); !handled)
      return tl::unexpected{handled.error()};
  }
}

} // namespace corral::cli

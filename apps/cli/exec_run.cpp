#include "apps/cli/exec_run.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace corral::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds idle_turn{60'000}; // Nothing is due: any message ends the wait.

bool is_readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

/// What stdin has, at most `limit` bytes; empty at its end.
cli_result<std::string> read_stdin(size_t limit) {
  std::string bytes(limit, '\0');
  ssize_t n = 0;
  do
    n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return tl::unexpected{cli_error::from_os(last_os_error("read", "stdin").value())};
  bytes.resize(static_cast<size_t>(n));
  return bytes;
}

} // namespace

exec_run::exec_run(daemon_client& client, interrupts& signals, settings x)
    : client_{client}, signals_{signals}, settings_{x}, out_{is_terminal(stream::out)},
      err_{is_terminal(stream::err)} {}

cli_result<message> exec_run::run(message request) {
  request.header.set("stream", true);
  if (settings_.feed_stdin)
    request.header.set("stdin_open", true);
  auto id = client_.send(std::move(request));
  if (!id)
    return tl::unexpected{id.error()};
  id_ = *id;
  if (settings_.feed_stdin)
    feed_.emplace(id_);
  for (;;) {
    auto reply = step();
    if (!reply)
      return tl::unexpected{reply.error()};
    if (*reply)
      return finish(std::move(**reply));
  }
}

cli_result<std::optional<message>> exec_run::step() {
  auto ready = heed_interrupts().and_then([this] { return feed(); });
  if (!ready)
    return tl::unexpected{ready.error()};
  std::vector<int> others{signals_.fd()};
  auto limit = idle_turn;
  if (feed_ && started_) {
    if (feed_->wants_bytes())
      others.push_back(STDIN_FILENO);
    limit = feed_->due_in(clock::now()).value_or(idle_turn);
  }
  auto x = client_.receive(limit, others);
  if (!x)
    return tl::unexpected{x.error()};
  if (!*x)
    return std::nullopt;
  auto reply = take(**x);
  if (!reply)
    return std::nullopt;
  return std::move(*reply).map([](message&& m) { return std::optional{std::move(m)}; });
}

std::optional<cli_result<message>> exec_run::take(const message& x) {
  if (auto reply = daemon_client::as_reply(x, id_))
    return reply;
  if (x.header.text("re") == id_)
    take_event(x);
  else if (!input_id_.empty() && x.header.text("re") == input_id_)
    take_input_reply(x);
  return std::nullopt;
}

void exec_run::take_event(const message& x) {
  auto event = x.header.text("event");
  if (event == "started")
    started_ = true;
  if (event != "chunk")
    return;
  auto to = x.header.text("stream") == "stderr" ? stream::err : stream::out;
  auto bytes = x.encode_payload();
  if (settings_.show_output)
    show(to, follow(to).take(static_cast<uint64_t>(x.header.integer("offset").value_or(0)),
                             bytes.view()));
  message ack;
  ack.header.set("op", "ack").set("re", id_).set("seq", x.header.integer("seq").value_or(0));
  client_.notify(ack);
}

void exec_run::take_input_reply(const message& x) {
  input_id_.clear();
  if (x.header.flag("ok") != true)
    return feed_->refused();
  auto bytes = x.header.integer("bytes");
  if (!bytes || *bytes < 0)
    return give_up({"protocol", "the daemon did not say how much input it accepted", {}, false});
  feed_->accepted(static_cast<uint64_t>(*bytes), clock::now());
}

cli_result<void> exec_run::heed_interrupts() {
  while (signals_.take()) {
    if (cancelled_)
      return failed("interrupted", "left before the command was seen to end");
    cancel();
  }
  return {};
}

cli_result<void> exec_run::feed() {
  if (!feed_ || !started_)
    return {};
  if (feed_->wants_bytes() && is_readable(STDIN_FILENO)) {
    auto bytes = read_stdin(input_feed::piece_bytes);
    if (!bytes)
      return tl::unexpected{bytes.error()};
    feed_->offer(std::move(*bytes));
  }
  auto next = feed_->next(clock::now());
  if (!next)
    return {};
  return client_.send(std::move(*next)).map([this](std::string id) { input_id_ = std::move(id); });
}

void exec_run::cancel() {
  cancelled_ = true;
  message x;
  x.header.set("op", "cancel").set("request", id_);
  (void)client_.send(std::move(x));
}

void exec_run::show(stream to, std::string_view bytes) {
  if (bytes.empty() || given_up_)
    return;
  if (auto written = write_to(to, bytes); !written)
    give_up(written.error());
}

void exec_run::give_up(cli_error why) {
  if (!given_up_)
    given_up_ = std::move(why);
  if (feed_)
    feed_->refused();
  if (!cancelled_)
    cancel();
}

cli_result<message> exec_run::finish(message reply) {
  if (settings_.show_output)
    for (auto to : {stream::out, stream::err}) {
      auto name = to == stream::out ? "stdout" : "stderr";
      auto total = reply.header.integer(std::string{name} + "_bytes").value_or(0);
      auto part = reply.part_of(name);
      show(to, follow(to).rest(part.view(), static_cast<uint64_t>(std::max<int64_t>(total, 0))));
      if (auto lost = follow(to).lost(); lost > 0)
        notice(std::to_string(lost) + " bytes of " + name
               + " came too fast and are lost; write large output to a file and fetch it with "
                 "`corral read --raw`");
    }
  if (given_up_)
    return tl::unexpected{*given_up_};
  return reply;
}

} // namespace corral::cli

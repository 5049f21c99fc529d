#include "guest/exec_service.hpp"

#include <malloc.h>

#include <algorithm>

namespace corral::guest {

namespace {

constexpr std::string_view stream_names[] = {"stdout", "stderr"};
constexpr size_t most_keys_told = 256;
constexpr size_t large_output = 256 * 1024;
constexpr std::chrono::milliseconds trim_after{100};

fields describe(const shell_outcome& x, const capture& out, const capture& err) {
  fields f;
  x.exit_code ? f.set("exit_code", *x.exit_code) : f.set("exit_code", nullptr);
  if (x.signal)
    f.set("signal", *x.signal);
  f.set("timed_out", x.timed_out).set("cancelled", x.cancelled);
  f.set("duration_ms", x.duration.count()).set("cwd", x.directory).set("session", x.session);
  f.set("stdout_bytes", out.total()).set("stderr_bytes", err.total());
  f.set("truncated", out.truncated() || err.truncated());
  if (x.reset != session_reset::none)
    f.set("session_reset", x.reset == session_reset::restored ? "restored" : "initial");
  return f;
}

} // namespace

exec_service::exec_service(event_loop& loop, shell_session& session, sender send)
    : loop_{loop}, session_{session}, send_{std::move(send)} {}

void exec_service::configure(const settings& x) {
  settings_ = x;
  keys_.set_limits(x.keys);
}

void exec_service::exec(int64_t re, const message& request) {
  auto command = parse_command(request, session_.workspace(), settings_.timeout);
  if (!command)
    return refuse(re, command.error());
  auto wish = parse_wish(request, settings_.max_output_chars);
  if (!wish)
    return refuse(re, wish.error());
  waiter waiting{re, std::move(*wish)};
  auto key = request.header.text("key").value_or("");
  auto stream = request.header.flag("stream").value_or(false);
  if (key.empty()) {
    if (run_)
      return refuse(re, {errc::busy, "another exec is running", {}});
    return start(std::move(*command), std::move(waiting), "", stream);
  }
  auto digest = digest_of({command->script, command->input.value_or("")});
  switch (keys_.begin(key, digest, loop_.now())) {
  case key_store::claim::run:
    if (!run_)
      return start(std::move(*command), std::move(waiting), key, stream);
    keys_.abandon(key);
    return refuse(re, {errc::busy, "another exec is running", {}});
  case key_store::claim::join:
    if (stream) {
      run_->streamed_to = re;
      run_->window.start_anew();
    }
    run_->waiters.push_back(std::move(waiting));
    return announce();
  case key_store::claim::finished:
    return send_(re, compose(waiting, *keys_.find(key)));
  case key_store::claim::conflict:
    return refuse(re, {errc::invalid_request, "exec: this key was used for another command", {}});
  case key_store::claim::full:
    return refuse(re, {errc::queue_full, "the sandbox holds as many keys as it may", {}});
  }
}

void exec_service::retained(int64_t re, const message& request) {
  auto key = request.header.text("key").value_or("");
  auto wish = parse_wish(request, settings_.max_output_chars);
  if (!wish)
    return refuse(re, wish.error());
  keys_.expire(loop_.now());
  message reply = make_reply();
  auto state = "not_found";
  if (auto kept = keys_.find(key)) {
    reply = compose({re, std::move(*wish)}, *kept);
    state = "finished";
  } else if (run_ && !key.empty() && run_->key == key) {
    state = "running";
  }
  auto age = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - born_);
  reply.header.set("state", state).set("age_ms", age.count());
  send_(re, std::move(reply));
}

void exec_service::attach(int64_t re) {
  if (!run_)
    return send_(re, make_reply());
  run_->waiters.push_back({re, {{}, 0}});
}

void exec_service::start(shell_command command, waiter first, std::string key, bool stream) {
  run_ = execution{};
  run_->key = std::move(key);
  run_->timeout = command.timeout;
  run_->started = loop_.now();
  run_->input_open = command.input_open;
  if (stream)
    run_->streamed_to = first.re;
  run_->waiters.push_back(std::move(first));
  session_.run(
      std::move(command),
      [this](output_stream s, std::string_view bytes) { take_output(s, bytes); },
      [this](result<shell_outcome> x) { finish(std::move(x)); });
  if (!run_)
    return;
  // A command that ends at once needs no word that it has begun, unless somebody watches.
  if (stream)
    announce();
  else
    run_->started_timer = loop_.after(started_after, [this] { announce(); });
}

void exec_service::announce() {
  for (auto& x : run_->waiters) {
    message event;
    event.header.set("event", "started");
    send_(x.re, std::move(event));
  }
}

void exec_service::take_output(output_stream stream, std::string_view bytes) {
  (stream == output_stream::out ? run_->out : run_->err).append(bytes);
  if (!run_->streamed_to)
    return run_->window.skip(stream, bytes.size());
  run_->window.append(stream, bytes, loop_.now());
  send_chunks(false);
}

void exec_service::send_chunks(bool all) {
  while (auto chunk = run_->window.take(loop_.now(), all)) {
    message event;
    auto name = stream_names[static_cast<size_t>(chunk->stream)];
    event.header.set("event", "chunk").set("stream", name).set("seq", chunk->seq);
    event.header.set("offset", chunk->offset);
    if (chunk->gap > 0)
      event.header.set("gap", chunk->gap);
    event.add_part(name, blob::take(std::move(chunk->data)));
    send_(*run_->streamed_to, std::move(event));
  }
  run_->chunk_timer.reset();
  if (auto due = run_->window.next_due())
    run_->chunk_timer = loop_.at(*due, [this] { send_chunks(false); });
}

void exec_service::finish(result<shell_outcome> x) {
  if (run_->streamed_to)
    send_chunks(true);
  auto ended = std::move(*run_);
  run_.reset();
  if (!x) {
    keys_.abandon(ended.key);
    for (auto& to : ended.waiters)
      refuse(to.re, x.error());
    return;
  }
  retained_result kept{describe(*x, ended.out, ended.err), ended.out.text(), ended.err.text()};
  kept.outcome.set("timeout_ms", ended.timeout.count());
  for (auto& to : ended.waiters)
    send_(to.re, compose(to, kept));
  if (kept.size() > large_output)
    trim_timer_ = loop_.after(trim_after, [] { ::malloc_trim(0); });
  if (ended.key.empty())
    return;
  keys_.finish(ended.key, std::move(kept), loop_.now());
  arm_expiry();
}

message exec_service::compose(const waiter& to, const retained_result& x) const {
  auto reply = make_reply(x.outcome);
  reply.header.erase("timeout_ms"); // Kept for the text only.
  if (to.wish.want.contains("output")) {
    command_end end;
    end.exit_code = static_cast<int>(
        x.outcome.integer("exit_code").value_or(-x.outcome.integer("signal").value_or(0)));
    end.timed_out = x.outcome.flag("timed_out").value_or(false);
    end.cancelled = x.outcome.flag("cancelled").value_or(false);
    end.timeout = std::chrono::milliseconds{x.outcome.integer("timeout_ms").value_or(0)};
    reply.add_part("output", blob::take(compose_output(x.out, x.err, end, to.wish.max_chars)));
  }
  if (to.wish.want.contains("stdout"))
    reply.add_part("stdout", blob::copy_of(x.out));
  if (to.wish.want.contains("stderr"))
    reply.add_part("stderr", blob::copy_of(x.err));
  return reply;
}

void exec_service::arm_expiry() {
  if (auto due = keys_.next_expiry())
    expiry_timer_ = loop_.at(*due, [this] {
      keys_.expire(loop_.now());
      arm_expiry();
    });
}

void exec_service::input(int64_t re, const message& request) {
  auto target = request.header.integer("target").value_or(0);
  auto bytes = request.parts.empty() ? blob{} : request.parts.front().data;
  auto served = run_ && std::any_of(run_->waiters.begin(), run_->waiters.end(), [&](auto& w) {
                  return w.re == target;
                });
  auto accepted = served ? session_.feed(bytes.view(), request.header.flag("eof").value_or(false))
                         : std::nullopt;
  if (!accepted)
    return refuse(re, {errc::invalid_request, "input: no running exec takes this input", {}});
  send_(re, make_reply(fields{}.set("bytes", *accepted)));
}

void exec_service::cancel(int64_t re) {
  if (run_ && std::any_of(run_->waiters.begin(), run_->waiters.end(), [&](auto& w) {
        return w.re == re;
      }))
    session_.cancel();
}

void exec_service::reset_session(int64_t re) {
  auto session = session_.reset();
  if (!session)
    return refuse(re, session.error());
  send_(re, make_reply(fields{}.set("session", *session)));
}

void exec_service::acknowledge(int64_t re, uint64_t seq) {
  if (run_ && run_->streamed_to == re)
    run_->window.acknowledge(seq);
}

std::chrono::milliseconds exec_service::running_left() const {
  using std::chrono::milliseconds;
  if (!run_)
    return milliseconds{0};
  auto left = run_->timeout - (loop_.now() - run_->started);
  return std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds{0});
}

void exec_service::disconnected() {
  if (!run_)
    return;
  run_->waiters.clear();
  run_->streamed_to.reset();
  run_->started_timer.reset();
  run_->chunk_timer.reset();
}

std::vector<std::string> exec_service::keys() const {
  return keys_.keys(most_keys_told);
}

} // namespace corral::guest

#include "actors/sandbox.hpp"

#include "actors/supervision.hpp"

#include <algorithm>

namespace corral {

namespace {

std::chrono::milliseconds in_ms(duration x) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(x);
}

} // namespace

sandbox_actor::behavior_type sandbox(sandbox_actor::stateful_pointer<sandbox_state> self,
                                     sandbox_settings settings, link_factory make_link,
                                     ready_callback ready) {
  return self->state.make_behavior(std::move(settings), make_link, std::move(ready));
}

sandbox_actor::behavior_type sandbox_state::make_behavior(sandbox_settings settings,
                                                          const link_factory& make_link,
                                                          ready_callback ready) {
  settings_ = std::move(settings);
  ready_ = std::move(ready);
  queue_ = exec_queue{settings_.queue};
  used_at_ = now();
  report_exceptions(self_, settings_.report);
  link_ = make_link(self_);
  self_->monitor(link_);
  self_->set_down_handler([this](caf::down_msg&) {
    if (!retired_) // Else its guest is being ended, and requests are still sent back until the
                   // exit.
      lose("its guest is gone");
  });
  return {
      [this](submit_atom, submission& x, const answer_sink& sink) { submit(std::move(x), sink); },
      [this](cancel_atom, ticket_id ticket, ticket_id target, const answer_sink& sink) {
        cancel(ticket, target, sink);
      },
      [this](send_atom, ticket_id ticket, ticket_id target, const message_ptr& x,
             const answer_sink& sink) { input(ticket, target, x, sink); },
      [this](data_atom, ticket_id ticket, const blob& piece, bool last) {
        data(ticket, piece, last);
      },
      [this](credit_atom, ticket_id ticket, uint64_t bytes, int64_t seq) {
        credit(ticket, bytes, seq);
      },
      [this](retire_atom, time_point unused_since) { return retire(unused_since); },
      [this](probe_atom) { return probe(); },
      [this](inspect_atom) { return usage(); },
      [this](drain_atom) { drain(); },
      [this](kill_atom) { lose("it was destroyed"); },
      [this](late_atom, duration late) { used_at_ = std::min(used_at_ + late, now()); },
      [this](leave_atom) { leave(); },
      [this](up_atom, const fields_ptr& hello) { up(*hello); },
      [this](answer_atom, const message_ptr& x) { from_guest(*x); },
      [this](tick_atom, uint64_t epoch) { tick(epoch); },
  };
}

void sandbox_state::submit(submission x, const answer_sink& sink) {
  if (retired_)
    return self_->send(sink, retired_atom::value, x.ticket);
  if (draining_)
    return reply(sink, x.ticket,
                 make_reply(error{errc::shutting_down, "the daemon is shutting down", {}}));
  auto& r = *x.what;
  auto asks = r.spec->id == op::result; // Is no activity and waits for nothing of its client's.
  if (asks && waits_here(r.body.header.text("key").value_or("")))
    return reply(sink, x.ticket, make_reply(fields{}.set("state", "running")));
  if (!asks)
    used_at_ = now();
  exec_queue::entry entry{x.ticket, asks ? "" : x.client, !r.spec->file && !asks && !joins(r), {}};
  if (auto limit = r.body.header.integer("queue_ms"))
    entry.deadline = now() + std::chrono::milliseconds{*limit};
  if (!queue_.add(std::move(entry))) {
    fields details;
    details.set("limit", settings_.queue.waiting);
    return reply(sink, x.ticket,
                 make_reply(error{errc::queue_full, "the sandbox's queue is full", details}));
  }
  works_.emplace(x.ticket, work{x.what, sink, now(), {}, {}, false, joins(r), {}});
  start_waiting();
  if (auto i = works_.find(x.ticket);
      i != works_.end() && !i->second.sent && r.body.header.flag("stream") == true) {
    message event;
    event.header.set("event", "queued");
    self_->send(sink, data_atom::value, x.ticket,
                message_ptr{std::make_shared<message>(std::move(event))});
  }
}

/// True for an exec that the guest lets join the running one: it has the same key.
bool sandbox_state::joins(const request& r) const {
  auto running = queue_.running_exec();
  auto key = r.body.header.text("key");
  return r.spec->id == op::exec && key && running
         && works_.at(*running).what->body.header.text("key") == key;
}

/// True if an exec with this key has not been sent to the guest yet.
bool sandbox_state::waits_here(const std::string& key) const {
  return std::any_of(works_.begin(), works_.end(), [&](auto& item) {
    auto& w = item.second;
    return !w.sent && w.what->spec->id == op::exec && w.what->body.header.text("key") == key;
  });
}

void sandbox_state::start_waiting() {
  for (auto ticket : queue_.take_startable())
    start(ticket);
  rearm();
}

void sandbox_state::start(ticket_id ticket) {
  auto& w = works_.at(ticket);
  w.sent = now();
  if (!w.joined) // Whom it joins has a limit of its own.
    w.backstop = now() + timeout_of(*w.what, settings_.defaults) + settings_.backstop;
  self_->send(
      link_, send_atom::value,
      message_ptr{std::make_shared<message>(to_guest(*w.what, ticket, settings_.defaults))});
}

void sandbox_state::cancel(ticket_id ticket, ticket_id target, const answer_sink& sink) {
  if (target == 0)
    target = queue_.running_exec().value_or(0);
  auto i = works_.find(target);
  auto known = i != works_.end() && (ticket == 0 || i->second.what->spec->id == op::exec);
  if (!known)
    return ticket != 0 ? reply(sink, ticket, make_reply(fields{}.set("cancelled", false))) : void();
  if (ticket != 0)
    i->second.cancels.emplace_back(ticket, sink);
  if (queue_.remove(target))
    return finish(target, cancelled_before_start(in_ms(now() - i->second.submitted)));
  message x;
  x.header.set("op", "cancel").set("re", target);
  self_->send(link_, send_atom::value, message_ptr{std::make_shared<message>(std::move(x))});
}

void sandbox_state::input(ticket_id ticket, ticket_id target, const message_ptr& given,
                          const answer_sink& sink) {
  auto i = works_.find(target);
  if (i == works_.end() || !i->second.sent || i->second.what->spec->id != op::exec)
    return reply(sink, ticket,
                 make_reply(error{errc::invalid_request, "input: no such exec is running", {}}));
  inputs_.emplace(ticket, sink);
  message x = *given;
  x.header.erase("request").set("op", "input").set("re", ticket).set("target", target);
  for (auto& p : x.parts)
    p.name = "stdin";
  self_->send(link_, send_atom::value, message_ptr{std::make_shared<message>(std::move(x))});
}

void sandbox_state::data(ticket_id ticket, const blob& piece, bool last) {
  auto i = works_.find(ticket);
  if (i != works_.end() && i->second.sent)
    self_->send(link_, data_atom::value, ticket, piece, last);
}

void sandbox_state::credit(ticket_id ticket, uint64_t bytes, int64_t seq) {
  if (!works_.contains(ticket))
    return;
  if (seq < 0)
    return self_->send(link_, credit_atom::value, ticket, bytes);
  message x;
  x.header.set("op", "ack").set("re", ticket).set("seq", seq);
  self_->send(link_, send_atom::value, message_ptr{std::make_shared<message>(std::move(x))});
}

caf::result<bool> sandbox_state::probe() {
  auto promise = self_->make_response_promise<bool>();
  auto re = ++next_own_;
  pings_.emplace(re, ping{promise, now() + settings_.ping_limit});
  message x;
  x.header.set("op", "ping").set("re", re);
  self_->send(link_, send_atom::value, message_ptr{std::make_shared<message>(std::move(x))});
  rearm();
  return promise;
}

retirement sandbox_state::retire(time_point unused_since) {
  if (!queue_.idle() || !works_.empty())
    return {false, true, now()};
  if (used_at_ > unused_since)
    return {false, false, used_at_};
  retired_ = true;
  return {true, false, used_at_};
}

sandbox_usage sandbox_state::usage() const {
  return {queue_.running_exec().has_value(), queue_.waiting(), queue_.running(), execs_,
          queue_.idle() ? used_at_ : now(),  session_};
}

void sandbox_state::drain() {
  draining_ = true;
  for (auto ticket : queue_.take_waiting())
    finish(ticket, make_reply(error{errc::shutting_down, "the daemon is shutting down", {}}));
}

void sandbox_state::up(const fields& hello) {
  session_ = hello.integer("session").value_or(0);
  if (ready_ && hello.flag("running") == true)
    take_over(hello);
  if (auto tell = std::exchange(ready_, nullptr))
    tell(session_);
}

/// An exec of an earlier daemon's runs: it has the session until it ends, whoever asked for it.
void sandbox_state::take_over(const fields& hello) {
  auto ticket = ++next_own_;
  request found{&spec_of(op::exec), {}, {}, {}};
  if (auto key = hello.text("running_key"); key && !key->empty())
    found.body.header.set("key", *key);
  auto what = std::make_shared<const request>(std::move(found));
  std::chrono::milliseconds left{hello.integer("running_ms_left").value_or(max_timeout_ms)};
  works_.emplace(ticket,
                 work{what, {}, now(), now(), now() + left + settings_.backstop, true, false, {}});
  queue_.add({ticket, {}, true, {}});
  queue_.take_startable();
  message x;
  x.header.set("op", "attach").set("re", ticket);
  self_->send(link_, send_atom::value, message_ptr{std::make_shared<message>(std::move(x))});
  rearm();
}

void sandbox_state::from_guest(message& x) {
  auto re = static_cast<ticket_id>(x.header.integer("re").value_or(0));
  if (auto i = pings_.find(re); i != pings_.end()) {
    i->second.promise.deliver(true);
    pings_.erase(i);
    return;
  }
  if (auto i = inputs_.find(re); i != inputs_.end()) {
    reply(i->second, re, std::move(x));
    inputs_.erase(i);
    return;
  }
  auto i = works_.find(re);
  if (i == works_.end() || !i->second.sent)
    return; // Answered already, or never asked.
  auto& w = i->second;
  if (x.header.has("ok"))
    return finish(re, std::move(x));
  if (x.header.text("event") == "started") {
    w.started = true; // The bridge is told of each exec, whether or not its client is.
    if (w.what->spec->id != op::exec && w.what->body.header.flag("stream") != true)
      return;
  }
  if (w.sink)
    self_->send(w.sink, data_atom::value, re, std::make_shared<message>(std::move(x)));
}

void sandbox_state::finish(ticket_id ticket, message x) {
  auto i = works_.find(ticket);
  auto w = std::move(i->second);
  works_.erase(i);
  queue_.finish(ticket);
  if (w.what->spec->id != op::result)
    used_at_ = now();
  if (w.what->spec->id == op::exec) {
    ++execs_;
    session_ = x.header.integer("session").value_or(session_);
    if (w.sent && x.header.flag("ok") == true) {
      x.header.set("queued_ms", in_ms(*w.sent - w.submitted).count());
      if (x.header.integer("exit_code") != 0)
        add_memory_kills(x.header);
    }
  }
  fields cancelled;
  cancelled.set("cancelled", x.header.flag("cancelled").value_or(false));
  reply(w.sink, ticket, std::move(x));
  for (auto& [asked, sink] : w.cancels)
    reply(sink, asked, make_reply(cancelled));
  start_waiting();
}

/// Tells an exec of the kills since the last one that was told of any.
void sandbox_state::add_memory_kills(fields& result) {
  auto memory = settings_.memory();
  if (!memory || memory->kills <= kills_)
    return;
  fields oom;
  oom.set("kills", memory->kills - kills_).set("limit", memory->limit).set("peak", memory->peak);
  kills_ = memory->kills;
  result.set("oom", oom);
}

void sandbox_state::reply(const answer_sink& sink, ticket_id ticket, message x) {
  if (!sink)
    return; // Nobody of ours asked for it.
  self_->send(sink, answer_atom::value, ticket,
              message_ptr{std::make_shared<message>(std::move(x))});
}

void sandbox_state::tick(uint64_t epoch) {
  if (!timer_.fired(epoch))
    return;
  auto t = now();
  if (auto due = next_due(); due && t - *due > settings_.lateness)
    forgive(t - *due);
  for (auto i = pings_.begin(); i != pings_.end();) {
    if (i->second.deadline > t) {
      ++i;
      continue;
    }
    i->second.promise.deliver(false);
    i = pings_.erase(i);
  }
  for (auto& [ticket, w] : works_)
    if (w.backstop && *w.backstop <= t)
      return lose("its guest no longer answers");
  for (auto ticket : queue_.take_expired(t)) {
    fields details;
    details.set("queued_ms", in_ms(t - works_.at(ticket).submitted).count());
    finish(ticket, make_reply(error{errc::busy, "queue_ms ran out before its turn came", details}));
  }
  rearm();
}

std::optional<time_point> sandbox_state::next_due() const {
  auto due = queue_.next_deadline();
  auto consider = [&](std::optional<time_point> x) {
    if (x && (!due || *x < *due))
      due = x;
  };
  for (auto& [ticket, w] : works_)
    consider(w.backstop);
  for (auto& [re, p] : pings_)
    consider(p.deadline);
  return due;
}

/// Moves what a guest has to keep: this process was stopped, and its answers may be waiting unread.
void sandbox_state::forgive(duration late) {
  for (auto& [ticket, w] : works_)
    if (w.backstop)
      w.backstop = std::max(*w.backstop + late, now() + settings_.backstop);
  for (auto& [re, p] : pings_)
    p.deadline = std::max(p.deadline + late, now() + settings_.ping_limit);
}

void sandbox_state::lose(std::string_view cause) {
  auto works = std::move(works_);
  works_.clear();
  for (auto& [ticket, w] : works) {
    auto started = !w.sent ? "false" : w.started ? "true" : "unknown";
    reply(w.sink, ticket, make_reply(lost(started, cause)));
  }
  end(works, lost("unknown", cause));
  self_->send_exit(link_, caf::exit_reason::kill);
  self_->quit(caf::exit_reason::remote_link_unreachable);
}

void sandbox_state::leave() {
  retired_ = true;
  auto works = std::move(works_);
  works_.clear();
  for (auto& [ticket, w] : works)
    reply(w.sink, ticket, make_reply(left_running(w.sent.has_value())));
  end(works, left_running(true));
  self_->quit(caf::exit_reason::user_shutdown);
}

/// Answers what goes with the requests that have just been answered.
void sandbox_state::end(const std::map<ticket_id, work>& works, const error& why) {
  for (auto& [ticket, w] : works)
    for (auto& [asked, sink] : w.cancels)
      reply(sink, asked, make_reply(fields{}.set("cancelled", false)));
  for (auto& [ticket, sink] : inputs_)
    reply(sink, ticket, make_reply(why));
  for (auto& [re, p] : pings_)
    p.promise.deliver(false);
}

} // namespace corral

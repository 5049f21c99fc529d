// The bridge's way to a sandbox: targets, retirement, cancels, input, uploads.

#include "bridge/bridge.hpp"

#include "actors/guest_protocol.hpp"

#include <algorithm>

namespace corral {

namespace {

constexpr int max_reroutes = 5; // Each one means that a sandbox was taken away under the request.

std::string key_of(const target& x) {
  return x.sandbox.empty() ? "t:" + x.user + ":" + x.thread : "s:" + x.sandbox;
}

target target_of(const request& r) {
  if (r.spec->id == op::cancel)
    return {r.body.header.text("sandbox").value_or(""), {}, {}, {}};
  // Asking for a result makes no sandbox.
  if (r.spec->id == op::result && !r.to.thread.empty())
    return {sandbox_id_of({r.to.user, r.to.thread}), {}, {}, {}};
  return r.to;
}

} // namespace

void bridge::route_request(ticket_id ticket) {
  auto& c = open_.find(ticket)->context;
  auto key = key_of(target_of(*c.what));
  auto& x = routes_[key];
  if (x.sandbox && is_elsewhere(ticket, x))
    return;
  if (x.sandbox) {
    c.origin = "active";
    c.subject = x.subject;
    return forward(ticket, x);
  }
  // In the order sent, also where a retired sandbox has sent some back.
  x.waiting.insert(std::upper_bound(x.waiting.begin(), x.waiting.end(), ticket), ticket);
  if (x.waiting.size() == 1)
    resolve(key, *c.what, open_.find(ticket)->client);
}

/// True if the request names another pool than the one that its thread lives in, and is answered.
bool bridge::is_elsewhere(ticket_id ticket, const route& x) {
  auto& wanted = open_.find(ticket)->context.what->to.pool;
  if (wanted.empty() || wanted == x.pool)
    return false;
  answer(ticket, error{errc::identity_collision,
                       "the thread's sandbox is in the pool \"" + x.pool + "\"",
                       {}});
  return true;
}

void bridge::resolve(const std::string& key, const corral::request& r, const client_key& client) {
  auto done = [this, key](const grant& g) { resolved(key, g); };
  auto failed = [this, key](const caf::error& x) {
    unresolved(key, from_caf(x, error{errc::internal, "the provider failed", {}}));
  };
  auto to = target_of(r);
  if (to.sandbox.empty())
    request(provider_, caf::infinite, acquire_atom::value,
            acquire_order{{to.user, to.thread}, {}, false, {}, to.pool, client})
        .then(done, failed);
  else
    request(provider_, caf::infinite, find_atom::value, to.sandbox).then(done, failed);
}

void bridge::resolved(const std::string& key, const grant& g) {
  remember(key, g);
  routes_[key].subject = subject_of(g);
  auto to = routes_[key];
  for (auto ticket : std::exchange(routes_[key].waiting, {}))
    if (auto e = open_.find(ticket)) {
      e->context.origin = g.origin;
      e->context.subject = to.subject;
      if (!is_elsewhere(ticket, to))
        forward(ticket, to);
    }
}

void bridge::unresolved(const std::string& key, const error& why) {
  auto waiting = std::move(routes_[key].waiting);
  routes_.erase(key);
  for (auto ticket : waiting) {
    auto e = open_.find(ticket);
    if (e && !answer_of_ended(ticket, route{{}, target_of(*e->context.what).sandbox, {}, {}}))
      answer(ticket, why);
  }
}

void bridge::remember(const std::string& key, const grant& g) {
  auto& r = routes_[key];
  if (r.sandbox == g.sandbox)
    return;
  r.sandbox = g.sandbox;
  r.id = g.id;
  r.pool = g.pool;
  if (monitored_.insert(g.sandbox.address()).second)
    monitor(g.sandbox);
}

void bridge::forward(ticket_id ticket, const route& to) {
  auto& e = *open_.find(ticket);
  auto& c = e.context;
  if (answer_of_ended(ticket, to))
    return;
  c.sandbox = to.sandbox;
  c.box = to.id;
  answer_sink me{this};
  if (c.what->spec->id == op::cancel)
    return super::send(c.sandbox, cancel_atom::value, ticket, ticket_id{0}, me);
  if (is_streamed_write(*c.what))
    c.upload_left = *c.what->body.header.integer("size");
  super::send(c.sandbox, submit_atom::value, submission{ticket, e.client, c.what}, me);
}

/// The sandbox had retired before the request reached it: the next one takes it.
void bridge::reroute(ticket_id ticket) {
  auto e = open_.find(ticket);
  if (!e)
    return;
  auto& c = e->context;
  auto key = key_of(target_of(*c.what));
  if (auto i = routes_.find(key); i != routes_.end() && i->second.sandbox == c.sandbox)
    routes_.erase(i);
  c.sandbox = nullptr;
  if (++c.reroutes > max_reroutes)
    return answer(ticket, lost("false", "it was taken away again and again"));
  route_request(ticket);
}

/// Answers a cancel or input whose sandbox has ended.
void bridge::nothing_runs(ticket_id ticket) {
  if (open_.find(ticket)->context.what->spec->id == op::cancel)
    return answer(ticket, make_reply(fields{}.set("cancelled", false)));
  answer(ticket, error{errc::invalid_request, "input: no such exec is running", {}});
}

void bridge::ended(const caf::down_msg& x) {
  monitored_.erase(x.source);
  if (x.source == provider_.address()) {
    observe_("provider ended", fields{}.set("reason", caf::to_string(x.reason)));
    return;
  }
  for (auto i = routes_.begin(); i != routes_.end();)
    i = i->second.sandbox && i->second.sandbox.address() == x.source ? routes_.erase(i)
                                                                     : std::next(i);
  auto left = open_.tickets_if(
      [&](auto& e) { return e.context.sandbox && e.context.sandbox.address() == x.source; });
  for (auto ticket : left)
    if (!open_.find(ticket)->context.what->spec->in_guest)
      nothing_runs(ticket);
    else if (x.reason == caf::exit_reason::user_shutdown)
      reroute(ticket);
    else
      answer(ticket, lost("unknown", "it was lost before it could answer"));
}

void bridge::cancel(ticket_id ticket) {
  auto& e = *open_.find(ticket);
  auto& h = e.context.what->body.header;
  if (h.has("sandbox") == h.has("request"))
    return answer(
        ticket, error{errc::invalid_request, "cancel: give either \"request\" or \"sandbox\"", {}});
  if (h.has("sandbox"))
    return route_request(ticket);
  auto target = open_.find(e.client, *h.text("request"));
  auto found = target != 0 ? open_.find(target) : nullptr;
  auto is_exec = found && found->context.what->spec->id == op::exec;
  if (is_exec && found->context.sandbox) {
    e.context.sandbox = found->context.sandbox;
    return super::send(e.context.sandbox, cancel_atom::value, ticket, target, answer_sink{this});
  }
  // Not yet with a sandbox: it will never start.
  if (is_exec)
    answer(target, cancelled_before_start(std::chrono::duration_cast<std::chrono::milliseconds>(
                       now() - found->context.arrived)));
  answer(ticket, make_reply(fields{}.set("cancelled", is_exec)));
}

void bridge::input(ticket_id ticket) {
  auto& e = *open_.find(ticket);
  auto target = open_.find(e.client, *e.context.what->body.header.text("request"));
  auto found = target != 0 ? open_.find(target) : nullptr;
  if (!found || !found->context.sandbox)
    return answer(ticket, error{errc::invalid_request, "input: no such exec is running", {}});
  e.context.sandbox = found->context.sandbox;
  super::send(e.context.sandbox, send_atom::value, ticket, target,
              std::make_shared<message>(e.context.what->body), answer_sink{this});
}

void bridge::upload(ticket_id ticket, const corral::request& r) {
  auto& c = open_.find(ticket)->context;
  auto piece = r.body.part_of("");
  auto size = static_cast<int64_t>(piece.size());
  auto in_order = *r.body.header.integer("seq") == c.upload_seq;
  if (!c.sandbox || !in_order || size > std::min(c.upload_left, c.upload_credit)
      || piece.size() > max_frame_payload)
    return abandon(ticket,
                   error{errc::invalid_request,
                         "data: it must follow credit, in order of seq, in pieces of at most "
                         "256 KiB, and add up to the stated size",
                         {}});
  c.upload_left -= size;
  c.upload_credit -= size;
  ++c.upload_seq;
  auto last = c.upload_left == 0;
  if (r.body.header.flag("eof") == true && !last)
    return abandon(
        ticket,
        error{errc::invalid_request, "data: it ended before the stated size was reached", {}});
  super::send(c.sandbox, data_atom::value, ticket, piece, last);
}

/// Answers a request and stops the work on it.
void bridge::abandon(ticket_id ticket, const error& why) {
  auto sandbox = open_.find(ticket)->context.sandbox;
  answer(ticket, why);
  if (sandbox)
    super::send(sandbox, cancel_atom::value, ticket_id{0}, ticket, answer_sink{this});
}

} // namespace corral

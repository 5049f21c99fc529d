// The bridge's way back to its clients: answers, events, and what waits for a client to take them.

#include "bridge/bridge.hpp"

#include <malloc.h>

namespace corral {

void bridge::answer(ticket_id ticket, message reply) {
  auto e = open_.take(ticket);
  if (!e)
    return; // Answered already.
  auto& c = e->context;
  reply.header.set("re", e->id);
  if (c.what->spec->id == op::exec && !c.origin.empty() && reply.header.flag("ok") == true)
    reply.header.set("origin", c.origin);
  if (c.what->spec->id == op::exec)
    retain(*e, reply);
  latency_[c.what->spec->name].record(now() - c.arrived);
  if (auto failed = reply.header.object("error"))
    ++errors_[failed->text("code").value_or("")];
  exec_finished(*e, reply.header);
  if (auto to = clients_.route_of(c.routing_id, e->client, sender_of(c)))
    send(*to, c.from_req_socket, std::move(reply));
}

void bridge::event(ticket_id ticket, const message_ptr& x) {
  auto e = open_.find(ticket);
  if (!e)
    return;
  auto& c = e->context;
  if (x->header.text("event") == "started") {
    exec_started(*e);
    if (c.what->body.header.flag("stream") != true)
      return; // Told for the daemon's own events only.
  }
  auto is_chunk = c.what->spec->file && x->header.text("event") == "chunk";
  auto is_credit = x->header.text("event") == "credit";
  if (c.from_req_socket) {
    if (is_chunk || is_credit)
      abandon(ticket, error{errc::file_too_large,
                            "a transfer of that size needs a DEALER socket; ask for a range",
                            {}});
    return; // A REQ socket takes one message a request.
  }
  if (is_credit)
    c.upload_credit += x->header.integer("bytes").value_or(0);
  x->header.set("re", e->id);
  for (auto& p : x->parts)
    p.name.clear(); // An event's payload needs no description.
  auto to = clients_.route_of(c.routing_id, e->client, sender_of(c));
  auto sent = to && send(*to, false, std::move(*x), is_chunk ? ticket : 0);
  if (!sent && is_chunk) // The guest would wait for a credit that never comes.
    abandon(ticket, error{errc::queue_full, "the client does not take its replies", {}});
}

void bridge::taken(ticket_id ticket, uint64_t bytes) {
  super::context(&unit());
  for (auto& routing_id : std::set{backlogged_})
    go_on_sending(routing_id);
  auto e = open_.find(ticket);
  if (e && e->context.sandbox)
    super::send(e->context.sandbox, credit_atom::value, ticket, bytes, int64_t{-1});
}

bool bridge::send(const std::string& routing_id, bool delimiter, message x, uint64_t tag) {
  auto client = clients_.find(routing_id);
  if (!client || client->forgotten)
    return false;
  auto payload = x.encode_payload();
  zmq_loop::outgoing out{routing_id,         delimiter,       std::move(x).encode_header(),
                         std::move(payload), client->account, tag};
  auto under_way = client->account->queued.load();
  if (client->backlog.empty() && under_way <= settings_.replies.under_way)
    return loop_.send(std::move(out));
  client->backlog.push(std::move(out), under_way, now());
  backlogged_.insert(routing_id);
  go_on_sending(routing_id);
  return !client->forgotten;
}

/// Gives libzmq what it has room for.
void bridge::go_on_sending(const std::string& routing_id) {
  auto client = clients_.find(routing_id);
  if (!client)
    return static_cast<void>(backlogged_.erase(routing_id));
  auto& [queued, awaited] = *client->account;
  awaited = true; // Before the first look at the count, so that no change after it is missed.
  while (auto next = client->backlog.take(settings_.replies, queued, now()))
    loop_.send(std::move(*next));
  if (client->backlog.hopeless(settings_.replies, queued, now()))
    forget(*client);
  if (!client->backlog.empty())
    return;
  awaited = false;
  backlogged_.erase(routing_id);
}

void bridge::forget(client_registry::client& x) {
  fields about;
  about.set("client", x.name).set("queued_bytes", x.account->queued + x.backlog.bytes());
  observe_("client forgotten", about);
  x.forgotten = true;
  x.backlog.take_all();
  ::malloc_trim(0); // Rare, and what was freed may be a hundred times what the daemon needs.
}

/// The last replies of a shutdown don't wait: the daemon would be gone before they are taken.
void bridge::on_exit() {
  for (auto& routing_id : std::exchange(backlogged_, {}))
    if (auto client = clients_.find(routing_id))
      for (auto& x : client->backlog.take_all())
        loop_.send(std::move(x));
}

} // namespace corral

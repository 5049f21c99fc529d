// The bridge's memory of results, for clients that ask again after a connection or a sandbox has
// gone.

#include "bridge/bridge.hpp"

#include <algorithm>
#include <functional>

namespace corral {

namespace {

/// Names the sandbox's actor within a kept reply: a later sandbox of the same id knows nothing of
/// its keys.
constexpr auto incarnation = "incarnation";

/// Tells the command that the key was used for from another.
constexpr auto digest = "digest";

int64_t digest_of(const request& r) {
  std::hash<std::string_view> hash;
  auto command = hash(r.body.part_of("command").view());
  return static_cast<int64_t>(command * 31 + hash(r.body.part_of("stdin").view()));
}

std::string joined(std::string_view a, std::string_view b) {
  return std::string{a}.append(1, '\0').append(b);
}

/// False only if it is certain that the command never ran.
bool may_have_started(const message& reply) {
  if (reply.header.flag("ok") == true)
    return reply.header.has("session"); // Else it was cancelled in the queue.
  auto why = reply.header.object("error").value_or(fields{});
  auto details = why.object("details").value_or(fields{});
  return why.text("code") == to_string(errc::sandbox_lost) && details.flag("started") != false;
}

/// Without what was not asked for.
message wanted(message kept, const fields& asked) {
  if (auto want = asked.texts("want"))
    std::erase_if(kept.parts, [&](auto& p) {
      return std::find(want->begin(), want->end(), p.name) == want->end();
    });
  return kept;
}

/// A kept reply as the answer to `result`.
message as_result(message kept, const fields& asked) {
  if (kept.header.flag("ok") == true)
    kept.header.set("state", "finished");
  return wanted(std::move(kept), asked);
}

} // namespace

void bridge::retain(const requests::entry& e, const message& reply) {
  auto& c = e.context;
  auto key = c.what->body.header.text("key");
  if (key && c.sandbox && may_have_started(reply)) {
    auto kept = reply;
    kept.header.set(incarnation, static_cast<int64_t>(c.sandbox.id()));
    kept.header.set(digest, digest_of(*c.what));
    keyed_.keep(joined(c.box, *key), kept, now());
  }
  if (client_registry::is_named(e.client))
    recent_.keep(joined(e.client, e.id), reply, now());
}

/// Answers for a key that an earlier sandbox of the same owner has used up: this one would run the
/// command a second time.
bool bridge::answer_of_ended(ticket_id ticket, const route& to) {
  auto& what = *open_.find(ticket)->context.what;
  auto key = what.body.header.text("key");
  if (!key || (what.spec->id != op::exec && what.spec->id != op::result))
    return false;
  auto kept = keyed_.find(joined(to.id, *key), now());
  auto living = to.sandbox ? static_cast<int64_t>(to.sandbox.id()) : 0;
  if (!kept || kept->header.integer(incarnation) == living)
    return false;
  auto same = kept->header.integer(digest) == digest_of(what);
  kept->header.erase(incarnation).erase(digest);
  if (what.spec->id == op::result)
    answer(ticket, as_result(std::move(*kept), what.body.header));
  else if (same)
    answer(ticket, wanted(std::move(*kept), what.body.header));
  else
    answer(ticket, error{errc::invalid_request, "exec: this key was used for another command", {}});
  return true;
}

void bridge::result(ticket_id ticket) {
  auto& e = *open_.find(ticket);
  auto& r = *e.context.what;
  auto& h = r.body.header;
  if (r.to.empty() == h.has("key") || h.has("key") == h.has("request"))
    return answer(ticket, error{errc::invalid_request,
                                "result: give \"key\" with its \"sandbox\" or \"thread\", or the "
                                "\"request\" of an exec of yours",
                                {}});
  if (h.has("key"))
    return route_request(ticket);
  auto id = *h.text("request");
  if (auto open = open_.find(e.client, id); open != 0 && open != ticket)
    return answer(ticket, make_reply(fields{}.set("state", "running")));
  auto kept = recent_.find(joined(e.client, id), now());
  answer(ticket,
         kept ? as_result(std::move(*kept), h) : make_reply(fields{}.set("state", "not_found")));
}

} // namespace corral

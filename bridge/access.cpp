// Who may do what: every request of a principal that is not the socket's passes here.

#include "bridge/bridge.hpp"

#include "actors/guest_protocol.hpp"
#include "messages/wire/owner.hpp"

namespace corral {

/// What the sender of a message may not be answered otherwise than with; nothing if it is welcome.
std::optional<error> bridge::unwelcome(const std::string& routing_id, const principal* who) const {
  constexpr size_t generated_size = 5; // As libzmq makes them: a NUL and a number.
  if (!who)
    return error{errc::unauthorized, "this key is not in the daemon's configuration any more", {}};
  // Whoever took the routing id of a client that has just gone would get the replies to it.
  auto generated = routing_id.size() == generated_size && routing_id[0] == '\0';
  if (settings_.who.has_keys() && !generated)
    return error{errc::invalid_request,
                 "this daemon serves several principals: connect without a routing id (identity) "
                 "of your own",
                 {}};
  return std::nullopt;
}

/// True if the request may go on at once. Else it has been answered, or goes on when its sandbox's
/// owner is known.
bool bridge::permitted(ticket_id ticket) {
  auto& c = open_.find(ticket)->context;
  if (c.who->is_unlimited())
    return true;
  if (auto may = principals::check(*c.who, *c.what); !may) {
    answer(ticket, may.error());
    return false;
  }
  auto id = principals::named_sandbox(*c.what);
  if (id.empty() || !c.who->users)
    return true;
  if (!is_sandbox_id(id)) {
    // A prefix would tell whether another's sandbox has it too.
    answer(ticket, error{errc::invalid_request,
                         "with this key a sandbox is named by all 16 digits of its id",
                         {}});
    return false;
  }
  if (auto known = routes_.find("s:" + id); known != routes_.end() && known->second.subject)
    return is_its_own(ticket, known->second.subject->text("user").value_or(""));
  request(provider_, caf::infinite, owner_atom::value, id)
      .then(
          [this, ticket](const owner& x) {
            if (open_.find(ticket) && is_its_own(ticket, x.user))
              dispatch(ticket);
          },
          [this, ticket](const caf::error&) {
            if (open_.find(ticket))
              deny_knowledge(ticket);
          });
  return false;
}

bool bridge::is_its_own(ticket_id ticket, const std::string& user) {
  if (open_.find(ticket)->context.who->may_name(user))
    return true;
  deny_knowledge(ticket);
  return false;
}

/// Answers as if there were no sandbox of that id.
void bridge::deny_knowledge(ticket_id ticket) {
  if (open_.find(ticket)->context.what->spec->id == op::get)
    return answer(ticket, make_reply(fields{}.set("found", false)));
  answer(ticket, unknown_sandbox());
}

/// Where this client may subscribe to events: to those of everyone, or to none.
std::string bridge::events_for(const principal& who) const {
  if (who.name == principals::ipc)
    return settings_.events;
  return who.users ? "" : settings_.tcp_events;
}

} // namespace corral

#include "bridge/client_registry.hpp"

namespace corral {

namespace {

/// What a principal's keys start with. Neither names of principals nor of clients hold a NUL, so no
/// client can claim the key of a connection or of another principal's.
std::string prefix_of(const std::string& principal) {
  return principal.empty() ? "" : principal + '\0';
}

} // namespace

client_registry::client* client_registry::touch(const std::string& routing_id, time_point now,
                                                const std::string& principal) {
  auto [i, fresh] = clients_.try_emplace(routing_id);
  auto& x = i->second;
  if (fresh) {
    x.key = prefix_of(principal) + '\0' + routing_id;
    x.principal = principal;
  }
  if (x.principal != principal)
    return nullptr;
  x.seen = now;
  return &x;
}

client_registry::client* client_registry::find(const std::string& routing_id) {
  auto i = clients_.find(routing_id);
  return i != clients_.end() ? &i->second : nullptr;
}

std::optional<std::string> client_registry::route_of(const std::string& routing_id,
                                                     const std::string& key,
                                                     const std::string& principal) const {
  auto asked = clients_.find(routing_id);
  auto there = asked != clients_.end();
  if (there && asked->second.principal != principal)
    return std::nullopt;
  if (there && asked->second.key == key)
    return routing_id;
  for (auto& [other, x] : clients_)
    if (x.key == key)
      return other;
  // Before its hello; or the last words of a connection that another has taken the place of.
  return there ? std::optional{routing_id} : std::nullopt;
}

result<void> client_registry::hello(const std::string& routing_id, const std::string& name,
                                    const std::string& instance, duration heartbeat,
                                    time_point now) {
  auto found = clients_.find(routing_id);
  auto principal = found != clients_.end() ? found->second.principal : std::string{};
  for (auto& [other, x] : clients_) {
    if (other == routing_id || name.empty() || x.name != name || x.instance == instance
        || x.principal != principal)
      continue;
    // Without heartbeats there is no telling whether it lives, so it can't keep the name.
    if (may_lease(x) && now - x.seen < 3 * x.heartbeat)
      return failure(errc::busy,
                     "another live client is called \"" + name + "\"; choose a name of your own");
  }
  auto& me = *touch(routing_id, now, principal);
  me.name = name;
  me.instance = instance;
  me.heartbeat = heartbeat;
  me.forgotten = false;
  if (name.empty())
    return {};
  auto key = me.key = prefix_of(principal) + name + '\0' + instance;
  // Else the silence of a connection that is gone would end the leases of the one that is there.
  std::erase_if(clients_, [&](auto& x) { return x.second.key == key && x.first != routing_id; });
  return {};
}

} // namespace corral

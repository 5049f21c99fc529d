#include "bridge/client_registry.hpp"

namespace corral {

client_registry::client& client_registry::touch(const std::string& routing_id, time_point now) {
  auto [i, fresh] = clients_.try_emplace(routing_id);
  if (fresh) {
    // No name starts with a NUL, so no client can claim a connection's key.
    i->second.key = std::string{"\0", 1} + routing_id;
  }
  i->second.seen = now;
  return i->second;
}

client_registry::client* client_registry::find(const std::string& routing_id) {
  auto i = clients_.find(routing_id);
  return i != clients_.end() ? &i->second : nullptr;
}

std::optional<std::string> client_registry::route_of(const std::string& routing_id,
                                                     const std::string& key) const {
  if (clients_.contains(routing_id))
    return routing_id;
  for (auto& [other, x] : clients_)
    if (x.key == key)
      return other;
  return std::nullopt;
}

result<void> client_registry::hello(const std::string& routing_id, const std::string& name,
                                    const std::string& instance, duration heartbeat,
                                    time_point now) {
  for (auto& [other, x] : clients_) {
    if (other == routing_id || name.empty() || x.name != name || x.instance == instance)
      continue;
    // Without heartbeats there is no telling whether it lives, so it can't keep the name.
    if (may_lease(x) && now - x.seen < 3 * x.heartbeat)
      return failure(errc::busy,
                     "another live client is called \"" + name + "\"; choose a name of your own");
  }
  auto& me = touch(routing_id, now);
  me.name = name;
  me.instance = instance;
  me.heartbeat = heartbeat;
  me.forgotten = false;
  if (name.empty())
    return {};
  auto key = me.key = name + '\0' + instance;
  // Else the silence of a connection that is gone would end the leases of the one that is there.
  std::erase_if(clients_, [&](auto& x) { return x.second.key == key && x.first != routing_id; });
  return {};
}

} // namespace corral

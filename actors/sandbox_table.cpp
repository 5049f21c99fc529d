#include "actors/sandbox_table.hpp"

#include "actors/guest_protocol.hpp"

#include <algorithm>

namespace corral {

sandbox_slot& sandbox_table::add(std::string id, owner who, bool anonymous) {
  ended_.erase(id);
  auto& slot = slots_[id];
  slot.id = std::move(id);
  slot.who = std::move(who);
  slot.anonymous = anonymous;
  return slot;
}

void sandbox_table::erase(const std::string& id, owner who, time_point now) {
  if (slots_.erase(id) > 0)
    ended_[id] = {now, std::move(who)};
}

sandbox_slot* sandbox_table::find(const std::string& id) {
  auto i = slots_.find(id);
  return i != slots_.end() ? &i->second : nullptr;
}

sandbox_slot* sandbox_table::find(const caf::actor_addr& actor) {
  auto i = std::find_if(slots_.begin(), slots_.end(), [&](auto& item) {
    return item.second.actor && item.second.actor.address() == actor;
  });
  return i != slots_.end() ? &i->second : nullptr;
}

result<sandbox_slot*> sandbox_table::resolve(const std::string& id_or_prefix) {
  if (id_or_prefix.size() < min_id_prefix)
    return failure(errc::invalid_request, "a sandbox is named by at least "
                                              + std::to_string(min_id_prefix)
                                              + " digits of its id");
  auto first = slots_.lower_bound(id_or_prefix);
  if (first != slots_.end() && first->first.starts_with(id_or_prefix)) {
    auto second = std::next(first);
    if (first->first != id_or_prefix && second != slots_.end()
        && second->first.starts_with(id_or_prefix))
      return failure(errc::invalid_request, "more than one sandbox id starts with these digits");
    return &first->second;
  }
  auto ended = ended_.lower_bound(id_or_prefix);
  if (ended != ended_.end() && ended->first.starts_with(id_or_prefix))
    return failure(errc::sandbox_lost, "the sandbox has ended", fields{}.set("started", false));
  return tl::unexpected{unknown_sandbox()};
}

std::optional<owner> sandbox_table::owner_of(const std::string& id) const {
  if (auto i = slots_.find(id); i != slots_.end())
    return i->second.who;
  if (auto i = ended_.find(id); i != ended_.end())
    return i->second.who;
  return std::nullopt;
}

size_t sandbox_table::occupied() const {
  return static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(),
                                           [](auto& item) { return item.second.is_there(); }));
}

size_t sandbox_table::occupied_by(const std::string& user) const {
  return static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [&](auto& item) {
    return item.second.is_there() && item.second.who.user == user;
  }));
}

void sandbox_table::forget_ended(time_point now) {
  std::erase_if(ended_, [&](auto& item) { return now - item.second.at >= memory_of_ended; });
}

std::string_view to_string(sandbox_slot::phase x) {
  switch (x) {
  case sandbox_slot::phase::waiting:
  case sandbox_slot::phase::starting:
    return "starting";
  case sandbox_slot::phase::ending:
    return "ending";
  default:
    return "ready";
  }
}

} // namespace corral

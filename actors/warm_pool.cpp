#include "actors/warm_pool.hpp"

#include <algorithm>

namespace corral {

void warm_pool::add(const std::string& id, time_point now) {
  if (slots_.contains(id))
    return;
  slots_[id] = order_.insert(order_.begin(), {id, time_point::min(), true});
  touch(id, now);
}

void warm_pool::erase(const std::string& id) {
  auto i = slots_.find(id);
  if (i == slots_.end())
    return;
  warm_ -= i->second->active ? 0 : 1;
  order_.erase(i->second);
  slots_.erase(i);
}

void warm_pool::set_active(const std::string& id, bool active) {
  auto i = slots_.find(id);
  if (i == slots_.end() || i->second->active == active)
    return;
  i->second->active = active;
  active ? --warm_ : ++warm_;
}

void warm_pool::touch(const std::string& id, time_point at) {
  auto i = slots_.find(id);
  if (i == slots_.end() || i->second->used_at > at)
    return;
  i->second->used_at = at;
  // Most touches are the newest yet, so the search from the back is short.
  auto place = order_.end();
  while (place != order_.begin() && std::prev(place)->used_at > at)
    --place;
  order_.splice(place, order_, i->second);
}

void warm_pool::shift(duration delay) {
  for (auto& x : order_)
    x.used_at += delay;
}

std::optional<std::string>
warm_pool::least_recently_used(const std::vector<std::string>& except) const {
  for (auto& x : order_)
    if (!x.active && std::find(except.begin(), except.end(), x.id) == except.end())
      return x.id;
  return std::nullopt;
}

std::vector<std::string> warm_pool::expired(time_point now, duration warm_limit,
                                            duration active_limit) const {
  std::vector<std::string> result;
  for (auto& x : order_) {
    auto limit = x.active ? active_limit : warm_limit;
    if (limit > duration::zero() && now - x.used_at >= limit)
      result.push_back(x.id);
  }
  return result;
}

std::optional<warm_pool::time_point> warm_pool::used_at(const std::string& id) const {
  auto i = slots_.find(id);
  return i != slots_.end() ? std::optional{i->second->used_at} : std::nullopt;
}

std::vector<std::string> warm_pool::in_order() const {
  std::vector<std::string> result;
  for (auto& x : order_)
    result.push_back(x.id);
  return result;
}

} // namespace corral

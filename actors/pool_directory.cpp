#include "actors/pool_directory.hpp"

namespace corral {

result<size_t> pool_directory::ask(const std::string& id, std::optional<size_t> wanted) {
  auto i = entries_.find(id);
  if (i == entries_.end())
    i = entries_.emplace(id, entry{wanted.value_or(0), false, 0}).first;
  else if (wanted && *wanted != i->second.pool)
    return failure(errc::identity_collision, "the thread's sandbox is in another pool");
  ++i->second.asked;
  return i->second.pool;
}

void pool_directory::answered(const std::string& id) {
  auto i = entries_.find(id);
  if (i != entries_.end() && --i->second.asked == 0 && !i->second.there)
    entries_.erase(i);
}

void pool_directory::there(const std::string& id, size_t pool) {
  auto& x = entries_[id];
  x.pool = pool;
  x.there = true;
  ended_.erase(id);
}

void pool_directory::gone(const std::string& id, size_t pool, time_point now) {
  auto i = entries_.find(id);
  if (i == entries_.end() || i->second.pool != pool || !i->second.there)
    return;
  ended_[id] = {pool, now};
  i->second.there = false;
  if (i->second.asked == 0)
    entries_.erase(i);
}

result<size_t> pool_directory::find(const std::string& id_or_prefix) const {
  auto fits = [&](auto i, auto& map) {
    return i != map.end() && i->first.starts_with(id_or_prefix);
  };
  auto first = entries_.lower_bound(id_or_prefix);
  if (fits(first, entries_)) {
    for (auto i = first; fits(i, entries_) && first->first != id_or_prefix; ++i)
      if (i->second.pool != first->second.pool)
        return failure(errc::invalid_request, "more than one sandbox id starts with these digits");
    return first->second.pool;
  }
  auto last = ended_.lower_bound(id_or_prefix);
  return fits(last, ended_) ? last->second.pool : 0;
}

void pool_directory::forget_ended(time_point now) {
  std::erase_if(ended_, [&](auto& item) { return now - item.second.at >= memory_of_ended; });
}

} // namespace corral

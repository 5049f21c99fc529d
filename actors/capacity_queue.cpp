#include "actors/capacity_queue.hpp"

#include <algorithm>

namespace corral {

std::list<capacity_queue::line>::iterator capacity_queue::line_of(const std::string& client) {
  return std::find_if(lines_.begin(), lines_.end(), [&](auto& x) { return x.client == client; });
}

void capacity_queue::add(const std::string& client, const std::string& id) {
  auto i = line_of(client);
  if (i == lines_.end())
    lines_.push_back({client, {id}});
  else
    i->ids.push_back(id);
}

void capacity_queue::put_back(const std::string& client, const std::string& id) {
  auto i = line_of(client);
  if (i == lines_.end()) {
    lines_.push_front({client, {id}});
    return;
  }
  i->ids.push_front(id);
  lines_.splice(lines_.begin(), lines_, i);
}

std::optional<std::string>
capacity_queue::take(const std::function<bool(const std::string& id)>& can_go) {
  for (auto i = lines_.begin(); i != lines_.end(); ++i) {
    auto at = std::find_if(i->ids.begin(), i->ids.end(), can_go);
    if (at == i->ids.end())
      continue;
    auto id = std::move(*at);
    i->ids.erase(at);
    if (i->ids.empty())
      lines_.erase(i);
    else
      lines_.splice(lines_.end(), lines_, i);
    return id;
  }
  return std::nullopt;
}

void capacity_queue::erase(const std::string& id) {
  for (auto i = lines_.begin(); i != lines_.end(); ++i) {
    auto at = std::find(i->ids.begin(), i->ids.end(), id);
    if (at == i->ids.end())
      continue;
    i->ids.erase(at);
    if (i->ids.empty())
      lines_.erase(i);
    return;
  }
}

std::optional<size_t> capacity_queue::position(const std::string& id) const {
  auto found = lines_.end();
  size_t round = 0;
  for (auto i = lines_.begin(); i != lines_.end() && found == lines_.end(); ++i)
    if (auto at = std::find(i->ids.begin(), i->ids.end(), id); at != i->ids.end()) {
      found = i;
      round = static_cast<size_t>(at - i->ids.begin());
    }
  if (found == lines_.end())
    return std::nullopt;
  auto before = round;
  auto is_earlier = true;
  for (auto i = lines_.begin(); i != lines_.end(); ++i) {
    if (i == found)
      is_earlier = false;
    else
      before += std::min(i->ids.size(), round + (is_earlier ? 1 : 0));
  }
  return before;
}

void capacity_queue::freed(time_point now) {
  if (last_freed_) {
    auto interval = now - *last_freed_;
    between_ = between_ ? (3 * *between_ + interval) / 4 : interval;
  }
  last_freed_ = now;
}

std::chrono::milliseconds capacity_queue::estimate(size_t position) const {
  using std::chrono::milliseconds;
  auto each = std::chrono::duration_cast<milliseconds>(between_.value_or(std::chrono::seconds{1}));
  auto turns = static_cast<int64_t>(std::min<size_t>(position, 10'000)) + 1;
  return std::clamp(each * turns, milliseconds{100}, milliseconds{60'000});
}

size_t capacity_queue::size() const {
  size_t result = 0;
  for (auto& x : lines_)
    result += x.ids.size();
  return result;
}

} // namespace corral

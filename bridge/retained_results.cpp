#include "bridge/retained_results.hpp"

#include <utility>

namespace corral {

void retained_results::keep(const std::string& name, const message& reply, time_point now) {
  erase(name);
  expire(now);
  if (entries_.size() >= limits_.count)
    erase(std::string{order_.front()});
  entry x;
  x.header = reply.header.dump();
  for (auto& p : reply.parts) {
    auto fits = p.data.size() <= limits_.part_bytes;
    // A copy: what came from a guest may be a slice of a much larger buffer.
    x.parts.push_back({p.name, fits ? blob::copy_of(p.data.view()) : blob{}});
    x.bytes += x.parts.back().data.size();
    x.truncated = x.truncated || !fits;
  }
  x.expires = now + limits_.ttl;
  memory_ += x.bytes;
  order_.push_back(name);
  x.place = std::prev(order_.end());
  if (whole_ == order_.end())
    whole_ = x.place;
  entries_.emplace(name, std::move(x));
  for (; memory_ > limits_.memory && whole_ != order_.end(); ++whole_)
    shorten(entries_.find(*whole_)->second);
}

void retained_results::shorten(entry& x) {
  if (x.bytes == 0)
    return;
  memory_ -= std::exchange(x.bytes, 0);
  for (auto& p : x.parts)
    p.data = {};
  x.truncated = true;
}

std::optional<message> retained_results::find(const std::string& name, time_point now) {
  expire(now);
  auto i = entries_.find(name);
  if (i == entries_.end())
    return std::nullopt;
  auto& x = i->second;
  message reply{fields::parse(x.header).value_or(fields{}), x.parts};
  if (x.truncated)
    reply.header.set("truncated", true);
  return reply;
}

void retained_results::erase(const std::string& name) {
  auto i = entries_.find(name);
  if (i == entries_.end())
    return;
  memory_ -= i->second.bytes;
  if (whole_ == i->second.place)
    ++whole_;
  order_.erase(i->second.place);
  entries_.erase(i);
}

void retained_results::erase_all(const std::string& prefix) {
  for (auto i = entries_.lower_bound(prefix); i != entries_.end() && i->first.starts_with(prefix);
       i = entries_.lower_bound(prefix))
    erase(std::string{i->first});
}

void retained_results::expire(time_point now) {
  while (!order_.empty() && entries_.find(order_.front())->second.expires <= now)
    erase(std::string{order_.front()});
}

} // namespace corral

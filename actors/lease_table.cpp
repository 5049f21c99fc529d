#include "actors/lease_table.hpp"

#include <algorithm>

namespace corral {

void lease_table::add(lease x) {
  ++by_sandbox_[x.sandbox];
  auto id = x.id;
  leases_.emplace(std::move(id), std::move(x));
}

template <class Predicate>
std::vector<lease_table::lease> lease_table::take_if(Predicate pred) {
  std::vector<lease> result;
  std::erase_if(leases_, [&](auto& item) {
    if (!pred(item.second))
      return false;
    result.push_back(item.second);
    return true;
  });
  for (auto& x : result)
    if (--by_sandbox_[x.sandbox] == 0)
      by_sandbox_.erase(x.sandbox);
  return result;
}

std::optional<lease_table::lease>
lease_table::release(const std::string& client, const std::string& sandbox, const std::string& id) {
  auto matches = [&](const lease& x) {
    return x.client == client && x.sandbox == sandbox && (id.empty() || x.id == id);
  };
  auto candidates = std::count_if(leases_.begin(), leases_.end(),
                                  [&](auto& item) { return matches(item.second); });
  if (candidates != 1)
    return std::nullopt;
  return take_if(matches).front();
}

std::vector<lease_table::lease> lease_table::release_client(const std::string& client) {
  auto result = take_if([&](const lease& x) { return x.client == client; });
  // Lease ids are random; what follows from the same history shall not be.
  std::stable_sort(result.begin(), result.end(),
                   [](auto& a, auto& b) { return a.sandbox < b.sandbox; });
  return result;
}

void lease_table::erase_sandbox(const std::string& sandbox) {
  if (by_sandbox_.contains(sandbox))
    take_if([&](const lease& x) { return x.sandbox == sandbox; });
}

size_t lease_table::count(const std::string& sandbox) const {
  auto i = by_sandbox_.find(sandbox);
  return i != by_sandbox_.end() ? i->second : 0;
}

bool lease_table::held_by_others(const std::string& sandbox, const std::string& client) const {
  return count(sandbox) > 0 && std::any_of(leases_.begin(), leases_.end(), [&](auto& item) {
           return item.second.sandbox == sandbox && item.second.client != client;
         });
}

} // namespace corral

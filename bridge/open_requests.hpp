#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace corral {

/// The requests that the daemon still owes an answer. Each gets a ticket; a client's own id can't
/// be used twice while it is open, and neither the count nor one client's bytes exceed their
/// limits.
template <class Context>
class open_requests {
public:
  using ticket_id = uint64_t;

  struct limits {
    size_t requests = 4096;
    size_t bytes_per_client = 64 * 1024 * 1024;
  };

  struct entry {
    std::string client; ///< Its key.
    std::string id;     ///< As the client calls the request.
    size_t bytes = 0;   ///< Of its payload.
    Context context;
  };

  enum class admission { ok, duplicate, full, client_full };

  explicit open_requests(limits x) : limits_{x} {}

  /// Admits a request and tells its ticket, or why not.
  std::pair<admission, ticket_id> add(entry x) {
    if (by_id_.contains({x.client, x.id}))
      return {admission::duplicate, 0};
    if (entries_.size() >= limits_.requests)
      return {admission::full, 0};
    auto& held = per_client_[x.client];
    if (held.requests > 0 && held.bytes + x.bytes > limits_.bytes_per_client)
      return {admission::client_full, 0};
    ++held.requests;
    held.bytes += x.bytes;
    auto ticket = ++last_;
    by_id_.emplace(std::pair{x.client, x.id}, ticket);
    entries_.emplace(ticket, std::move(x));
    return {admission::ok, ticket};
  }

  entry* find(ticket_id ticket) {
    auto i = entries_.find(ticket);
    return i != entries_.end() ? &i->second : nullptr;
  }

  /// The ticket of a client's request; 0 if it has none open of that id.
  ticket_id find(const std::string& client, const std::string& id) const {
    auto i = by_id_.find({client, id});
    return i != by_id_.end() ? i->second : 0;
  }

  /// Takes a request out: its answer is being sent.
  std::optional<entry> take(ticket_id ticket) {
    auto i = entries_.find(ticket);
    if (i == entries_.end())
      return std::nullopt;
    auto result = std::move(i->second);
    entries_.erase(i);
    by_id_.erase({result.client, result.id});
    if (auto held = per_client_.find(result.client); held != per_client_.end()) {
      held->second.bytes -= result.bytes;
      if (--held->second.requests == 0)
        per_client_.erase(held);
    }
    return result;
  }

  bool has(const std::string& client) const { return per_client_.contains(client); }

  std::vector<ticket_id> tickets_if(const std::function<bool(const entry&)>& pred) const {
    std::vector<ticket_id> result;
    for (auto& [ticket, x] : entries_)
      if (pred(x))
        result.push_back(ticket);
    return result;
  }

  size_t size() const { return entries_.size(); }

private:
  struct share {
    size_t requests = 0;
    size_t bytes = 0;
  };

  limits limits_;
  ticket_id last_ = 0;
  std::map<ticket_id, entry> entries_;
  std::map<std::pair<std::string, std::string>, ticket_id> by_id_;
  std::unordered_map<std::string, share> per_client_;
};

} // namespace corral

#pragma once

#include "messages/wire/message.hpp"

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace corral {

/// Replies for whoever asks again: because the sandbox that gave them is gone, or because the
/// connection was that they were for. Each is kept for `ttl`; when memory runs out the oldest lose
/// their payload and then say `truncated`.
class retained_results {
public:
  using time_point = std::chrono::steady_clock::time_point;

  struct limits {
    std::chrono::milliseconds ttl{600'000};
    size_t count = 100'000;
    uint64_t memory = 64 * 1024 * 1024; ///< Of all payloads, in bytes.
    size_t part_bytes = 64 * 1024;      ///< A longer part is not kept.
  };

  explicit retained_results(limits x) : limits_{x} {}
  retained_results(const retained_results&) = delete;
  retained_results& operator=(const retained_results&) = delete;

  /// Keeps a reply under a name, in place of an earlier one. At the limit the oldest goes.
  void keep(const std::string& name, const message& reply, time_point now);

  /// Nothing if there is none, or none any more.
  std::optional<message> find(const std::string& name, time_point now);

  void erase(const std::string& name);
  /// All whose names begin so.
  void erase_all(const std::string& prefix);
  void expire(time_point now);

  size_t size() const { return entries_.size(); }
  uint64_t memory() const { return memory_; }

private:
  struct entry {
    std::string header; // As JSON, which is a tenth of the size.
    std::vector<part> parts;
    uint64_t bytes = 0; // Of the parts.
    bool truncated = false;
    time_point expires;
    std::list<std::string>::iterator place;
  };

  void shorten(entry& x);

  limits limits_;
  uint64_t memory_ = 0;
  std::map<std::string, entry, std::less<>> entries_;
  std::list<std::string> order_;                          // Oldest first.
  std::list<std::string>::iterator whole_ = order_.end(); // The first that may have its payload.
};

} // namespace corral

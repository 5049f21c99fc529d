#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace corral {

/// The sandboxes of a pool in order of their last known use: which to evict first, which have been
/// idle for too long. A sandbox is warm while nobody holds a lease on it, else active. The pool
/// learns of use late (execs don't pass through the provider), so its times are lower bounds:
/// whoever takes a sandbox away asks its actor first and tells the answer with `touch`.
class warm_pool {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// Adds a sandbox as active, used now.
  void add(const std::string& id, time_point now);
  void erase(const std::string& id);

  void set_active(const std::string& id, bool active);

  /// It was used at `at`: moves it behind all that were used before. Never moves it forward in age.
  void touch(const std::string& id, time_point at);

  /// Makes every last use later by `delay`: time in which nothing could be used.
  void shift(duration delay);

  /// The warm one that was used least recently and is not in `except`.
  std::optional<std::string> least_recently_used(const std::vector<std::string>& except = {}) const;

  /// Those whose last known use is at least `warm_limit` (warm) or `active_limit` (active) ago; a
  /// limit of 0 never expires.
  std::vector<std::string> expired(time_point now, duration warm_limit,
                                   duration active_limit) const;

  std::optional<time_point> used_at(const std::string& id) const;
  size_t size() const { return slots_.size(); }
  size_t warm() const { return warm_; }
  size_t active() const { return slots_.size() - warm_; }

  /// All ids, least recently used first.
  std::vector<std::string> in_order() const;

private:
  struct slot {
    std::string id;
    time_point used_at;
    bool active;
  };
  using order = std::list<slot>;

  order order_; // By used_at, oldest first.
  std::unordered_map<std::string, order::iterator> slots_;
  size_t warm_ = 0;
};

} // namespace corral

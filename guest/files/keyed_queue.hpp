#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace corral::guest {

/// Tasks in the order they came, of which those with the same key follow one another. Not
/// thread-safe.
class keyed_queue {
public:
  struct item {
    std::string key; ///< Empty: waits for nobody.
    std::function<void()> task;
  };

  void push(item x) { waiting_.push_back(std::move(x)); }

  /// The first task whose key is not taken. It takes the key, until `finish`.
  std::optional<item> take();

  void finish(const std::string& key) { taken_.erase(key); }

  /// Takes back the last one pushed.
  void pop_last() { waiting_.pop_back(); }

  /// True if `take` would return one.
  bool has_ready() const;

  /// How many tasks wait for no running one.
  size_t ready() const;

  bool empty() const { return waiting_.empty(); }

private:
  bool is_ready(const item& x) const { return x.key.empty() || !taken_.contains(x.key); }

  std::deque<item> waiting_;
  std::set<std::string> taken_;
};

} // namespace corral::guest

#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>

namespace corral {

/// Those who wait for room in a pool, one turn a client: a client that wants many sandboxes delays
/// another by one at most. Within a client, first come first served.
class capacity_queue {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  void add(const std::string& client, const std::string& id);

  /// Puts one back to where it was taken from: its turn came to nothing.
  void put_back(const std::string& client, const std::string& id);

  /// Takes the next in turn that `can_go`: who can't holds up neither others nor its own client.
  std::optional<std::string> take(const std::function<bool(const std::string& id)>& can_go);

  void erase(const std::string& id);

  /// How many turns come before its own, if all of them can go; nothing if it doesn't wait here.
  std::optional<size_t> position(const std::string& id) const;

  /// Room for one has been made.
  void freed(time_point now);

  /// When room for one at this position is to be expected, by how often there was some lately; from
  /// 100 ms to 60 s.
  std::chrono::milliseconds estimate(size_t position) const;

  size_t size() const;
  bool empty() const { return lines_.empty(); }

private:
  struct line {
    std::string client;
    std::deque<std::string> ids;
  };

  std::list<line>::iterator line_of(const std::string& client);

  std::list<line> lines_; // In the order of their turns; none is empty.
  std::optional<time_point> last_freed_;
  std::optional<duration> between_; // A moving average.
};

} // namespace corral

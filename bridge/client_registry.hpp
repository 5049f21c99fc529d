#pragma once

#include "bridge/reply_backlog.hpp"
#include "bridge/token_bucket.hpp"
#include "messages/wire/error.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace corral {

/// The clients that the daemon knows: by connection, and for leases by name and instance.
class client_registry {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  struct client {
    std::string key;       ///< Principal, and name and instance or the connection.
    std::string principal; ///< Empty for the socket's.
    std::string name;      ///< Empty before a hello.
    std::string instance;
    duration heartbeat{0}; ///< 0: none announced.
    time_point seen;
    zmq_loop::account_ptr account = std::make_shared<zmq_loop::account>();
    reply_backlog backlog;
    std::optional<token_bucket> rate; ///< Of its requests; made with the first.
    bool forgotten = false; ///< Did not read its replies; says hello again before it is served.
  };

  /// The client of a connection, made if it is new; counts as a sign of life. Null if the routing
  /// id is another principal's.
  client* touch(const std::string& routing_id, time_point now, const std::string& principal = {});

  client* find(const std::string& routing_id);

  /// Where answers to a client go: to the connection that asked, or to a newer one of the same name
  /// and instance. Nothing if it has none, or the connection is another principal's now.
  std::optional<std::string> route_of(const std::string& routing_id, const std::string& key,
                                      const std::string& principal = {}) const;

  /// Introduces a connection, which takes the place of an older one of the same name and instance.
  /// `busy` if a live client of that name has another instance. Names are a principal's own: those
  /// of others neither stand in its way nor are told.
  result<void> hello(const std::string& routing_id, const std::string& name,
                     const std::string& instance, duration heartbeat, time_point now);

  /// True for the key of a client that has said its name, and so can come back by it.
  static bool is_named(const std::string& key) { return !key.empty() && key[0] != '\0'; }

  /// Announced heartbeats, and thereby may hold leases.
  static bool may_lease(const client& x) { return x.heartbeat > duration::zero(); }

  /// Takes out those that missed three heartbeats and, if silent for a minute, those that announced
  /// none. `is_busy` tells of a client with open requests, which count as heartbeats.
  template <class Predicate>
  std::vector<client> take_silent(time_point now, Predicate is_busy) {
    std::vector<client> result;
    std::erase_if(clients_, [&](auto& item) {
      auto& x = item.second;
      auto limit = may_lease(x) ? 3 * x.heartbeat : silent_limit;
      if (now - x.seen < limit || is_busy(x.key))
        return false;
      result.push_back(std::move(x));
      return true;
    });
    return result;
  }

  /// Makes every last sign of life later by `delay`: time in which none could be seen.
  void shift(duration delay) {
    for (auto& [routing_id, x] : clients_)
      x.seen += delay;
  }

  size_t size() const { return clients_.size(); }

private:
  static constexpr duration silent_limit = std::chrono::minutes{1};

  std::unordered_map<std::string, client> clients_; // By routing id.
};

} // namespace corral

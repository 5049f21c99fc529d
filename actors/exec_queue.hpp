#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace corral {

/// The queue in front of one sandbox. Execs run one after the other; file operations run beside
/// them. One client's requests start in the order sent, so its file operation waits for its own
/// exec to start, though never for another client's.
class exec_queue {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using ticket_id = uint64_t;

  struct limits {
    size_t waiting = 64;  ///< Requests that may wait.
    size_t parallel = 32; ///< File operations that may run at once.
  };

  struct entry {
    ticket_id ticket;
    std::string client;
    bool serial;                        ///< An exec.
    std::optional<time_point> deadline; ///< Until when it may wait.
  };

  explicit exec_queue(limits x) : limits_{x} {}

  /// Queues a request; false if the queue is full. `startable` says whether it may start at once.
  bool add(entry x);

  /// Takes the requests that may start now, in order. They count as running until `finish`.
  std::vector<ticket_id> take_startable();

  /// A running request has ended; more may be startable.
  void finish(ticket_id ticket);

  /// Takes a waiting request out; false if it doesn't wait here.
  bool remove(ticket_id ticket);

  /// Takes out those whose time to wait is over.
  std::vector<ticket_id> take_expired(time_point now);

  /// Takes out all that wait.
  std::vector<ticket_id> take_waiting();

  std::optional<time_point> next_deadline() const;

  size_t waiting() const { return waiting_.size(); }
  size_t running() const { return running_.size(); }
  bool idle() const { return waiting_.empty() && running_.empty(); }

  /// The exec that runs, if one does.
  std::optional<ticket_id> running_exec() const { return exec_; }

private:
  bool has_place_for(const entry& x) const;

  limits limits_;
  std::deque<entry> waiting_;
  std::unordered_map<ticket_id, bool> running_; // Whether it is serial.
  std::optional<ticket_id> exec_;
};

} // namespace corral

#pragma once

#include "bridge/zmq_loop.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace corral {

/// The messages to one client that libzmq isn't given yet because it holds enough for that client.
/// Many large replies may end at once, so this alone doesn't mean that a client doesn't read.
class reply_backlog {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  struct limits {
    uint64_t under_way = 8 * 1024 * 1024; ///< Bytes that libzmq is given at a time.
    uint64_t waiting = 512 * 1024 * 1024; ///< Bytes that may wait beside them.
    /// For a client that takes nothing meanwhile; a tenth, where a quarter of `waiting` waits.
    duration patience = std::chrono::seconds{10};
  };

  void push(zmq_loop::outgoing x, uint64_t under_way, time_point now);

  /// The next message for libzmq, which has `under_way` bytes now; nothing if it has enough.
  std::optional<zmq_loop::outgoing> take(const limits& x, uint64_t under_way, time_point now);

  /// True if its client should be given up.
  bool hopeless(const limits& x, uint64_t under_way, time_point now);

  bool empty() const { return messages_.empty(); }
  uint64_t bytes() const { return bytes_; }

  /// Takes all out, whatever libzmq has.
  std::deque<zmq_loop::outgoing> take_all();

private:
  void look(uint64_t under_way, time_point now);

  std::deque<zmq_loop::outgoing> messages_;
  uint64_t bytes_ = 0;
  uint64_t seen_ = 0;  // Under way at the last look.
  time_point moved_{}; // When that last became less.
};

} // namespace corral

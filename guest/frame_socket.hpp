#pragma once

#include "guest/event_loop.hpp"
#include "messages/wire/frame.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace corral::guest {

/// One connection to the daemon: frames in, frames out, never blocking. What doesn't fit into the
/// socket waits here; whoever sends much asks `idle` first.
class frame_socket {
public:
  struct callbacks {
    std::function<result<void>(frame)> on_frame; ///< An error ends the connection.
    std::function<void()> on_idle;               ///< All that was sent has left.
    std::function<void()> on_close;              ///< Once, from the loop; may destroy the socket.
  };

  frame_socket(event_loop& loop, unique_fd fd, callbacks calls);

  void send(std::string head, blob payload = {});
  bool idle() const { return queue_.empty(); }

private:
  void on_ready(uint32_t events);
  /// False at the connection's end.
  bool read_some();
  bool take_frames();
  bool write_some();
  void consume(size_t bytes);
  void close();

  event_loop& loop_;
  unique_fd fd_;
  callbacks calls_;
  frame_decoder decoder_;
  std::deque<blob> queue_;
  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
  bool writing_ = false; ///< The watch waits for room in the socket too.
  bool closed_ = false;
  event_loop::timer close_timer_;
  event_loop::watch watch_;
};

} // namespace corral::guest

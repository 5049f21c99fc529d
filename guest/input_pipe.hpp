#pragma once

#include "guest/event_loop.hpp"
#include "os/error.hpp"

#include <string>
#include <string_view>

namespace corral::guest {

/// Feeds a command's stdin through a FIFO without ever blocking.
class input_pipe {
public:
  static constexpr size_t max_buffered = 256 * 1024; ///< Of what `offer` brings.

  explicit input_pipe(event_loop& loop) : loop_{loop} {}

  /// Makes the FIFO; the command opens it for reading.
  os_result<void> open(std::string path);
  bool is_open() const { return static_cast<bool>(fd_); }

  /// Appends what is known at the start, of any size.
  void preload(std::string_view bytes);
  /// Appends as much as there is room for; returns how many bytes that was.
  size_t offer(std::string_view bytes);
  /// No more will come: the reader sees the end after the last byte.
  void finish();

  /// The command has opened its end. Until then ours must stay: a FIFO without any end open loses
  /// its bytes.
  void reader_present();

  void close();

private:
  void write_some();

  event_loop& loop_;
  std::string path_;
  unique_fd fd_;
  event_loop::watch watch_;
  std::string buffer_;
  size_t written_ = 0;
  bool finished_ = false;
  bool reader_present_ = false;
};

} // namespace corral::guest

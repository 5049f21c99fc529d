#pragma once

#include "guest/output_pipes.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace corral::guest {

struct output_chunk {
  output_stream stream = output_stream::out;
  uint64_t seq = 0;    ///< From 0, over both streams.
  uint64_t offset = 0; ///< Of its first byte in the stream.
  uint64_t gap = 0;    ///< Bytes of this stream that were dropped before it.
  std::string data;
};

/// Cuts a running command's output into chunks of 32 KiB or 20 ms. At most 256 KiB are under way
/// without having been acknowledged; what comes beyond that is dropped and counted.
class stream_window {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr size_t chunk_bytes = 32 * 1024;
  static constexpr size_t window_bytes = 256 * 1024;
  static constexpr std::chrono::milliseconds coalesce{20};

  /// `take` is called after each append, so that no more than this waits.
  void append(output_stream stream, std::string_view bytes, time_point now);

  /// Output that nobody is there to be shown: a gap, for who comes later.
  void skip(output_stream stream, size_t bytes);

  /// Another reader from now on: nothing is under way to it.
  void start_anew();

  /// All chunks up to this one have arrived.
  void acknowledge(uint64_t seq);

  /// When the next chunk is due; nothing if nothing waits.
  std::optional<time_point> next_due() const;

  /// A chunk that is due, or that waits if `all`; call until there is none. What the window has no
  /// room for is dropped here.
  std::optional<output_chunk> take(time_point now, bool all = false);

private:
  struct waiting {
    std::string data;
    uint64_t offset = 0; ///< Of the first waiting byte.
    uint64_t gap = 0;
    time_point since;
  };
  struct sent {
    uint64_t seq;
    size_t bytes;
  };

  void drop(waiting& w);

  std::array<waiting, 2> streams_;
  std::deque<sent> under_way_;
  size_t under_way_bytes_ = 0;
  uint64_t next_seq_ = 0;
};

} // namespace corral::guest

#include "guest/stream_window.hpp"

#include <algorithm>
#include <utility>

namespace corral::guest {

void stream_window::append(output_stream stream, std::string_view bytes, time_point now) {
  auto& w = streams_[static_cast<size_t>(stream)];
  if (w.data.empty())
    w.since = now;
  w.data.append(bytes);
}

void stream_window::drop(waiting& w) {
  w.gap += w.data.size();
  w.offset += w.data.size();
  w.data.clear();
}

void stream_window::skip(output_stream stream, size_t bytes) {
  auto& w = streams_[static_cast<size_t>(stream)];
  drop(w);
  w.gap += bytes;
  w.offset += bytes;
}

void stream_window::start_anew() {
  under_way_.clear();
  under_way_bytes_ = 0;
}

void stream_window::acknowledge(uint64_t seq) {
  while (!under_way_.empty() && under_way_.front().seq <= seq) {
    under_way_bytes_ -= under_way_.front().bytes;
    under_way_.pop_front();
  }
}

std::optional<stream_window::time_point> stream_window::next_due() const {
  std::optional<time_point> due;
  for (auto& w : streams_) {
    if (w.data.empty())
      continue;
    auto when = w.data.size() >= chunk_bytes ? w.since : w.since + coalesce;
    due = due ? std::min(*due, when) : when;
  }
  return due;
}

std::optional<output_chunk> stream_window::take(time_point now, bool all) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    auto& w = streams_[i];
    auto due = w.data.size() >= chunk_bytes || (!w.data.empty() && now >= w.since + coalesce);
    if (w.data.empty() || (!due && !all))
      continue;
    auto n = std::min(w.data.size(), chunk_bytes);
    if (under_way_bytes_ + n > window_bytes) {
      drop(w);
      continue;
    }
    output_chunk chunk{static_cast<output_stream>(i), next_seq_++, w.offset,
                       std::exchange(w.gap, 0), w.data.substr(0, n)};
    w.data.erase(0, n);
    w.offset += n;
    under_way_.push_back({chunk.seq, n});
    under_way_bytes_ += n;
    return chunk;
  }
  return std::nullopt;
}

} // namespace corral::guest

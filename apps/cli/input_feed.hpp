#pragma once

#include "messages/wire/message.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace corral::cli {

/// Stdin on its way to a running command: one bounded `input` request at a time, what the command
/// has no room for is offered again, and its end is told once everything was taken.
class input_feed {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr size_t piece_bytes = 64 * 1024;
  static constexpr std::chrono::milliseconds retry{20};

  explicit input_feed(std::string exec_id) : exec_id_{std::move(exec_id)} {}

  /// True if more may be read, at most `piece_bytes`.
  bool wants_bytes() const { return open_ && !under_way_ && waiting_.empty(); }
  /// What was read; nothing is the end.
  void offer(std::string bytes);

  /// The request to send now, if any. Its reply goes to `accepted`, or to `refused`.
  std::optional<message> next(time_point now);
  void accepted(uint64_t bytes, time_point now);
  /// The command takes no more input.
  void refused();

  /// How long until `next` has something to send again; nothing if that depends on others.
  std::optional<std::chrono::milliseconds> due_in(time_point now) const;

private:
  std::string exec_id_;
  std::string waiting_;
  bool open_ = true; ///< There may be more to read.
  bool end_told_ = false;
  bool under_way_ = false;
  time_point not_before_{};
};

} // namespace corral::cli

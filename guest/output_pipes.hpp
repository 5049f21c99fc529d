#pragma once

#include "guest/event_loop.hpp"
#include "guest/script_text.hpp"
#include "os/files.hpp"

#include <array>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

namespace corral::guest {

enum class output_stream : uint8_t { out, err };

/// Reads what background processes go on writing after their command has ended, and drops it. Never
/// closes a pipe that still has a writer: SIGPIPE would end a server over a log line.
class output_drain {
public:
  explicit output_drain(event_loop& loop) : loop_{loop} {}

  void adopt(unique_fd reader);
  size_t size() const { return readers_.size(); }

private:
  struct reader {
    unique_fd fd;
    event_loop::watch watch;
  };

  event_loop& loop_;
  std::list<reader> readers_;
};

/// The FIFOs that one command writes its stdout and stderr to. Used again for the next command if
/// nobody holds them any more.
class output_pipes {
public:
  using handler = std::function<void(output_stream, std::string_view)>;

  output_pipes(event_loop& loop, const control_paths& paths) : loop_{loop}, paths_{paths} {}

  /// Makes new FIFOs, unless the last ones are clean.
  os_result<void> prepare();
  bool ready() const { return streams_[0].reader && streams_[1].reader; }
  unsigned number() const { return number_; }

  /// Passes output on as it comes. Not called for a command that ends at once: its output is
  /// fetched by `collect` alone, which saves waking up for it.
  void listen(handler on_output);

  /// Passes on what is there; true if all writers are gone. The command has ended.
  bool collect(const handler& on_output);

  /// Calls `on_end` once all writers are gone, passing output on meanwhile.
  void await_end(handler on_output, event_loop::task on_end);

  /// Ends this command's use. What is still held goes to `drain`.
  void release(output_drain& drain);
  /// Drops everything, as after the directory was lost.
  void discard();

private:
  struct stream {
    unique_fd reader;
    unique_fd own_writer; // Keeps the end of a writer from waking us while the command runs.
    event_loop::watch watch;
    bool ended = false;
    std::optional<file_identity> identity;
  };

  os_result<void> open(stream& s, char kind);
  /// Reads once; false if there is nothing now.
  bool read_once(output_stream which, const handler& on_output);
  void stop_listening();
  /// False if agent code has put something else where the FIFO was.
  bool in_place(output_stream which) const;
  bool all_ended() const { return streams_[0].ended && streams_[1].ended; }

  event_loop& loop_;
  const control_paths& paths_;
  unsigned number_ = 0;
  std::array<stream, 2> streams_;
  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

} // namespace corral::guest

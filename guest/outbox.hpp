#pragma once

#include "messages/wire/frame.hpp"

#include <cstdint>
#include <functional>
#include <map>

namespace corral::guest {

/// Replies on their way to the daemon, each within its credit; they take turns frame by frame, so
/// that a large one holds no small one up. A frame is made only when the socket can take it.
class outbox {
public:
  using write_frame = std::function<void(std::string head, blob payload)>;
  using can_write = std::function<bool()>;
  /// Bytes of a reply in pieces that have gone out.
  using progress = std::function<void(uint64_t bytes)>;

  outbox(write_frame write, can_write ready) : write_{std::move(write)}, ready_{std::move(ready)} {}

  /// An event or a whole reply.
  void send(int64_t re, const message& x);

  /// A reply whose payload comes in pieces.
  void begin(int64_t re, const fields& header, uint64_t total, progress on_progress);
  void push(int64_t re, blob piece);
  /// Ends it with fields for its last frame, which waits until then.
  void end(int64_t re, const fields& trailer);

  /// The daemon may be sent this much more of a reply, ...
  void credit(int64_t re, uint64_t bytes);
  /// ... and it may send us this much more of a request.
  void grant_peer(int64_t re, uint64_t bytes) { write_(encode_credit(re, bytes), {}); }
  /// Writes what can be written.
  void pump();
  /// Forgets everything: the connection has gone.
  void clear() { replies_.clear(); }

private:
  struct reply {
    frame_sender sender;
    progress on_progress;
    bool open = false; ///< More pieces may come, or the trailer.
    blob last_piece;   ///< Held back while open.
  };

  /// False if this one has nothing to write now.
  bool write_one(std::map<int64_t, reply>::iterator i);

  write_frame write_;
  can_write ready_;
  std::map<int64_t, reply> replies_;
  int64_t last_ = 0; ///< Whose turn it was.
};

} // namespace corral::guest

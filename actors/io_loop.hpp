#pragma once

#include <cstdint>
#include <functional>

namespace corral {

/// Tells actors of one thread when their descriptors are ready. All of it happens on that thread.
class io_loop {
public:
  using watch_id = uint64_t;
  /// `broken` is set if the peer has hung up or the descriptor has failed.
  struct readiness {
    bool readable = false;
    bool writable = false;
    bool broken = false;
  };
  using callback = std::function<void(readiness)>;

  virtual ~io_loop() = default;

  /// Calls `ready` whenever `fd` can be read, until `unwatch`; the descriptor stays the caller's.
  virtual watch_id watch(int fd, callback ready) = 0;

  /// Whether to call when it can be written, too.
  virtual void want_writable(watch_id id, bool wanted) = 0;

  /// Never calls again, not even for what it has been told already.
  virtual void unwatch(watch_id id) = 0;
};

} // namespace corral

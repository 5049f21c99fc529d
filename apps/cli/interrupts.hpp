#pragma once

#include "os/unique_fd.hpp"

#include <signal.h>

namespace corral::cli {

/// Turns SIGINT and SIGTERM into something to poll. Make it before any other thread is started:
/// threads inherit that the signals are blocked.
class interrupts {
public:
  interrupts();
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;

  /// Readable once a signal has come.
  int fd() const { return fd_.get(); }

  /// Takes a signal that has come; false if none has.
  bool take();

private:
  sigset_t before_;
  unique_fd fd_;
};

} // namespace corral::cli

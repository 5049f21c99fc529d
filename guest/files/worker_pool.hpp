#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace corral::guest {

/// Threads that come with the work and go when there is none: 256 KiB of stack each, all signals
/// blocked, so that signals reach the main loop and a write over a size limit is an error instead
/// of a SIGXFSZ. Thread-safe.
class worker_pool {
public:
  worker_pool(size_t max_threads, std::chrono::milliseconds idle);

  /// Waits until every task has run.
  ~worker_pool();

  /// Runs `task`, after the earlier ones with the same key if there is one. Tasks must not throw.
  /// False if no thread could be started: then it never runs.
  bool submit(std::string key, std::function<void()> task);

  size_t threads() const;

private:
  struct state;
  std::shared_ptr<state> state_; // Outlives this object in a thread that is about to end.
};

} // namespace corral::guest

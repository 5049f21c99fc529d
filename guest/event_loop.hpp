#pragma once

#include "os/unique_fd.hpp"

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace corral::guest {

/// One thread's descriptors, timers and child exits. It sleeps without waking up while there is
/// nothing to do. Everything but `post` belongs to the thread that calls `run`.
class event_loop {
public:
  using clock = std::chrono::steady_clock;
  using time_point = clock::time_point;
  using task = std::function<void()>;
  using ready_handler = std::function<void(uint32_t events)>;

  /// Reports a descriptor's readiness for as long as it lives; the descriptor must outlive it.
  class watch {
  public:
    watch() = default;
    watch(watch&& other) noexcept { *this = std::move(other); }
    watch& operator=(watch&& other) noexcept;
    ~watch() { reset(); }

    explicit operator bool() const { return loop_ != nullptr; }
    /// Asks for other events (EPOLLIN, EPOLLOUT).
    void want(uint32_t events);
    void reset();

  private:
    friend class event_loop;
    watch(event_loop* loop, uint64_t id) : loop_{loop}, id_{id} {}

    event_loop* loop_ = nullptr;
    uint64_t id_ = 0;
  };

  /// Calls once, unless it is reset or destroyed before.
  class timer {
  public:
    timer() = default;
    timer(timer&& other) noexcept { *this = std::move(other); }
    timer& operator=(timer&& other) noexcept;
    ~timer() { reset(); }

    void reset();

  private:
    friend class event_loop;
    timer(event_loop* loop, std::pair<time_point, uint64_t> key) : loop_{loop}, key_{key} {}

    event_loop* loop_ = nullptr;
    std::pair<time_point, uint64_t> key_;
  };

  /// Ends the process if the kernel refuses the few descriptors it needs.
  event_loop();

  time_point now() const { return clock::now(); }

  /// EPOLLHUP and EPOLLERR are always reported. A regular file can't be watched.
  [[nodiscard]] watch watch_fd(const unique_fd& fd, uint32_t events, ready_handler on_ready);
  [[nodiscard]] timer at(time_point when, task on_due);
  [[nodiscard]] timer after(clock::duration delay, task on_due) {
    return at(now() + delay, std::move(on_due));
  }

  /// Calls whenever children may have ended (SIGCHLD, which must be blocked in every thread).
  void on_child_exit(task handler);

  /// Runs `work` on the loop's thread. From any thread, at any time before the loop is destroyed.
  void post(task work);

  /// Serves until `stop`.
  void run();
  /// Serves until `done` or the limit; true if done.
  bool run_until(const std::function<bool()>& done, clock::duration limit);
  void stop() { stopped_ = true; }

private:
  struct entry {
    int fd;
    ready_handler on_ready;
  };

  void turn(time_point latest);
  int wait_ms(time_point latest) const;
  void run_due_timers();
  void run_posted();

  unique_fd epoll_;
  unique_fd wakeup_;
  unique_fd signals_;
  uint64_t next_id_ = 1;
  bool stopped_ = false;
  std::unordered_map<uint64_t, std::shared_ptr<entry>> entries_;
  std::map<std::pair<time_point, uint64_t>, task> timers_;
  std::mutex mutex_;
  std::vector<task> posted_; // Under mutex_.
  watch wakeup_watch_;       // Last, since their end needs the rest.
  watch signal_watch_;
};

} // namespace corral::guest

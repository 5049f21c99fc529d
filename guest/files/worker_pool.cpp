#include "guest/files/worker_pool.hpp"

#include "guest/files/keyed_queue.hpp"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>

namespace corral::guest {

namespace {

constexpr size_t stack_bytes = 256 * 1024;

/// The signal mask that a new thread inherits.
class signals_blocked {
public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

bool start_thread(void* (*run)(void*), void* argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  signals_blocked blocked;
  pthread_t thread;
  auto failed = pthread_create(&thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

} // namespace

struct worker_pool::state {
  const size_t max_threads;
  const std::chrono::milliseconds idle;
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable ended;
  keyed_queue queue;
  size_t threads = 0;
  size_t waiting = 0; // Threads without work.
  bool stopping = false;

  state(size_t max, std::chrono::milliseconds limit) : max_threads{max}, idle{limit} {}

  void serve();
  bool wait_for_work(std::unique_lock<std::mutex>& lock);
  static void* run(void* argument);
};

void worker_pool::state::serve() {
  std::unique_lock lock{mutex};
  while (wait_for_work(lock)) {
    auto next = queue.take();
    lock.unlock();
    next->task();
    next->task = nullptr;
    lock.lock();
    queue.finish(next->key);
    // Others may have waited for this key only.
    work.notify_all();
  }
  auto last = --threads == 0;
  if (last)
    ended.notify_all();
  lock.unlock();
  if (last)
    malloc_trim(0);
}

/// True if there is a task to take; false if this thread should end.
bool worker_pool::state::wait_for_work(std::unique_lock<std::mutex>& lock) {
  ++waiting;
  auto until = std::chrono::steady_clock::now() + idle;
  auto wanted = [&] { return queue.has_ready() || (stopping && queue.empty()); };
  while (!wanted()) {
    auto late = work.wait_until(lock, until) == std::cv_status::timeout;
    // The task that holds the key of what still waits looks again when it is done.
    if (late && !wanted())
      break;
  }
  --waiting;
  return queue.has_ready();
}

void* worker_pool::state::run(void* argument) {
  std::unique_ptr<std::shared_ptr<state>> self{static_cast<std::shared_ptr<state>*>(argument)};
  (*self)->serve();
  return nullptr;
}

worker_pool::worker_pool(size_t max_threads, std::chrono::milliseconds idle)
    : state_{std::make_shared<state>(max_threads, idle)} {}

worker_pool::~worker_pool() {
  std::unique_lock lock{state_->mutex};
  state_->stopping = true;
  state_->work.notify_all();
  state_->ended.wait(lock, [&] { return state_->threads == 0; });
}

bool worker_pool::submit(std::string key, std::function<void()> task) {
  std::lock_guard lock{state_->mutex};
  auto& s = *state_;
  s.queue.push({std::move(key), std::move(task)});
  s.work.notify_one();
  if (s.queue.ready() > s.waiting && s.threads < s.max_threads) {
    auto argument = std::make_unique<std::shared_ptr<state>>(state_);
    if (start_thread(state::run, argument.get())) {
      argument.release();
      ++s.threads;
    } else if (s.threads == 0) {
      s.queue.pop_last();
      return false;
    }
  }
  return true;
}

size_t worker_pool::threads() const {
  std::lock_guard lock{state_->mutex};
  return state_->threads;
}

} // namespace corral::guest

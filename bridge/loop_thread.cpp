#include "bridge/loop_thread.hpp"

#include <caf/resumable.hpp>

namespace corral {

void loop_unit::exec_later(caf::resumable* x) {
  {
    std::lock_guard guard{mutex_};
    queue_.push_back(x);
  }
  loop_.wake();
}

void loop_unit::run_queued() {
  std::deque<caf::resumable*> due;
  {
    std::lock_guard guard{mutex_};
    due.swap(queue_);
  }
  constexpr size_t messages_a_turn = 256;
  for (auto x : due)
    switch (x->resume(this, messages_a_turn)) {
    case caf::resumable::resume_later:
      exec_later(x);
      break;
    default:
      caf::intrusive_ptr_release(x);
    }
}

loop_thread::loop_thread(caf::actor_system& sys, const zmq_loop::settings& where,
                         event_publisher::settings events)
    : loop_{context_, where}, events_{context_, loop_, std::move(events)}, unit_{sys, loop_} {}

loop_thread::~loop_thread() {
  loop_.stop();
  if (thread_.joinable())
    thread_.join();
}

void loop_thread::start(zmq_loop::callbacks on) {
  on.on_wake = [this] { unit_.run_queued(); };
  thread_ = std::thread{[this, on = std::move(on)] { loop_.run(on); }};
}

} // namespace corral

#pragma once

#include "bridge/event_publisher.hpp"
#include "bridge/zap_handler.hpp"
#include "bridge/zmq_loop.hpp"

#include <caf/execution_unit.hpp>

#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace corral {

/// Runs actors on the thread that polls: whatever is enqueued wakes the loop.
class loop_unit : public caf::execution_unit {
public:
  loop_unit(caf::actor_system& sys, zmq_loop& loop) : execution_unit{&sys}, loop_{loop} {}

  void exec_later(caf::resumable* x) override;

  /// Runs what is due; on the loop's thread.
  void run_queued();

private:
  zmq_loop& loop_;
  std::mutex mutex_;
  std::deque<caf::resumable*> queue_;
};

/// The ZeroMQ context, the loop and its thread. The bridge, the providers and the sandboxes live on
/// it: on the way of an exec no message changes threads but to the link and back.
class loop_thread {
public:
  /// Binds; serves nothing yet. Throws zmq::error_t if the endpoint can't be bound.
  loop_thread(caf::actor_system& sys, const zmq_loop::settings& where,
              event_publisher::settings events = {});

  /// Ends the loop and joins its thread. Every actor spawned on the unit must have ended before.
  ~loop_thread();

  loop_thread(const loop_thread&) = delete;
  loop_thread& operator=(const loop_thread&) = delete;

  zmq_loop& loop() { return loop_; }
  loop_unit& unit() { return unit_; }
  event_publisher& events() { return events_; }

  /// Asks who may connect where a key is needed; before anything listens so.
  void ask_for_keys(zap_handler::judge decide) {
    gate_.emplace(context_, loop_, std::move(decide));
  }

  /// Starts the thread. `on.on_wake` is not asked for: it is the unit's.
  void start(zmq_loop::callbacks on);

private:
  zmq::context_t context_{1};
  zmq_loop loop_;
  event_publisher events_;
  std::optional<zap_handler> gate_;
  loop_unit unit_;
  std::thread thread_;
};

} // namespace corral

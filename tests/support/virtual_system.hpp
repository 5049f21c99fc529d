// Actors on one thread, on a clock that only the test moves.

#pragma once

#include "messages/errors.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace corral::test {

/// What a request came to, looked at whenever the test likes.
template <class T>
class later {
public:
  bool answered() const { return answers_ > 0; }
  int answers() const { return answers_; }

  /// The value; fails the test if there is none.
  const T& value() const {
    REQUIRE_MESSAGE(value_, "answered with " << (failed_ ? failed_->message : "nothing"));
    return *value_;
  }

  /// The error's code, if it is one.
  std::optional<errc> code() const { return failed_ ? std::optional{failed_->code} : std::nullopt; }
  const error& failed() const {
    REQUIRE(failed_);
    return *failed_;
  }
  bool succeeded() const { return value_.has_value(); }

  void take(T x) {
    ++answers_;
    value_ = std::move(x);
  }
  void fail(const caf::error& x) {
    ++answers_;
    failed_ = from_caf(x, {errc::internal, "CAF's own error", {}});
  }

private:
  int answers_ = 0;
  std::optional<T> value_;
  std::optional<error> failed_;
};

template <class T>
using later_ptr = std::shared_ptr<later<T>>;

class virtual_system {
public:
  virtual_system() : sys{without_threads(config_)} {}

  virtual_system(const virtual_system&) = delete;
  virtual_system& operator=(const virtual_system&) = delete;

  /// Ends every actor that the test started. One that is left would hold ~actor_system for ever.
  ~virtual_system() {
    for (auto& x : owned_)
      caf::anon_send_exit(x, caf::exit_reason::kill);
    owned_.clear();
    settle();
    scheduler().clock().cancel_all();
    settle();
    auto left = sys.registry().running();
    CHECK_MESSAGE(left == 0, left << " actors outlived the test");
    sys.await_actors_before_shutdown(left == 0);
  }

  /// Spawns an actor that ends with the test; it has not run when this returns.
  template <class... Ts>
  auto spawn(Ts&&... xs) {
    auto x = sys.spawn(std::forward<Ts>(xs)...);
    owned_.push_back(caf::actor_cast<caf::strong_actor_ptr>(x));
    return x;
  }

  template <class Handle, class... Ts>
  void tell(const Handle& to, Ts&&... xs) {
    caf::anon_send(to, std::forward<Ts>(xs)...);
  }

  /// Sends a request and returns at once; nothing has run yet.
  template <class T, class Handle, class... Ts>
  later_ptr<T> ask_later(const Handle& to, Ts... xs) {
    auto result = std::make_shared<later<T>>();
    spawn([=](caf::event_based_actor* self) {
      self->request(to, caf::infinite, xs...)
          .then([result](const T& x) { result->take(x); },
                [result](const caf::error& x) { result->fail(x); });
    });
    return result;
  }

  /// The same, with everything that follows delivered.
  template <class T, class Handle, class... Ts>
  later_ptr<T> ask(const Handle& to, Ts... xs) {
    auto result = ask_later<T>(to, std::move(xs)...);
    settle();
    return result;
  }

  /// Delivers all messages that are due, in the order sent; no time passes.
  void settle() { scheduler().run(); }

  /// The same in an order that `rng` chooses. One seed, one order.
  void settle(std::mt19937_64& rng) {
    while (step(rng)) {
    }
  }

  /// Lets one actor of those that have messages run; false if none has.
  bool step(std::mt19937_64& rng) {
    auto& jobs = scheduler().jobs;
    if (jobs.empty())
      return false;
    std::swap(jobs.front(), jobs[rng() % jobs.size()]);
    scheduler().run_once();
    return true;
  }

  /// Moves the clock, and stops at every timer on the way.
  void run_for(caf::timespan time) {
    run_for(time, [this] { settle(); });
  }
  void run_for(caf::timespan time, std::mt19937_64& rng) {
    run_for(time, [&] { settle(rng); });
  }

  /// Time passes in which nothing can run, as on a suspended machine: timers come late.
  void stand_still(caf::timespan time) {
    settle();
    scheduler().clock().current_time += time;
  }

  caf::actor_clock::time_point now() { return scheduler().clock().now(); }

  /// Messages that wait for their time.
  size_t timers() { return scheduler().clock().schedule().size(); }

  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(sys.scheduler());
  }

private:
  template <class Settle>
  void run_for(caf::timespan time, Settle deliver) {
    auto& clock = scheduler().clock();
    auto end = clock.now() + time;
    for (deliver(); !clock.schedule().empty() && clock.schedule().begin()->first <= end; deliver())
      clock.trigger_timeout();
    clock.current_time = end;
  }

  static caf::actor_system_config& without_threads(caf::actor_system_config& x) {
    x.set("scheduler.policy", caf::atom("testing"));
    x.set("logger.verbosity", caf::atom("quiet"));
    return x;
  }

  caf::actor_system_config config_;

public:
  caf::actor_system sys;

private:
  std::vector<caf::strong_actor_ptr> owned_;
};

} // namespace corral::test

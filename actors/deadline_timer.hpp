#pragma once

#include "messages/sandbox.hpp"

#include <caf/timespan.hpp>

#include <optional>

namespace corral {

/// An actor's one timer, set to its earliest deadline. CAF can't take a delayed message back, so an
/// outdated one is known by its epoch, and one that comes early is simply set anew.
class deadline_timer {
public:
  /// Makes sure that a `tick` arrives at `due` or before.
  template <class Self>
  void arm(Self* self, std::optional<time_point> due) {
    if (!due || (armed_for_ && *armed_for_ <= *due))
      return;
    armed_for_ = due;
    auto delay = std::max(*due - self->clock().now(), duration::zero());
    self->delayed_send(self, std::chrono::duration_cast<caf::timespan>(delay), tick_atom_v,
                       ++epoch_);
  }

  /// True if the tick is the one that was set last; the timer is then unset.
  bool fired(uint64_t epoch) {
    if (epoch != epoch_)
      return false;
    armed_for_.reset();
    return true;
  }

private:
  static constexpr tick_atom tick_atom_v = tick_atom::value;

  std::optional<time_point> armed_for_;
  uint64_t epoch_ = 0;
};

} // namespace corral

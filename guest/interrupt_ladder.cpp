#include "guest/interrupt_ladder.hpp"

#include <signal.h>

namespace corral::guest {

int interrupt_ladder::signal_for(const process_entry& x, bool ignores_interrupt, time_point now) {
  auto age = now - start_;
  // Repeated, because a process that was being traced or exec'ing may have missed it.
  if (is_killing(now))
    return SIGKILL;
  auto wanted = age >= terminate_after || ignores_interrupt ? SIGTERM : SIGINT;
  auto& sent = sent_[{x.pid, x.start_time}];
  if (sent == wanted || sent == SIGTERM)
    return 0;
  return sent = wanted;
}

} // namespace corral::guest

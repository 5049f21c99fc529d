#include "actors/reaper.hpp"

namespace corral {

reaper_actor::behavior_type reaper(reaper_actor::pointer self, provider_actor provider,
                                   duration interval) {
  auto step = std::chrono::duration_cast<caf::timespan>(interval);
  self->delayed_send(self, step, tick_atom::value);
  return {
      [self, provider, step](tick_atom) {
        self->delayed_send(self, step, tick_atom::value);
        self->send(provider, reap_atom::value);
      },
  };
}

} // namespace corral

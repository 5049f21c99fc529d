#pragma once

#include "messages/provider.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace corral {

using reaper_actor = caf::typed_actor<caf::reacts_to<tick_atom>>;

/// The clock of a pool: a `reap` to its provider every `interval`. Knows nothing of what is idle.
reaper_actor::behavior_type reaper(reaper_actor::pointer self, provider_actor provider,
                                   duration interval);

} // namespace corral

// Between the bridge and whoever can read the configuration anew.

#pragma once

#include "messages/atoms.hpp"
#include "messages/errors.hpp"
#include "messages/sandbox.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace corral {

/// Reads the configuration and puts into effect what can be while the daemon runs.
using reload_actor = caf::typed_actor<
    // `applied` and `restart`: the full names of the options that have changed and took effect, and
    // of those that need a restart. `invalid_request` with all errors, and nothing changed, if the
    // configuration is not valid.
    caf::replies_to<reload_atom>::with<fields_ptr>>;

} // namespace corral

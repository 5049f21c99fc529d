// The first element of every message between actors.

#pragma once

#include <caf/atom.hpp>

namespace corral {

#define CORRAL_ATOM(name) using name##_atom = caf::atom_constant<caf::atom(#name)>

CORRAL_ATOM(acquire);
CORRAL_ATOM(answer);
CORRAL_ATOM(cancel);
CORRAL_ATOM(configure);
CORRAL_ATOM(create);
CORRAL_ATOM(credit);
CORRAL_ATOM(data);
CORRAL_ATOM(destroy);
CORRAL_ATOM(drain);
CORRAL_ATOM(find);
CORRAL_ATOM(gone);
CORRAL_ATOM(inspect);
CORRAL_ATOM(kill);
CORRAL_ATOM(late);
CORRAL_ATOM(leave);
CORRAL_ATOM(list);
CORRAL_ATOM(owner);
CORRAL_ATOM(probe);
CORRAL_ATOM(reap);
CORRAL_ATOM(release);
CORRAL_ATOM(reload);
CORRAL_ATOM(retire);
CORRAL_ATOM(retired);
CORRAL_ATOM(send);
CORRAL_ATOM(stats);
CORRAL_ATOM(submit);
CORRAL_ATOM(tick);
CORRAL_ATOM(up);

#undef CORRAL_ATOM

} // namespace corral

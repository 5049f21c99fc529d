#pragma once

#include "messages/wire/error.hpp"

namespace corral::jail {

class sandbox_maker;

/// Makes a sandbox with the very flags that all get, lets corral-probe try to break out of it, and
/// looks at it from outside. The error names every check that failed and what to change on this
/// machine.
result<void> probe_isolation(const sandbox_maker& maker);

} // namespace corral::jail

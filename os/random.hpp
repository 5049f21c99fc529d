#pragma once

#include <cstddef>
#include <string>

namespace corral {

/// `bytes` random bytes of the kernel's generator as hex digits; ends the process if there are
/// none.
std::string random_hex(size_t bytes);

} // namespace corral

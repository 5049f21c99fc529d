#pragma once

#include <cstddef>
#include <memory>

namespace corral {

/// Buffers of one transfer, used again once their last reader has let go of them, on whichever
/// thread. The heap gives large blocks back to the kernel at once, and a block's first touch costs
/// more than filling it.
class buffer_pool {
public:
  /// Of at least `bytes`, with any content. May outlive the pool.
  std::shared_ptr<char[]> take(size_t bytes);

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace corral

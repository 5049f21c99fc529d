#pragma once

#include <cstddef>
#include <memory>

namespace corral {

/// Buffers of one transfer, used again once their last reader has let go of them, on whichever
/// thread. The heap gives large blocks back to the kernel at once, and a block's first touch costs
/// more than filling it.
class buffer_pool {
public:
  static constexpr size_t most_unused = 8;

  /// Of `bytes`, with any content. May outlive the pool. Only buffers of the largest size asked for
  /// are used again, at most `most_unused` of them wait for it.
  std::shared_ptr<char[]> take(size_t bytes);

  /// How many buffers wait.
  size_t unused() const;

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace corral

#include "messages/wire/buffer_pool.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace corral {

struct buffer_pool::state {
  std::mutex mutex;
  size_t bytes = 0; // Of each in `unused`: a smaller wish would keep more than it is charged for.
  std::vector<std::unique_ptr<char[]>> unused;

  std::unique_ptr<char[]> find(size_t wanted) {
    std::lock_guard lock{mutex};
    if (wanted > bytes) {
      unused.clear();
      bytes = wanted;
    }
    if (wanted < bytes || unused.empty())
      return std::make_unique_for_overwrite<char[]>(wanted);
    auto found = std::move(unused.back());
    unused.pop_back();
    return found;
  }
};

std::shared_ptr<char[]> buffer_pool::take(size_t bytes) {
  if (!state_)
    state_ = std::make_shared<state>();
  auto buffer = state_->find(bytes);
  auto give_back = [pool = std::weak_ptr{state_}, bytes](char* x) {
    std::unique_ptr<char[]> mine{x};
    auto home = pool.lock();
    if (!home)
      return;
    std::lock_guard lock{home->mutex};
    if (home->bytes == bytes && home->unused.size() < most_unused)
      home->unused.push_back(std::move(mine));
  };
  return {buffer.release(), std::move(give_back)};
}

size_t buffer_pool::unused() const {
  if (!state_)
    return 0;
  std::lock_guard lock{state_->mutex};
  return state_->unused.size();
}

} // namespace corral

#include "guest/files/keyed_queue.hpp"

#include <algorithm>

namespace corral::guest {

std::optional<keyed_queue::item> keyed_queue::take() {
  auto i = std::find_if(waiting_.begin(), waiting_.end(), [&](auto& x) { return is_ready(x); });
  if (i == waiting_.end())
    return std::nullopt;
  auto result = std::move(*i);
  waiting_.erase(i);
  if (!result.key.empty())
    taken_.insert(result.key);
  return result;
}

bool keyed_queue::has_ready() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](auto& x) { return is_ready(x); });
}

size_t keyed_queue::ready() const {
  return static_cast<size_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [&](auto& x) { return is_ready(x); }));
}

} // namespace corral::guest

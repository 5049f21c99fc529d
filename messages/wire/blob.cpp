#include "messages/wire/blob.hpp"

#include <algorithm>

namespace corral {

blob blob::take(std::string&& bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  std::string_view view{*owner};
  return {std::move(owner), view};
}

blob blob::take(std::vector<char>&& bytes) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(bytes));
  std::string_view view{owner->data(), owner->size()};
  return {std::move(owner), view};
}

blob blob::slice(size_t offset, size_t count) const {
  return {owner_, bytes_.substr(std::min(offset, bytes_.size()), count)};
}

blob join(const std::vector<blob>& pieces) {
  if (pieces.empty())
    return {};
  if (pieces.size() == 1)
    return pieces.front();
  std::string all;
  size_t total = 0;
  for (auto& x : pieces)
    total += x.size();
  all.reserve(total);
  for (auto& x : pieces)
    all.append(x.view());
  return blob::take(std::move(all));
}

} // namespace corral

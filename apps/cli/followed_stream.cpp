#include "apps/cli/followed_stream.hpp"

namespace corral::cli {

std::string_view followed_stream::take(uint64_t offset, std::string_view bytes) {
  if (offset < next_) // Never sent twice; a daemon that does so is not believed.
    return {};
  if (offset > next_ && !live_)
    stalled_ = true;
  if (stalled_)
    return {};
  lost_ += offset - next_;
  next_ = offset + bytes.size();
  return bytes;
}

std::string_view followed_stream::rest(std::string_view whole, uint64_t total) {
  if (total <= next_)
    return {};
  if (whole.size() == total)
    return whole.substr(next_);
  lost_ += total - next_;
  return {};
}

} // namespace corral::cli

#include "apps/cli/input_feed.hpp"

#include <algorithm>

namespace corral::cli {

void input_feed::offer(std::string bytes) {
  open_ = open_ && !bytes.empty();
  waiting_ = std::move(bytes);
}

std::optional<message> input_feed::next(time_point now) {
  auto tell_end = !open_ && waiting_.empty();
  if (under_way_ || now < not_before_ || (waiting_.empty() && !tell_end) || end_told_)
    return std::nullopt;
  message x;
  x.header.set("op", "input").set("request", exec_id_);
  if (tell_end)
    x.header.set("eof", true);
  else
    x.add_part("", blob::copy_of(waiting_));
  end_told_ = tell_end;
  under_way_ = true;
  return x;
}

void input_feed::accepted(uint64_t bytes, time_point now) {
  under_way_ = false;
  waiting_.erase(0, bytes);
  if (!waiting_.empty())
    not_before_ = now + retry;
}

void input_feed::refused() {
  under_way_ = false;
  open_ = false;
  end_told_ = true;
  waiting_.clear();
}

std::optional<std::chrono::milliseconds> input_feed::due_in(time_point now) const {
  if (under_way_ || waiting_.empty())
    return std::nullopt;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(not_before_ - now);
  return std::max(left, std::chrono::milliseconds::zero());
}

} // namespace corral::cli

#include "bridge/reply_backlog.hpp"

#include <utility>

namespace corral {

namespace {

uint64_t size_of(const zmq_loop::outgoing& x) {
  return x.header.size() + x.payload.size();
}

} // namespace

void reply_backlog::push(zmq_loop::outgoing x, uint64_t under_way, time_point now) {
  if (empty())
    moved_ = now;
  look(under_way, now);
  bytes_ += size_of(x);
  messages_.push_back(std::move(x));
}

std::optional<zmq_loop::outgoing> reply_backlog::take(const limits& x, uint64_t under_way,
                                                      time_point now) {
  look(under_way, now);
  if (empty() || under_way > x.under_way)
    return std::nullopt;
  auto result = std::move(messages_.front());
  messages_.pop_front();
  auto size = size_of(result);
  bytes_ -= size;
  seen_ = under_way + size;
  return result;
}

bool reply_backlog::hopeless(const limits& x, uint64_t under_way, time_point now) {
  look(under_way, now);
  auto patience = bytes_ > x.waiting / 4 ? x.patience / 10 : x.patience;
  return !empty() && (bytes_ > x.waiting || now - moved_ >= patience);
}

std::deque<zmq_loop::outgoing> reply_backlog::take_all() {
  bytes_ = 0;
  return std::exchange(messages_, {});
}

void reply_backlog::look(uint64_t under_way, time_point now) {
  if (under_way < seen_)
    moved_ = now;
  seen_ = under_way;
}

} // namespace corral

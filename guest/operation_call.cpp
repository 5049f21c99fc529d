#include "guest/operation_call.hpp"

namespace corral::guest {

namespace {

/// A worker runs at most this far ahead of the link.
constexpr uint64_t most_unsent = 2 * max_frame_payload;

} // namespace

operation_call::operation_call(event_loop& loop, outbox& out, int64_t re, uint64_t total,
                               event_loop::clock::duration timeout, std::function<void()> on_done)
    : loop_{loop}, out_{out}, re_{re}, deadline_{loop.now() + timeout},
      on_done_{std::move(on_done)}, expected_{total}, granted_{initial_credit} {}

result<blob> operation_call::next() {
  std::unique_lock lock{mutex_};
  changed_.wait_until(lock, deadline_,
                      [this] { return stopped_ || !pieces_.empty() || expected_ == 0; });
  if (stopped_ || (pieces_.empty() && expected_ > 0))
    return tl::unexpected{why_stopped()};
  if (pieces_.empty())
    return blob{};
  auto piece = std::move(pieces_.front());
  pieces_.pop_front();
  untaken_ -= piece.size();
  if (expected_ > 0) {
    granted_ += piece.size();
    lock.unlock();
    in_loop([this, n = piece.size()] { out_.grant_peer(re_, n); });
  }
  return piece;
}

void operation_call::finish(message reply) {
  in_loop([this, reply = std::move(reply)] {
    out_.send(re_, reply);
    on_done_();
  });
}

void operation_call::begin(const fields& header, uint64_t total) {
  in_loop([this, header, total] {
    out_.begin(re_, header, total,
               [self = shared_from_this()](uint64_t bytes) { self->on_sent(bytes); });
  });
}

result<void> operation_call::write(blob piece) {
  {
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, deadline_, [this] { return stopped_ || unsent_ < most_unsent; });
    if (stopped_ || unsent_ >= most_unsent)
      return tl::unexpected{why_stopped()};
    unsent_ += piece.size();
  }
  in_loop([this, piece = std::move(piece)] { out_.push(re_, piece); });
  return {};
}

void operation_call::end(const fields& trailer) {
  in_loop([this, trailer] {
    out_.end(re_, trailer);
    on_done_();
  });
}

bool operation_call::cancelled() const {
  std::lock_guard lock{mutex_};
  return stopped_ || loop_.now() >= deadline_;
}

result<void> operation_call::take(blob piece) {
  std::lock_guard lock{mutex_};
  if (piece.size() > expected_ || piece.size() > granted_)
    return failure(errc::invalid_request, "more payload than stated or granted");
  expected_ -= piece.size();
  granted_ -= piece.size();
  untaken_ += piece.size();
  if (!stopped_ && !piece.empty())
    pieces_.push_back(std::move(piece));
  changed_.notify_all();
  return {};
}

void operation_call::stop(bool linked) {
  linked_ = linked;
  std::lock_guard lock{mutex_};
  stopped_ = true;
  pieces_.clear();
  changed_.notify_all();
}

error operation_call::why_stopped() const {
  if (loop_.now() >= deadline_)
    return {errc::busy, "the operation ran out of time", {}};
  return {errc::busy, "the operation was cancelled", {}};
}

void operation_call::in_loop(std::function<void()> work) {
  loop_.post([self = shared_from_this(), work = std::move(work)] {
    if (self->linked_)
      work();
  });
}

void operation_call::on_sent(uint64_t bytes) {
  std::lock_guard lock{mutex_};
  unsent_ -= bytes;
  changed_.notify_all();
}

} // namespace corral::guest

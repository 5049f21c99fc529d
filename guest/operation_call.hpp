// One file operation under way: its worker thread on one side, the loop on the other.

#pragma once

#include "guest/event_loop.hpp"
#include "guest/operation.hpp"
#include "guest/outbox.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace corral::guest {

/// Both ends of the seam for one request. The loop owns the request's place on the link; the worker
/// blocks here, at most until the operation's time is up.
class operation_call : public payload_reader,
                       public reply_writer,
                       public std::enable_shared_from_this<operation_call> {
public:
  /// `total` bytes of payload follow. `on_done` is called in the loop once the reply is complete.
  operation_call(event_loop& loop, outbox& out, int64_t re, uint64_t total,
                 event_loop::clock::duration timeout, std::function<void()> on_done);

  // The worker's side.
  result<blob> next() override;
  void finish(message reply) override;
  void begin(const fields& header, uint64_t total) override;
  result<void> write(blob piece) override;
  void end(const fields& trailer) override;
  bool cancelled() const override;

  // The loop's side.
  /// The next piece of the payload. An error if it is more than was stated or granted.
  result<void> take(blob piece);
  /// Makes the worker give up; `linked` if there is still somebody to answer.
  void stop(bool linked);

private:
  error why_stopped() const;
  void in_loop(std::function<void()> work);
  void on_sent(uint64_t bytes);

  event_loop& loop_;
  outbox& out_;
  const int64_t re_;
  const event_loop::clock::time_point deadline_;
  const std::function<void()> on_done_;
  bool linked_ = true; ///< The loop's own.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::deque<blob> pieces_;
  uint64_t expected_;    ///< Bytes that the peer still has to send.
  uint64_t granted_;     ///< Bytes that it may send without further credit.
  uint64_t untaken_ = 0; ///< Bytes in `pieces_`.
  uint64_t unsent_ = 0;  ///< Bytes of the reply handed to the loop.
};

} // namespace corral::guest

#pragma once

#include "guest/capture.hpp"
#include "guest/exec_request.hpp"
#include "guest/key_store.hpp"
#include "guest/output_text.hpp"
#include "guest/shell_session.hpp"
#include "guest/stream_window.hpp"
#include "messages/wire/message.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace corral::guest {

/// Serves exec and what goes with it on the one session. One exec at a time: another is `busy`, for
/// the daemon keeps the queue. Requests are named by the `re` of the link they came by.
class exec_service {
public:
  /// Sends an event or a reply; `x` has no `re` yet.
  using sender = std::function<void(int64_t re, message x)>;

  struct settings {
    size_t max_output_chars = default_output_chars;
    std::chrono::milliseconds timeout{600'000}; ///< Of an exec that names none.
    key_store::limits keys;
  };

  static constexpr std::chrono::milliseconds started_after{5};

  exec_service(event_loop& loop, shell_session& session, sender send);

  void configure(const settings& x);

  void exec(int64_t re, const message& request);
  /// Tells what became of a key: `finished` with all that the exec's reply had, `running` or
  /// `not_found`; and the guest's age, by which a client can tell that it was there all along.
  void retained(int64_t re, const message& request);
  /// Answers once the running exec has ended, with its outcome: at once if none runs. For a daemon
  /// that found one running.
  void attach(int64_t re);
  void input(int64_t re, const message& request);
  void cancel(int64_t re);
  void reset_session(int64_t re);
  void acknowledge(int64_t re, uint64_t seq);

  /// The link has gone: what runs goes on, and its result waits if it has a key.
  void disconnected();

  bool running() const { return run_.has_value(); }
  /// The running exec's key; empty without one.
  std::string running_key() const { return run_ ? run_->key : ""; }
  /// What is left of its time; 0 if none runs.
  std::chrono::milliseconds running_left() const;
  std::vector<std::string> keys() const;

private:
  /// A request that waits for the running exec.
  struct waiter {
    int64_t re = 0;
    result_wish wish;
  };
  struct execution {
    std::string key; ///< Empty without one.
    std::chrono::milliseconds timeout{0};
    event_loop::time_point started;
    bool input_open = false;
    std::vector<waiter> waiters;
    capture out;
    capture err;
    std::optional<int64_t> streamed_to;
    stream_window window;
    event_loop::timer started_timer;
    event_loop::timer chunk_timer;
  };

  void start(shell_command command, waiter first, std::string key, bool stream);
  void refuse(int64_t re, error x) { send_(re, make_reply(x)); }
  void announce();
  void take_output(output_stream stream, std::string_view bytes);
  void send_chunks(bool all);
  void finish(result<shell_outcome> x);
  message compose(const waiter& to, const retained_result& x) const;
  void arm_expiry();

  event_loop& loop_;
  shell_session& session_;
  sender send_;
  settings settings_;
  event_loop::time_point born_ = loop_.now();
  key_store keys_;
  std::optional<execution> run_;
  event_loop::timer expiry_timer_;
  event_loop::timer trim_timer_; ///< Gives memory back, off the way of a reply.
};

} // namespace corral::guest

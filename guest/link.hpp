#pragma once

#include "guest/dispatcher.hpp"
#include "guest/frame_socket.hpp"

#include <optional>

namespace corral::guest {

/// The guest's side of the link: dials the daemon, proves the secret and has it proved, then passes
/// frames to the dispatcher. When the connection goes it dials again every second; what runs in the
/// sandbox goes on meanwhile.
class daemon_link {
public:
  struct settings {
    std::string socket; ///< The daemon's listening socket; empty if there is only one connection.
    std::string id;
    std::string secret;
    std::string boot; ///< Tells this guest from an earlier one with the same id.
    std::chrono::milliseconds orphan_timeout{900'000};
  };
  struct callbacks {
    std::function<fields()> describe; ///< session, running and keys, for the hello.
    std::function<void(const fields& limits)> on_limits;
    std::function<void()> on_end; ///< Told to exit, or orphaned.
  };

  static constexpr std::chrono::seconds redial_after{1};

  daemon_link(event_loop& loop, settings x, dispatcher& requests, outbox& out, callbacks calls);

  void dial();
  /// Speaks over a connection that is there already.
  void adopt(unique_fd connection);

  void write(std::string head, blob payload);
  bool writable() const { return proved_ && socket_->idle(); }
  bool connected() const { return proved_; }

  /// Checks whether the guest may go on without a daemon: whenever something has ended.
  void await_daemon();

private:
  void say_hello();
  result<void> take(frame x);
  result<void> take_hello(const fields& x);
  void lost();

  event_loop& loop_;
  settings settings_;
  dispatcher& requests_;
  outbox& out_;
  callbacks calls_;
  std::optional<frame_socket> socket_;
  bool proved_ = false;
  event_loop::timer redial_;
  event_loop::timer orphaned_;
};

} // namespace corral::guest

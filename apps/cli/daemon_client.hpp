// A connection to corrald: what every command of the program is built on.

#pragma once

#include "apps/cli/cli_error.hpp"
#include "apps/cli/client_keys.hpp"
#include "apps/cli/interrupts.hpp"
#include "messages/wire/message.hpp"

#include <zmq.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace corral::cli {

/// Whom a connection speaks for. A client that names itself and announces heartbeats can hold
/// leases; they end with it, after three missed heartbeats.
struct client_identity {
  std::string name; ///< Empty: a client of no name, for this connection only.
  std::chrono::milliseconds heartbeat{0};
};

/// Requests out, replies and events in, one thread. While something is waited for, the daemon is
/// pinged: one that stops answering or was restarted ends the wait with `no_answer` or
/// `daemon_restarted` instead of never.
class daemon_client {
public:
  using clock = std::chrono::steady_clock;
  using event_handler = std::function<cli_result<void>(const message&)>;

  struct settings {
    std::string endpoint;                  ///< Such as "ipc:///run/corral/corral.sock".
    std::chrono::milliseconds hello{5000}; ///< How long the daemon may take to say hello.
    std::chrono::milliseconds ping{2000};  ///< Silence after which it is pinged; thrice, then it
                                           ///< counts as gone.
    client_identity identity{};
    std::optional<client_keys> keys{}; ///< For a TCP endpoint that asks for them.
  };

  /// Connects and says hello. `no_daemon` says what is wrong with the endpoint and what to do.
  static cli_result<daemon_client> connect(settings x);

  const settings& where() const { return settings_; }

  /// The daemon's hello: server, boot, pools, limits.
  const fields& welcome() const { return welcome_; }

  /// Sends a request under an id of its own, which is returned. `invalid_request` if the payload
  /// is above the protocol's limit: libzmq would drop it without a word.
  cli_result<std::string> send(message request);

  /// Sends a message that has no reply: data, ack. Without a connection it waits for one, or is
  /// dropped if it need not come through.
  void notify(const message& x, bool waits = true);

  /// The next reply or event; nothing if `limit` passes first or one of the descriptors in
  /// `others` becomes readable.
  cli_result<std::optional<message>> receive(std::chrono::milliseconds limit,
                                             const std::vector<int>& others = {});

  /// From now on a signal ends a `call`: `interrupted`. Null: no longer.
  void interrupt_by(interrupts* signals) { signals_ = signals; }

  /// Sends a request and waits for its reply; a refusal is an error with the wire's code. Events of
  /// it go to `on_event`, whose error ends the wait. `no_answer` after `limit`.
  cli_result<message> call(message request, std::chrono::milliseconds limit,
                           const event_handler& on_event = {});
  cli_result<message> call(message request) {
    return call(std::move(request), std::chrono::hours{48});
  }

  /// The reply that a message is, for the request of that id: nothing if it is anything else.
  static std::optional<cli_result<message>> as_reply(const message& x, std::string_view id);

private:
  explicit daemon_client(settings x);

  cli_result<void> say_hello();
  cli_result<std::optional<message>> take();
  bool is_own_pong(const message& x) const;
  bool was_refused();
  cli_result<void> keep_alive();
  void wait(std::chrono::milliseconds limit, const std::vector<int>& others);

  settings settings_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::socket_t refusals_; // Tells of a handshake that the daemon ended.
  fields welcome_;
  interrupts* signals_ = nullptr;
  uint64_t last_id_ = 0;
  clock::time_point heard_ = clock::now();
  clock::time_point pinged_ = heard_;
  int unanswered_ = 0;
};

} // namespace corral::cli

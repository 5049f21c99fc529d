#pragma once

#include "messages/wire/blob.hpp"
#include "os/unique_fd.hpp"

#include <zmq.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace corral {

/// The ZeroMQ side of the bridge without any actor: one ROUTER socket, polled together with a
/// wake-up descriptor, on one thread. All methods but `wake` and `stop` belong to that thread.
class zmq_loop {
public:
  struct settings {
    std::string endpoint;                         ///< Such as "ipc:///run/corral/corral.sock".
    int64_t max_message_bytes = 16 * 1024 * 1024; ///< Of one frame; libzmq drops a peer beyond it.
  };

  /// How many bytes libzmq still holds for one client. Shared with the messages under way, whose
  /// memory libzmq frees on its own thread.
  struct account {
    std::atomic<uint64_t> queued = 0;
    std::atomic<bool> awaited = false; ///< `on_freed` is to tell whenever it becomes less.
  };
  using account_ptr = std::shared_ptr<account>;

  /// A message to one client.
  struct outgoing {
    std::string routing_id;
    bool delimiter = false; ///< A REQ client expects its empty frame back.
    std::string header;
    blob payload;
    account_ptr charge;
    uint64_t tag = 0; ///< If not 0, `on_freed` tells when the payload has left our memory.
  };

  /// The frames after the routing id.
  using receiver = std::function<void(std::string routing_id, std::vector<zmq::message_t> frames)>;

  struct callbacks {
    receiver on_message;
    std::function<void()> on_wake;
    std::function<void(uint64_t tag, uint64_t bytes)> on_freed; ///< Tag 0: of an awaited account.
  };

  static constexpr std::string_view protocol = "corral/1";

  /// Binds. Throws zmq::error_t if that fails.
  zmq_loop(zmq::context_t& context, const settings& x);
  ~zmq_loop();

  /// Runs until `stop`.
  void run(const callbacks& on);

  /// False if the client is gone.
  bool send(outgoing x);

  /// Makes `run` call `on_wake` soon. From any thread; cheap if one is pending.
  void wake();
  void stop();

private:
  struct freed_list;
  struct lent;

  static void release(void* data, void* hint);
  zmq::message_t lend(blob bytes, const account_ptr& charge, uint64_t tag);
  bool receive_some(const callbacks& on);
  void tell_freed(const callbacks& on);
  void clear_wake();

  zmq::socket_t router_;
  unique_fd wake_fd_;
  std::atomic<bool> woken_ = false;
  std::atomic<bool> stopped_ = false;
  std::shared_ptr<freed_list> freed_;
};

} // namespace corral

#pragma once

#include "actors/io_loop.hpp"
#include "messages/wire/blob.hpp"
#include "os/unique_fd.hpp"

#include <zmq.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace corral {

/// The loop under the bridge, without any actor: one ROUTER socket, the descriptors that links
/// watch and wake-ups from elsewhere, on one thread. All but `wake` and `stop` belong to that
/// thread.
class zmq_loop : public io_loop {
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
  static constexpr std::string_view zap_domain = "corral";

  /// Binds. Throws zmq::error_t if that fails.
  zmq_loop(zmq::context_t& context, const settings& x);
  ~zmq_loop() override;

  /// Listens on TCP as well, before `run`; returns the endpoint in full. With a secret key, in Z85,
  /// only clients whose own key the context's zap_handler knows get through. Throws zmq::error_t.
  std::string listen(const std::string& endpoint, const std::string& secret_key = {});

  /// The name that zap_handler gave to the sender of a message, by any of its frames; empty for one
  /// that it was not asked about.
  static std::string_view sender_of(zmq::message_t& frame);

  watch_id watch(int fd, callback ready) override;
  void want_writable(watch_id id, bool wanted) override;
  void unwatch(watch_id id) override;

  /// Runs until `stop`.
  void run(const callbacks& on);

  /// False if the client is gone.
  bool send(outgoing x);

  /// Makes `run` call `on_wake` soon. From any thread; costs a system call only if the loop sleeps.
  void wake();
  void stop();

private:
  struct mailbox;
  struct lent;

  static void release(void* data, void* hint);
  zmq::message_t lend(blob bytes, const account_ptr& charge, uint64_t tag);
  bool receive_some(const callbacks& on);
  void tell_freed(const callbacks& on);
  void wait(bool may_sleep);
  void add(int fd, watch_id id);

  struct watched {
    int fd;
    bool wants_writable = false;
    std::shared_ptr<callback> ready; // Shared: it may unwatch itself while it is called.
  };

  zmq::socket_t router_;
  unique_fd epoll_fd_;
  std::unordered_map<watch_id, watched> watches_;
  watch_id last_watch_ = 1; // 0 and 1 are ZeroMQ's descriptor and the wake-up's.
  std::atomic<bool> stopped_ = false;
  std::shared_ptr<mailbox> mailbox_;
};

} // namespace corral

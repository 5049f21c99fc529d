#pragma once

#include "bridge/client_registry.hpp"
#include "bridge/hosted.hpp"
#include "bridge/latency.hpp"
#include "bridge/open_requests.hpp"
#include "bridge/principals.hpp"
#include "bridge/retained_results.hpp"
#include "bridge/wire_edge.hpp"
#include "bridge/zmq_loop.hpp"
#include "messages/provider.hpp"
#include "messages/reload.hpp"
#include "messages/wire/frame.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <set>

namespace corral {

/// The edge between ZeroMQ and the actors. Beside the answers it takes:
using bridge_actor = answer_sink::extend<
    // Answers all but pings, cancels and input with shutting_down from now on.
    caf::reacts_to<drain_atom>,
    // INTERNAL: time to look for clients that have gone silent.
    caf::reacts_to<tick_atom>>;

/// Takes an event's topic, its subject, and what else it says (event_publisher::publish).
using event_sink =
    std::function<void(std::string_view topic, const fields& subject, const fields& more)>;

/// What clients are told of a pool.
struct pool_facts {
  std::string name = "default";
  std::string provider; ///< Its kind, such as "namespace".
  fields capabilities;
};

struct bridge_settings {
  std::vector<pool_facts> pools{1}; ///< The first is the default.
  fields limits;                    ///< Told in a hello.
  std::string version;
  std::string boot; ///< Another one at every start.
  size_t max_requests = 4096;
  size_t client_request_bytes = 64 * 1024 * 1024; ///< Payload of one client's open requests.
  double rate_limit = 0;         ///< Requests a second of one client, and at once; 0: no limit.
  reply_backlog::limits replies; ///< What one client has not taken yet.
  int64_t transfer_max_bytes = 100 * 1024 * 1024;
  retained_results::limits keyed; ///< Results of execs with a key, for when their sandbox is gone.
  /// Replies to execs of clients with a name, for when their connection breaks.
  retained_results::limits recent{std::chrono::minutes{2}, 4096, 8 * 1024 * 1024, 64 * 1024};
  /// Where the socket's users subscribe to events: an endpoint, or a name in its directory. Empty:
  /// nowhere.
  std::string events;
  std::string tcp_events; ///< Where the holders of keys for all users do.
  principals who;
  reload_actor reload; ///< Null: the configuration can't be read anew.
  event_sink publish = [](std::string_view, const fields&, const fields&) {};
};

/// Hears what an operator should know: "client forgotten", "malformed message".
using bridge_observer = std::function<void(std::string_view event, const fields& about)>;

class loop_thread;

/// `queue_full`: by the bytes of one client's open requests, or by the daemon's number of them.
error too_many(bool of_this_client);

/// What an event says of the sandbox that it is about: sandbox, pool, user and thread.
fields_ptr subject_of(const grant& g);

/// The bridge: a typed actor that lives on the ZeroMQ thread, so that no message changes threads
/// between the socket and the sandbox's mailbox. Its handlers and `receive` run on that thread
/// alone.
class bridge : public hosted<bridge_actor::base> {
public:
  using super = hosted<bridge_actor::base>;

  /// `cfg.host` is the unit of the loop's thread.
  bridge(caf::actor_config& cfg, zmq_loop& loop, bridge_settings settings, provider_actor provider,
         bridge_observer observe);

  /// A message from a client. Not a handler: called between them.
  void receive(const std::string& routing_id, std::vector<zmq::message_t> frames);

  /// A client has taken so many bytes: of a streamed reply, or, if the ticket is 0, of anything,
  /// while more waits for it.
  void taken(ticket_id ticket, uint64_t bytes);

protected:
  behavior_type make_behavior() override;
  void on_exit() override;

private:
  /// What the bridge keeps of a request that is open.
  struct call {
    std::string routing_id;
    bool from_req_socket = false;
    request_ptr what;
    const principal* who;
    sandbox_actor sandbox; // Once routed.
    std::string box;       // Its id.
    std::string origin;    // As an exec's result tells it.
    time_point arrived;
    int reroutes = 0;
    int64_t upload_left = 0;   // Bytes of a streamed write that are still to come.
    int64_t upload_credit = 0; // How many of them may.
    int64_t upload_seq = 0;
    fields_ptr subject{}; // Of its events: its sandbox, once routed.
    bool started = false; // As subscribers were told.
  };
  using requests = open_requests<call>;
  /// What a target stands for, or who waits to know.
  struct route {
    sandbox_actor sandbox; // Null while it is being resolved.
    std::string id;        // The sandbox's.
    std::string pool;      // The one that it is in.
    std::vector<ticket_id> waiting;
    fields_ptr subject{}; // Of events about what happens in it.
  };

  // Arrival.
  void admit(const std::string& routing_id, const std::string& sender, arrival x);
  void serve(ticket_id ticket);
  void dispatch(ticket_id ticket);
  void without_reply(const std::string& client, const corral::request& r);
  bool refused(ticket_id ticket);
  std::optional<error> too_fast(client_registry::client& client, const op_spec& spec) const;
  void refuse(const std::string& routing_id, bool delimiter, const std::string& id,
              const error& why);

  // Who may do what.
  std::optional<error> unwelcome(const std::string& routing_id, const principal* who) const;
  bool permitted(ticket_id ticket);
  bool is_its_own(ticket_id ticket, const std::string& user);
  void deny_knowledge(ticket_id ticket);
  std::string events_for(const principal& who) const;
  /// As the registry of clients knows it.
  static std::string sender_of(const call& x) {
    return x.who->name == principals::ipc ? "" : x.who->name;
  }

  // Requests that the bridge or the provider answers.
  void hello(ticket_id ticket);
  void acquire(ticket_id ticket);
  void release(ticket_id ticket);
  void destroy(ticket_id ticket);
  void get(ticket_id ticket);
  void list(ticket_id ticket);
  void stats(ticket_id ticket);
  void reload(ticket_id ticket);
  const pool_facts* find_pool(const std::string& name) const;
  template <class... Ts>
  void ask_provider(ticket_id ticket, Ts&&... xs);

  // Requests for a sandbox.
  void route_request(ticket_id ticket);
  void resolve(const std::string& key, const corral::request& r, const client_key& client);
  void resolved(const std::string& key, const grant& g);
  void unresolved(const std::string& key, const error& why);
  void forward(ticket_id ticket, const route& to);
  bool is_elsewhere(ticket_id ticket, const route& x);
  void reroute(ticket_id ticket);
  void nothing_runs(ticket_id ticket);
  void cancel(ticket_id ticket);
  void input(ticket_id ticket);
  void upload(ticket_id ticket, const corral::request& r);
  void remember(const std::string& key, const grant& g);
  void ended(const caf::down_msg& x);

  // Results that are asked for again.
  void result(ticket_id ticket);
  bool answer_of_ended(ticket_id ticket, const route& to);
  void retain(const requests::entry& e, const message& reply);
  void forget_keys(const std::string& sandbox) { keyed_.erase_all(sandbox + '\0'); }

  // Answers.
  void answer(ticket_id ticket, message reply);
  void answer(ticket_id ticket, const error& why) { answer(ticket, make_reply(why)); }
  void event(ticket_id ticket, const message_ptr& x);
  void abandon(ticket_id ticket, const error& why);
  void exec_started(requests::entry& e);
  void exec_finished(requests::entry& e, const fields& reply);
  /// False if the client is gone or is not served any more.
  bool send(const std::string& routing_id, bool delimiter, message x, uint64_t tag = 0);
  void go_on_sending(const std::string& routing_id);
  void forget(client_registry::client& x);
  fields counters() const;

  void look_for_silent_clients();
  time_point now() const { return const_cast<bridge*>(this)->clock().now(); }

  zmq_loop& loop_;
  bridge_settings settings_;
  provider_actor provider_;
  bridge_observer observe_;
  client_registry clients_;
  std::set<std::string> backlogged_; // Routing ids.
  requests open_;
  retained_results keyed_;              // By sandbox and key.
  retained_results recent_;             // By client and request.
  std::map<std::string, route> routes_; // By target.
  std::set<caf::actor_addr> monitored_;
  std::map<std::string_view, latency_histogram> latency_; // By op.
  std::map<std::string, uint64_t> errors_;                // By code.
  uint64_t dropped_ = 0;
  std::optional<time_point> looked_; // For silent clients.
  bool draining_ = false;
};

/// Spawns the bridge on the loop's thread and starts that.
bridge_actor start_bridge(caf::actor_system& sys, loop_thread& thread, bridge_settings settings,
                          provider_actor provider, bridge_observer observe);

} // namespace corral

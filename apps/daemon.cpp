#include "apps/daemon.hpp"

#include "actors/pools.hpp"
#include "actors/provider.hpp"
#include "actors/reaper.hpp"
#include "apps/daemon_log.hpp"
#include "apps/endpoints.hpp"
#include "apps/open_pool.hpp"
#include "apps/reloader.hpp"
#include "bridge/bridge.hpp"
#include "bridge/hosted.hpp"
#include "bridge/loop_thread.hpp"
#include "os/files.hpp"
#include "os/groups.hpp"
#include "os/random.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corral {

namespace {

namespace fs = std::filesystem;

using failed = tl::unexpected<std::string>;

tl::expected<void, std::string> make_directories(const config& x) {
  std::error_code ignored;
  auto mask = ::umask(022); // What lies above is not ours to close.
  for (auto& path : {x.data_dir, x.state_dir, x.run_dir})
    fs::create_directories(fs::path{path}.parent_path(), ignored);
  ::umask(mask);
  auto root = ::geteuid() == 0;
  if (root && !x.ipc_group.empty() && !group_id(x.ipc_group))
    return failed{"ipc_group: there is no group \"" + x.ipc_group + "\" on this machine"};
  // Sandboxes run under other uids and reach their parts of run_dir and data_dir by name, so these
  // can be passed through but not listed; the socket's own mode keeps strangers out.
  auto made = make_directory(x.data_dir, root ? 0711 : 0700);
  if (made)
    made = make_directory(x.state_dir, 0700);
  if (made)
    made = make_directory(x.run_dir, root ? 0751 : 0700, static_cast<uid_t>(-1), ipc_group_of(x));
  if (!made)
    return failed{made.error().what};
  return {};
}

/// The log, what subscribers are told of it, and which pool has what.
lifecycle_observer observe(event_publisher& events, std::shared_ptr<pool_directory> directory,
                           size_t pool) {
  return [&events, directory, pool](std::string_view event, const fields& about) {
    static constexpr std::string_view published[] = {"created", "acquired", "released", "evicted",
                                                     "reaped",  "lost",     "destroyed"};
    log_event(event, about);
    auto id = about.text("sandbox").value_or("");
    if (event == "created" || event == "adopted")
      directory->there(id, pool);
    else if (event == "gone" || event == "left")
      directory->gone(id, pool, std::chrono::steady_clock::now());
    if (std::find(std::begin(published), std::end(published), event) != std::end(published))
      events.publish("sandbox." + std::string{event}, about);
  };
}

bridge_settings bridge_settings_of(const config& x, const std::vector<open_pool>& pools,
                                   const std::string& boot) {
  bridge_settings s;
  s.pools.clear();
  for (auto& x : pools)
    s.pools.push_back(facts_of(x));
  auto& pool = *pools.front().config;
  s.limits.set("header", fields::max_bytes).set("payload", max_payload_bytes);
  s.limits.set("transfer", x.transfer_max_bytes).set("queue", pool.sandbox_queue);
  s.limits.set("timeout", max_timeout_ms).set("timeout_ms", pool.exec_timeout.count());
  s.limits.set("heartbeat_ms", max_heartbeat_ms);
  s.version = CORRAL_VERSION;
  s.boot = boot;
  // Beside the socket its name will do, and tells nothing of this machine.
  fs::path events{x.events_socket};
  auto beside = events.parent_path() == fs::path{x.socket}.parent_path();
  s.events = beside ? events.filename().native() : "ipc://" + x.events_socket;
  s.tcp_events = x.events_listen.empty() ? "" : x.events_listen.front();
  s.who = principals_of(x);
  s.max_requests = x.queue;
  s.client_request_bytes = x.client_request_bytes;
  s.rate_limit = x.rate_limit;
  s.replies.under_way = x.client_queue_bytes;
  s.replies.waiting = 64 * x.client_queue_bytes;
  s.keyed.ttl = pool.guest.result_ttl;
  s.keyed.count = pool.guest.keys;
  s.keyed.memory = pool.guest.result_memory;
  s.transfer_max_bytes = static_cast<int64_t>(x.transfer_max_bytes);
  return s;
}

/// The end of an actor that nothing can replace ends the process: the next start takes over.
void end_with(caf::actor_system& sys, const caf::strong_actor_ptr& vital, std::string what) {
  sys.spawn<caf::hidden>([vital, what](caf::event_based_actor* self) -> caf::behavior {
    self->monitor(vital);
    self->set_down_handler([what](const caf::down_msg& x) {
      if (x.reason == caf::exit_reason::user_shutdown)
        return;
      spdlog::critical("the {} ended unexpectedly: {}", what, caf::to_string(x.reason));
      spdlog::shutdown();
      ::_exit(70);
    });
    return {[](tick_atom) {}};
  });
}

/// Ends actors and waits until they have.
void end(caf::actor_system& sys, const std::vector<caf::strong_actor_ptr>& actors) {
  caf::scoped_actor self{sys};
  for (auto& x : actors) {
    self->send_exit(x, caf::exit_reason::user_shutdown);
    self->wait_for(x);
  }
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

void drain(caf::actor_system& sys, const bridge_actor& bridge, const provider_actor& provider,
           std::chrono::milliseconds limit) {
  spdlog::info("draining for at most {} ms; a second signal ends it", limit.count());
  caf::anon_send(bridge, drain_atom::value);
  caf::scoped_actor self{sys};
  std::atomic<bool> done = false;
  std::thread waits{[&] {
    auto signals = ending_signals();
    timespec poll{0, 50'000'000};
    while (!done)
      if (::sigtimedwait(&signals, nullptr, &poll) > 0)
        caf::anon_send(provider, drain_atom::value, duration::zero());
  }};
  self->request(provider, caf::infinite, drain_atom::value, duration{limit})
      .receive([](caf::ok_atom) {},
               [](caf::error& x) { spdlog::error("drain failed: {}", caf::to_string(x)); });
  done = true;
  waits.join();
}

/// The pools' providers, and who stands for all of them.
struct providers {
  std::vector<named_pool> all;
  provider_actor front;
};

providers start_pools(caf::actor_system& sys, loop_thread& edge, const config& x,
                      std::vector<open_pool>& pools) {
  providers result;
  auto directory = std::make_shared<pool_directory>();
  for (size_t i = 0; i < pools.size(); ++i) {
    for (auto& found : pools[i].found)
      directory->there(found->id, i);
    auto provider = start_pool(sys, edge, x, pools[i], observe(edge.events(), directory, i));
    result.all.push_back({pools[i].config->name, provider});
  }
  // One needs nobody to stand for it.
  result.front = pools.size() == 1
                     ? result.all.front().provider
                     : spawn_on(sys, edge.unit(), corral::pools, result.all, directory);
  return result;
}

/// Waits for the signal that ends the daemon; SIGHUP reloads.
void await_end(caf::actor_system& sys, const reload_actor& reload) {
  auto signals = ending_signals();
  sigaddset(&signals, SIGHUP);
  for (int signal = 0;;) {
    ::sigwait(&signals, &signal);
    if (signal != SIGHUP)
      return;
    caf::scoped_actor self{sys};
    self->request(reload, caf::infinite, reload_atom::value)
        .receive([](const fields_ptr&) {}, [](caf::error&) {}); // The log has it.
  }
}

tl::expected<int, std::string> serve(const config& x, const config_reader& read,
                                     std::vector<open_pool> pools) {
  caf::actor_system_config cfg;
  cfg.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system sys{cfg};
  auto boot = random_hex(8);
  std::unique_ptr<loop_thread> edge;
  try {
    edge = std::make_unique<loop_thread>(sys, zmq_loop::settings{"ipc://" + x.socket},
                                         event_publisher::settings{boot});
  } catch (const zmq::error_t& e) {
    return failed{"cannot listen on " + x.socket + ": " + e.what()};
  }
  if (auto opened = open_endpoints(x, *edge); !opened)
    return failed{opened.error()};
  auto started = start_pools(sys, *edge, x, pools);
  auto live = std::make_shared<live_config>(x, read);
  auto reload = sys.spawn<caf::detached>(reloader, live, started.all);
  auto settings = bridge_settings_of(x, pools, boot);
  settings.reload = reload;
  settings.publish = [&events = edge->events()](std::string_view topic, const fields& subject,
                                                const fields& more) {
    events.publish(topic, subject, more);
  };
  auto bridge = start_bridge(sys, *edge, std::move(settings), started.front, log_event);
  end_with(sys, caf::actor_cast<caf::strong_actor_ptr>(bridge), "bridge");
  std::vector<caf::strong_actor_ptr> vital;
  std::string names;
  for (size_t i = 0; i < pools.size(); ++i) {
    auto& [name, provider] = started.all[i];
    auto clock = sys.spawn(reaper, provider, duration{pools[i].config->reap_interval});
    vital.push_back(caf::actor_cast<caf::strong_actor_ptr>(clock));
    end_with(sys, caf::actor_cast<caf::strong_actor_ptr>(provider), "provider of pool " + name);
    names += (names.empty() ? "" : ", ") + name + " (" + pools[i].backend->traits().kind + ")";
  }
  if (pools.size() > 1) {
    auto clock = sys.spawn(reaper, started.front, duration{std::chrono::minutes{1}});
    vital.push_back(caf::actor_cast<caf::strong_actor_ptr>(clock));
    end_with(sys, caf::actor_cast<caf::strong_actor_ptr>(started.front), "front of the pools");
  }
  spdlog::info("corrald {} serves pool{} {} on ipc://{}", CORRAL_VERSION,
               pools.size() > 1 ? "s" : "", names, x.socket);
  await_end(sys, reload);
  drain(sys, bridge, started.front, live->current().drain_timeout);
  vital.push_back(caf::actor_cast<caf::strong_actor_ptr>(bridge));
  vital.push_back(caf::actor_cast<caf::strong_actor_ptr>(reload));
  if (pools.size() > 1)
    vital.push_back(caf::actor_cast<caf::strong_actor_ptr>(started.front));
  for (auto& [name, provider] : started.all)
    vital.push_back(caf::actor_cast<caf::strong_actor_ptr>(provider));
  end(sys, vital);
  remove_sockets(x);
  spdlog::info("corrald has ended");
  return 0;
}

} // namespace

tl::expected<int, std::string> run_daemon(const config& x, const config_reader& read) {
  ::umask(077); // The socket exists before its mode can be set.
  if (auto made = make_directories(x); !made)
    return failed{made.error()};
  auto state_lock = lock_for(x.state_dir + "/lock", "state_dir " + x.state_dir);
  if (!state_lock)
    return failed{state_lock.error()};
  auto socket_locks = lock_sockets(x);
  if (!socket_locks)
    return failed{socket_locks.error()};
  auto claims = host_claims::open(x.data_dir, {"ipc://" + x.socket, x.state_dir});
  if (!claims)
    return failed{claims.error().message};
  auto shared = std::make_shared<const host_claims>(std::move(*claims));
  std::vector<open_pool> pools;
  for (auto& pool : x.pools) {
    auto opened = open_pool::open(x, pool, shared);
    if (!opened)
      return failed{(x.pools.size() > 1 ? "pool " + pool.name + ": " : "") + opened.error()};
    pools.push_back(std::move(*opened));
  }
  return serve(x, read, std::move(pools));
}

} // namespace corral

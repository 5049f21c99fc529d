#include "apps/daemon.hpp"

#include "actors/guest_link.hpp"
#include "actors/provider.hpp"
#include "actors/reaper.hpp"
#include "actors/sandbox.hpp"
#include "apps/daemon_log.hpp"
#include "apps/endpoints.hpp"
#include "bridge/bridge.hpp"
#include "bridge/hosted.hpp"
#include "bridge/loop_thread.hpp"
#include "os/files.hpp"
#include "os/groups.hpp"
#include "os/installed_program.hpp"
#include "os/random.hpp"
#include "providers/claimed_backend.hpp"
#include "providers/namespace/backend.hpp"

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
  for (auto& path : {x.data_dir, x.state_dir, x.run_dir})
    fs::create_directories(fs::path{path}.parent_path(), ignored);
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

namespace_settings settings_of(const config& x, const pool_config& pool) {
  namespace_settings s;
  s.pool = pool.name;
  s.data_dir = x.data_dir;
  s.state_dir = x.state_dir;
  s.run_dir = x.run_dir;
  s.data_group = x.data_group;
  s.first_uid = x.uid_range.first;
  s.last_uid = x.uid_range.last;
  s.host_network = pool.network == network_access::host;
  s.rootfs = pool.rootfs;
  s.skills = pool.skills;
  for (auto& m : pool.mounts)
    s.mounts.push_back({m.source, m.target, m.read_only});
  s.environment = pool.environment;
  auto& l = pool.limits;
  s.limits = {l.memory, l.pids,     l.cpus,      l.file_size, l.open_files,
              l.core,   l.tmp_size, l.home_size, l.shm_size,  s.limits.run_size};
  s.guest = installed_program("corral-guest");
  s.launch = installed_program("corral-launch");
  s.probe = installed_program("corral-probe");
  s.orphan_timeout = std::chrono::duration_cast<std::chrono::seconds>(pool.guest.orphan_timeout);
  s.report = [](std::string_view text) { spdlog::warn("{}", text); };
  return s;
}

fields guest_limits_of(const config& x, const pool_config& pool) {
  fields limits;
  limits.set("max_output_chars", pool.bash_output_max_chars);
  limits.set("transfer_max_bytes", x.transfer_max_bytes);
  limits.set("result_ttl_ms", pool.guest.result_ttl.count()).set("keys", pool.guest.keys);
  return limits.set("result_memory", pool.guest.result_memory);
}

provider_settings provider_settings_of(const config& x, const pool_config& pool) {
  provider_settings s;
  s.pool = pool.name;
  s.replicas = pool.replicas;
  s.max_sandboxes = pool.max_sandboxes;
  s.max_per_user = pool.max_per_user;
  s.overflow = pool.overflow == overflow_policy::reject ? when_full::reject
               : pool.overflow == overflow_policy::wait ? when_full::wait
                                                        : when_full::burst;
  s.wait_timeout = pool.wait_timeout;
  s.reap_interval = pool.reap_interval;
  s.idle_timeout = pool.idle_timeout;
  s.lease_idle_timeout = pool.lease_idle_timeout;
  s.connect_limit = pool.create_timeout;
  s.keep_on_drain = x.on_shutdown == shutdown_policy::keep;
  s.crew.workers = pool.backend_parallel;
  s.crew.create = pool.create_timeout;
  return s;
}

sandbox_factory make_sandboxes(caf::actor_system& sys, loop_thread& edge,
                               std::shared_ptr<sandbox_backend> backend, const config& x,
                               const pool_config& pool) {
  auto limits = guest_limits_of(x, pool);
  sandbox_settings settings;
  settings.queue.waiting = pool.sandbox_queue;
  settings.defaults.exec_timeout_ms = pool.exec_timeout.count();
  settings.report = [](const std::string& text) { spdlog::error("{}", text); };
  return [&sys, &edge, backend, limits, settings](const endpoint_ptr& where,
                                                  const provider_actor& owner) mutable {
    settings.id = where->id;
    settings.memory = [backend, id = where->id] { return backend->memory(id); };
    link_factory make_link = [&sys, &edge, where, limits](sandbox_actor owner) {
      return caf::actor_cast<link_actor>(spawn_on(
          sys, edge.unit(), guest_link, static_cast<io_loop*>(&edge.loop()), where, limits, owner));
    };
    ready_callback ready = [owner, id = where->id](int64_t session) {
      caf::anon_send(owner, up_atom::value, id, session);
    };
    return spawn_on(sys, edge.unit(), sandbox, settings, make_link, ready);
  };
}

/// The log, and what subscribers are told of it.
lifecycle_observer log_and_publish(event_publisher& events) {
  return [&events](std::string_view event, const fields& about) {
    static constexpr std::string_view published[] = {"created", "acquired", "released", "evicted",
                                                     "reaped",  "lost",     "destroyed"};
    log_event(event, about);
    if (std::find(std::begin(published), std::end(published), event) != std::end(published))
      events.publish("sandbox." + std::string{event}, about);
  };
}

bridge_settings bridge_settings_of(const config& x, const pool_config& pool,
                                   const backend_traits& traits, const std::string& boot) {
  bridge_settings s;
  s.pool = pool.name;
  s.provider_kind = traits.kind;
  s.capabilities.set("isolated", traits.isolated);
  s.capabilities.set("thread_data_mounted", traits.thread_data_mounted);
  s.limits.set("header", fields::max_bytes).set("payload", max_payload_bytes);
  s.limits.set("transfer", x.transfer_max_bytes).set("queue", pool.sandbox_queue);
  s.limits.set("timeout", max_timeout_ms).set("timeout_ms", pool.exec_timeout.count());
  s.limits.set("heartbeat_ms", max_heartbeat_ms);
  s.version = CORRAL_VERSION;
  s.boot = boot;
  s.events = "ipc://" + x.events_socket;
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

tl::expected<int, std::string> serve(const config& x, std::shared_ptr<sandbox_backend> backend,
                                     std::shared_ptr<claimed_backend> claimed,
                                     std::vector<endpoint_ptr> found) {
  auto& pool = x.pools.front();
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
  worker_factory make_worker = [&sys, claimed] {
    return sys.spawn<caf::detached>(backend_worker, claimed);
  };
  auto provider = spawn_on(sys, edge->unit(), corral::provider, provider_settings_of(x, pool),
                           provider_parts{make_worker, make_sandboxes(sys, *edge, backend, x, pool),
                                          log_and_publish(edge->events()), std::move(found)});
  auto settings = bridge_settings_of(x, pool, backend->traits(), boot);
  settings.publish = [&events = edge->events()](std::string_view topic, const fields& subject,
                                                const fields& more) {
    events.publish(topic, subject, more);
  };
  auto bridge = start_bridge(sys, *edge, std::move(settings), provider, log_event);
  end_with(sys, caf::actor_cast<caf::strong_actor_ptr>(provider), "provider");
  end_with(sys, caf::actor_cast<caf::strong_actor_ptr>(bridge), "bridge");
  auto clock = sys.spawn(reaper, provider, duration{pool.reap_interval});
  spdlog::info("corrald {} serves pool {} ({}) on ipc://{}", CORRAL_VERSION, pool.name,
               backend->traits().kind, x.socket);
  auto signals = ending_signals();
  int signal = 0;
  ::sigwait(&signals, &signal);
  drain(sys, bridge, provider, x.drain_timeout);
  end(sys, {caf::actor_cast<caf::strong_actor_ptr>(clock),
            caf::actor_cast<caf::strong_actor_ptr>(bridge),
            caf::actor_cast<caf::strong_actor_ptr>(provider)});
  remove_sockets(x);
  spdlog::info("corrald has ended");
  return 0;
}

} // namespace

tl::expected<int, std::string> run_daemon(const config& x) {
  ::umask(077); // The socket exists before its mode can be set.
  if (auto made = make_directories(x); !made)
    return failed{made.error()};
  auto state_lock = lock_for(x.state_dir + "/lock", "state_dir " + x.state_dir);
  if (!state_lock)
    return failed{state_lock.error()};
  auto socket_locks = lock_sockets(x);
  if (!socket_locks)
    return failed{socket_locks.error()};
  auto opened = namespace_backend::open(settings_of(x, x.pools.front()));
  if (!opened)
    return failed{opened.error().message};
  std::shared_ptr<sandbox_backend> backend = std::move(*opened);
  // A drain ends what is to be ended; a daemon that can't start ends nothing.
  backend->leave_running();
  auto claims = host_claims::open(x.data_dir, {"ipc://" + x.socket, x.state_dir});
  if (!claims)
    return failed{claims.error().message};
  auto claimed = std::make_shared<claimed_backend>(
      backend, std::make_shared<const host_claims>(std::move(*claims)));
  std::vector<endpoint_ptr> found;
  for (auto& e : claimed->take_over([](const std::string& text) { spdlog::warn("{}", text); }))
    found.push_back(std::make_shared<const endpoint>(std::move(e)));
  if (!found.empty())
    spdlog::info("found {} sandboxes of an earlier run", found.size());
  if (auto proved = backend->probe(); !proved)
    return failed{proved.error().message};
  for (auto& line : backend->warnings())
    spdlog::warn("{}", line);
  return serve(x, backend, claimed, std::move(found));
}

} // namespace corral

#include "apps/open_pool.hpp"

#include "actors/guest_link.hpp"
#include "actors/sandbox.hpp"
#include "apps/reloader.hpp"
#include "bridge/hosted.hpp"
#include "bridge/loop_thread.hpp"
#include "os/installed_program.hpp"
#include "providers/namespace/backend.hpp"

#include <spdlog/spdlog.h>

namespace corral {

namespace {

namespace_settings settings_of(const config& x, const pool_config& pool) {
  namespace_settings s;
  s.pool = pool.name;
  for (auto& other : x.pools)
    if (other.name != pool.name)
      s.other_pools.insert(other.name);
  s.takes_strays = pool.name == x.pools.front().name;
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
  static_cast<pool_limits&>(s) = limits_of(x, pool);
  s.reap_interval = pool.reap_interval;
  s.connect_limit = pool.create_timeout;
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

} // namespace

tl::expected<open_pool, std::string> open_pool::open(const corral::config& x,
                                                     const pool_config& pool,
                                                     std::shared_ptr<const host_claims> claims) {
  auto opened = namespace_backend::open(settings_of(x, pool));
  if (!opened)
    return tl::unexpected{opened.error().message};
  open_pool result;
  result.config = &pool;
  result.backend = std::move(*opened);
  // A drain ends what is to be ended; a daemon that can't start ends nothing.
  result.backend->leave_running();
  result.claimed = std::make_shared<claimed_backend>(result.backend, std::move(claims));
  auto warn = [](const std::string& text) { spdlog::warn("{}", text); };
  for (auto& found : result.claimed->take_over(warn))
    result.found.push_back(std::make_shared<const endpoint>(std::move(found)));
  if (!result.found.empty())
    spdlog::info("found {} sandboxes of an earlier run in pool {}", result.found.size(), pool.name);
  if (auto proved = result.backend->probe(); !proved)
    return tl::unexpected{proved.error().message};
  for (auto& line : result.backend->warnings())
    warn(line);
  return result;
}

pool_facts facts_of(const open_pool& x) {
  auto traits = x.backend->traits();
  pool_facts result;
  result.name = x.config->name;
  result.provider = traits.kind;
  result.capabilities.set("isolated", traits.isolated);
  result.capabilities.set("thread_data_mounted", traits.thread_data_mounted);
  return result;
}

provider_actor start_pool(caf::actor_system& sys, loop_thread& edge, const config& x,
                          open_pool& pool, lifecycle_observer observe) {
  worker_factory make_worker = [&sys, claimed = pool.claimed] {
    return sys.spawn<caf::detached>(backend_worker, claimed);
  };
  return spawn_on(sys, edge.unit(), provider, provider_settings_of(x, *pool.config),
                  provider_parts{make_worker,
                                 make_sandboxes(sys, edge, pool.backend, x, *pool.config),
                                 std::move(observe), std::move(pool.found)});
}

} // namespace corral

#include "apps/reloader.hpp"

#include "apps/daemon_log.hpp"
#include "config/reload.hpp"

#include <spdlog/spdlog.h>

namespace corral {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string result;
  for (auto& x : names)
    result += (result.empty() ? "" : ", ") + x;
  return result.empty() ? "nothing" : result;
}

} // namespace

result<fields> live_config::reload() {
  auto next = read_();
  if (!next) {
    spdlog::error("the configuration is not valid, and nothing has changed:\n{}",
                  to_string(next.error()));
    std::string text = "the configuration is not valid, and nothing has changed";
    for (auto& e : next.error()) {
      text += "\n";
      if (e.line != 0)
        text += "line " + std::to_string(e.line) + ": ";
      text += e.key + (e.key.empty() ? "" : ": ") + e.message;
    }
    return failure(errc::invalid_request, text);
  }
  std::lock_guard lock{mutex_};
  auto change = change_config(current_, *next);
  current_ = std::move(change.effective);
  spdlog::info("reloaded: {} took effect; {} would need a restart", joined(change.applied),
               joined(change.restart));
  return fields{}.set("applied", change.applied).set("restart", change.restart);
}

pool_limits limits_of(const config& x, const pool_config& pool) {
  pool_limits s;
  s.replicas = pool.replicas;
  s.max_sandboxes = pool.max_sandboxes;
  s.max_per_user = pool.max_per_user;
  s.overflow = pool.overflow == overflow_policy::reject ? when_full::reject
               : pool.overflow == overflow_policy::wait ? when_full::wait
                                                        : when_full::burst;
  s.wait_timeout = pool.wait_timeout;
  s.idle_timeout = pool.idle_timeout;
  s.lease_idle_timeout = pool.lease_idle_timeout;
  s.keep_on_drain = x.on_shutdown == shutdown_policy::keep;
  return s;
}

reload_actor::behavior_type reloader(reload_actor::pointer self,
                                     std::shared_ptr<live_config> config,
                                     std::vector<named_pool> pools) {
  return {
      [=](reload_atom) -> caf::result<fields_ptr> {
        auto done = config->reload();
        if (!done)
          return to_caf(done.error());
        auto now = config->current();
        set_log_level(now.log_level);
        for (size_t i = 0; i < pools.size(); ++i)
          self->send(pools[i].provider, configure_atom::value, limits_of(now, now.pools[i]));
        return fields_ptr{std::make_shared<const fields>(std::move(*done))};
      },
  };
}

} // namespace corral

#include "config/loaded.hpp"
#include "config/option.hpp"

#include <algorithm>

namespace corral {

namespace {

std::string default_run_dir(const config_sources& sources) {
  if (sources.is_root)
    return "/run/corral";
  auto runtime = sources.environment("XDG_RUNTIME_DIR");
  if (auto base = kinds::absolute_path().parse(runtime.value_or("")))
    return *base + "/corral";
  return "/tmp/corral-" + std::to_string(sources.uid);
}

void fill_home_path(std::string& x, const std::string& key, const std::string& for_root,
                    const std::string& below_home, const config_sources& sources,
                    config_errors& errors) {
  if (!x.empty())
    return;
  auto home = kinds::absolute_path().parse(sources.home);
  if (sources.is_root)
    x = for_root;
  else if (home)
    x = *home + below_home;
  else
    errors.push_back(
        {"", 0, key, "expected a path, since there is no home directory to put it in"});
}

} // namespace

void fill_defaults(config& x, const config_sources& sources, config_errors& errors) {
  fill_home_path(x.data_dir, "data_dir", "/var/lib/corral", "/.local/share/corral", sources,
                 errors);
  fill_home_path(x.state_dir, "state_dir", "/var/lib/corral-state", "/.local/state/corral", sources,
                 errors);
  if (x.run_dir.empty())
    x.run_dir = default_run_dir(sources);
  if (x.socket.empty())
    x.socket = x.run_dir + "/corral.sock";
  if (x.events_socket.empty())
    x.events_socket = x.run_dir + "/events.sock";
  for (auto& pool : x.pools) {
    if (pool.max_sandboxes == 0)
      pool.max_sandboxes = 4 * pool.replicas;
    if (pool.max_per_user == 0)
      pool.max_per_user = pool.replicas;
  }
}

} // namespace corral

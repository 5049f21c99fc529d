#include "config/reload.hpp"

#include "config/option.hpp"

#include <algorithm>

namespace corral {

namespace {

const pool_config* find_pool(const config& x, const std::string& name) {
  auto i = std::find_if(x.pools.begin(), x.pools.end(), [&](auto& p) { return p.name == name; });
  return i != x.pools.end() ? &*i : nullptr;
}

/// The options of one scope.
void compare(config_change& x, bool in_pool, const std::string& prefix, config_target to,
             config_target next) {
  for (auto& o : option_table()) {
    if (o.in_pool != in_pool)
      continue;
    auto value = o.get(next);
    if (to_yaml(value) == to_yaml(o.get(to)))
      continue;
    (o.live ? x.applied : x.restart).push_back(prefix + o.name);
    config_errors none; // The value was valid where it comes from.
    if (o.live)
      o.set(to, value, {"", prefix + o.name, none});
  }
}

} // namespace

config_change change_config(const config& old, const config& next) {
  config_change x{old, {}, {}};
  auto other = next;
  if (!x.effective.pools.empty() && !other.pools.empty())
    compare(x, false, "", {x.effective, x.effective.pools.front()}, {other, other.pools.front()});
  for (auto& pool : x.effective.pools) {
    auto changed = find_pool(next, pool.name);
    if (!changed) {
      x.restart.push_back("pools." + pool.name);
      continue;
    }
    auto copy = *changed;
    compare(x, true, "pools." + pool.name + ".", {x.effective, pool}, {other, copy});
  }
  for (auto& pool : next.pools)
    if (!find_pool(old, pool.name))
      x.restart.push_back("pools." + pool.name);
  return x;
}

} // namespace corral

#include "config/loaded.hpp"
#include "config/paths.hpp"

#include <algorithm>

namespace corral {

namespace {

/// `path` with its links followed as far as it exists: our own directories may not yet.
std::string follow(const std::string& path, const config_sources& sources) {
  for (size_t end = path.size(); end > 0; end = path.rfind('/', end - 1))
    if (auto real = sources.real_path(path.substr(0, end)))
      return (*real == "/" ? "" : *real) + path.substr(end);
  return path;
}

/// The option whose directory agent code could read or change through a mount of `source`; empty
/// if there is none.
std::string exposed_by(const std::string& source, const config& c, const config_sources& sources) {
  const std::pair<const char*, const std::string*> ours[] = {
      {"state_dir", &c.state_dir}, {"data_dir", &c.data_dir}, {"run_dir", &c.run_dir}};
  for (auto [name, path] : ours) {
    if (path->empty())
      continue;
    auto real = follow(*path, sources);
    if (is_at_or_below(source, real) || is_at_or_below(real, source))
      return name;
  }
  return {};
}

class mounts_checker {
public:
  mounts_checker(const loaded_config& x, const std::string& key, const config_sources& sources,
                 config_errors& errors)
      : x_{x}, key_{key}, sources_{sources}, errors_{errors} {}

  void check_source(size_t i, const mount_config& m) {
    auto real = sources_.real_path(m.source);
    if (!real)
      return fail(i, "source", "expected an existing path");
    if (auto exposed = exposed_by(*real, x_.values, sources_); !exposed.empty())
      fail(i, "source", "expected a path that does not share files with " + exposed);
  }

  void check_target(size_t i, const std::vector<mount_config>& mounts) {
    const auto& target = mounts[i].target;
    if (auto reserved = reserved_for(target); !reserved.empty())
      return fail(i, "target", "expected a path outside the reserved " + std::string{reserved});
    for (size_t j = 0; j < i; ++j)
      if (mounts[j].target == target)
        return fail(i, "target",
                    "expected another path than that of mounts[" + std::to_string(j) + "]");
  }

private:
  /// The value of `name` in the mount, as it was given. Mounts have no default.
  const yaml_node& given(size_t i, const std::string& name) const {
    const auto& item = x_.origins.at(key_).value.items.at(i);
    auto key = std::find(item.keys.begin(), item.keys.end(), name);
    return item.items.at(static_cast<size_t>(key - item.keys.begin()));
  }

  void fail(size_t i, const std::string& name, const std::string& expected) {
    const auto& origin = x_.origins.at(key_);
    const auto& value = given(i, name);
    errors_.push_back({origin.file, value.line, origin.name + "[" + std::to_string(i) + "]." + name,
                       expected + ", found " + describe(value)});
  }

  const loaded_config& x_;
  std::string key_;
  const config_sources& sources_;
  config_errors& errors_;
};

} // namespace

void check_mounts(const loaded_config& x, const pool_config& pool, const std::string& prefix,
                  const config_sources& sources, config_errors& errors) {
  mounts_checker c{x, prefix + "mounts", sources, errors};
  for (size_t i = 0; i < pool.mounts.size(); ++i) {
    c.check_source(i, pool.mounts[i]);
    c.check_target(i, pool.mounts);
  }
}

} // namespace corral

#include "config/loaded.hpp"
#include "config/paths.hpp"
#include "config/units.hpp"

#include <algorithm>

namespace corral {

namespace {

/// sockaddr_un holds 108 bytes, the last of them 0.
constexpr size_t longest_socket_path = 107;

/// Leaves room for "/links/", an id of 16 digits and the name of a guest's socket.
constexpr size_t longest_run_dir = 72;

class checker {
public:
  checker(const loaded_config& x, const config_sources& sources, config_errors& errors)
      : x_{x}, sources_{sources}, errors_{errors}, errors_before_{errors.size()} {}

  void check_daemon() {
    const auto& c = x_.values;
    check_length("run_dir", c.run_dir, longest_run_dir);
    check_length("socket", c.socket, longest_socket_path);
    check_length("events_socket", c.events_socket, longest_socket_path);
    if (c.events_socket == c.socket)
      fail("events_socket", "expected another path than that of socket");
    check_directories();
  }

  void check_pool(const pool_config& pool) {
    auto prefix = "pools." + pool.name + ".";
    check_at_most(prefix, "replicas", pool.replicas, "max_sandboxes", pool.max_sandboxes);
    check_uids(pool, prefix);
    check_result_memory(pool, prefix);
    check_exists(prefix + "rootfs", pool.rootfs);
    check_exists(prefix + "skills", pool.skills);
    if (is_sound(prefix + "mounts"))
      check_mounts(x_, pool, prefix, sources_, errors_);
  }

private:
  /// Whether the value that counts had no error of its own.
  bool is_sound(const std::string& key) const {
    auto origin = x_.origins.find(key);
    auto name = origin == x_.origins.end() ? key : origin->second.name;
    auto of_key = [&](const config_error& e) {
      return e.key.starts_with(name) && (e.key.size() == name.size() || e.key[name.size()] == '[');
    };
    auto end = errors_.begin() + static_cast<std::ptrdiff_t>(errors_before_);
    return std::none_of(errors_.begin(), end, of_key);
  }

  /// At the place that set the option.
  void fail(const std::string& key, std::string message) {
    auto x = x_.origins.find(key);
    if (x == x_.origins.end())
      errors_.push_back({"", 0, key, std::move(message)});
    else
      errors_.push_back({x->second.file, x->second.line, x->second.name, std::move(message)});
  }

  void check_length(const std::string& key, const std::string& path, size_t longest) {
    if (path.size() > longest)
      fail(key, "expected at most " + std::to_string(longest) + " bytes, found "
                    + std::to_string(path.size()));
  }

  /// state_dir lets nobody through, and the others have to; mixed files would be bound or removed
  /// by the wrong one.
  void check_directories() {
    const auto& c = x_.values;
    if (c.state_dir.empty() || c.data_dir.empty())
      return;
    for (auto [key, path] : {std::pair{"data_dir", &c.data_dir}, {"run_dir", &c.run_dir}})
      if (is_at_or_below(*path, c.state_dir))
        fail(key, "expected a directory outside state_dir, which only the daemon may enter");
    if (c.data_dir == c.run_dir)
      fail("run_dir", "expected a directory other than data_dir");
  }

  void check_at_most(const std::string& prefix, const std::string& less, uint64_t x,
                     const std::string& more, uint64_t y) {
    if (x <= y || !is_sound(prefix + less) || !is_sound(prefix + more))
      return;
    // The place to change is the one that somebody wrote.
    const auto& key = x_.origins.contains(prefix + less) ? less : more;
    if (key == less)
      fail(prefix + less,
           "expected at most " + more + " (" + std::to_string(y) + "), found " + std::to_string(x));
    else
      fail(prefix + more, "expected at least " + less + " (" + std::to_string(x) + "), found "
                              + std::to_string(y));
  }

  void check_uids(const pool_config& pool, const std::string& prefix) {
    const auto& range = x_.values.uid_range;
    if (!sources_.is_root || range.size() >= pool.max_sandboxes || !is_sound("uid_range")
        || !is_sound(prefix + "max_sandboxes") || !is_sound(prefix + "replicas"))
      return;
    fail("uid_range", "expected at least one id for each of " + prefix + "max_sandboxes ("
                          + std::to_string(pool.max_sandboxes) + "), found "
                          + std::to_string(range.size()));
  }

  void check_result_memory(const pool_config& pool, const std::string& prefix) {
    auto memory = pool.limits.memory;
    auto key = prefix + "guest.result_memory";
    if (memory == 0 || pool.guest.result_memory < memory || !is_sound(key)
        || !is_sound(prefix + "limits.memory"))
      return;
    fail(key, "expected less than limits.memory (" + format_size(memory) + "), found "
                  + format_size(pool.guest.result_memory));
  }

  void check_exists(const std::string& key, const std::string& path) {
    if (!path.empty() && is_sound(key) && !sources_.real_path(path))
      fail(key, "expected an existing directory");
  }

  const loaded_config& x_;
  const config_sources& sources_;
  config_errors& errors_;
  size_t errors_before_;
};

} // namespace

void check_config(const loaded_config& x, const config_sources& sources, config_errors& errors) {
  checker c{x, sources, errors};
  c.check_daemon();
  for (const auto& pool : x.values.pools)
    c.check_pool(pool);
  check_access(x, errors);
}

} // namespace corral

// What corrald can be told, as plain values. config/options.cpp gives each its name, limits and
// documentation; config/load.hpp fills them.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace corral {

inline constexpr uint64_t kib = 1024;
inline constexpr uint64_t mib = 1024 * kib;
inline constexpr uint64_t gib = 1024 * mib;
inline constexpr uint64_t tib = 1024 * gib;

enum class log_level { trace, debug, info, warn, error };
enum class log_format { text, json };
enum class shutdown_policy { destroy, keep };
enum class overflow_policy { burst, wait, reject };
enum class network_access { none, host };
enum class backend_kind { namespaces };

/// Both ends included.
struct uid_range {
  uint32_t first = 600'000;
  uint32_t last = 665'535;

  uint64_t size() const { return uint64_t{last} - first + 1; }
  friend bool operator==(const uid_range&, const uid_range&) = default;
};

struct mount_config {
  std::string source; ///< An existing absolute path of the host.
  std::string target; ///< An absolute, normal path in the sandbox; never a reserved one.
  bool read_only = false;

  friend bool operator==(const mount_config&, const mount_config&) = default;
};

/// Sizes in bytes. 0 is no limit, except for the sizes of file systems and for `core`.
struct sandbox_limits {
  uint64_t memory = 2 * gib;
  uint64_t pids = 512;
  double cpus = 2;
  uint64_t file_size = 2 * gib;
  uint64_t open_files = 1024;
  uint64_t tmp_size = 256 * mib;
  uint64_t home_size = 256 * mib;
  uint64_t shm_size = 64 * mib;
  uint64_t core = 0;

  friend bool operator==(const sandbox_limits&, const sandbox_limits&) = default;
};

/// The holder of a key. Without a list: all.
struct key_config {
  std::string name;
  std::string key; ///< The public one, in Z85.
  std::optional<std::vector<std::string>> users;
  std::optional<std::vector<std::string>> ops;

  friend bool operator==(const key_config&, const key_config&) = default;
};

/// What a guest does on its own account.
struct guest_limits {
  std::chrono::milliseconds orphan_timeout = std::chrono::seconds{900};
  std::chrono::milliseconds result_ttl = std::chrono::seconds{600};
  uint64_t keys = 100'000;
  uint64_t result_memory = 64 * mib;

  friend bool operator==(const guest_limits&, const guest_limits&) = default;
};

struct pool_config {
  std::string name = "default";
  backend_kind use = backend_kind::namespaces;
  uint64_t replicas = 64;
  uint64_t max_sandboxes = 0; ///< 0 only before load_config: 4 x replicas.
  uint64_t max_per_user = 0;  ///< 0 only before load_config: replicas.
  overflow_policy overflow = overflow_policy::burst;
  std::chrono::milliseconds wait_timeout = std::chrono::seconds{60};
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{600};   ///< 0 is off.
  std::chrono::milliseconds lease_idle_timeout = std::chrono::hours{4}; ///< 0 is off.
  std::chrono::milliseconds reap_interval = std::chrono::seconds{60};
  uint64_t backend_parallel = 4;
  uint64_t sandbox_queue = 64;
  std::chrono::milliseconds create_timeout = std::chrono::seconds{60};
  std::chrono::milliseconds exec_timeout = std::chrono::seconds{600};
  uint64_t bash_output_max_chars = 20'000; ///< Code points; 0 is off.
  network_access network = network_access::none;
  std::string rootfs; ///< Empty: the host's /usr.
  std::string skills; ///< Empty: none.
  std::vector<mount_config> mounts;
  std::map<std::string, std::string> environment;
  sandbox_limits limits;
  guest_limits guest;

  friend bool operator==(const pool_config&, const pool_config&) = default;
};

/// Paths are absolute. A default-made value has none: load_config knows the user's.
struct config {
  std::string data_dir;
  std::string state_dir;
  std::string run_dir;
  std::string socket;
  std::string events_socket;
  std::vector<std::string> listen;        ///< TCP endpoints for requests.
  std::vector<std::string> events_listen; ///< TCP endpoints for subscribers.
  std::string curve_secret_file;          ///< Empty: none.
  std::vector<key_config> keys;
  bool insecure = false;  ///< TCP without encryption and keys.
  std::string ipc_group;  ///< Empty: the daemon's own group.
  std::string data_group; ///< Empty: the daemon's own group.
  corral::uid_range uid_range;
  corral::log_level log_level = corral::log_level::info;
  corral::log_format log_format = corral::log_format::text;
  std::chrono::milliseconds drain_timeout = std::chrono::seconds{30};
  shutdown_policy on_shutdown = shutdown_policy::destroy;
  uint64_t queue = 4096;
  uint64_t transfer_max_bytes = 100 * mib;
  uint64_t client_queue_bytes = 8 * mib;
  uint64_t client_request_bytes = 64 * mib;
  double rate_limit = 0;          ///< Requests a second of one client; 0 is off.
  std::vector<pool_config> pools; ///< The first is the default; at least one after load_config.

  friend bool operator==(const config&, const config&) = default;
};

} // namespace corral

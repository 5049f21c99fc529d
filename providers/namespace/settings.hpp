#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// How one pool of namespace sandboxes is made. Sizes are bytes.
struct namespace_settings {
  struct mount {
    std::string source; ///< An absolute path of the host without symbolic links.
    std::string target; ///< Where the sandbox sees it; see `jail::is_reserved`.
    bool read_only = false;
  };

  /// 0 is no limit, except for the sizes of file systems.
  struct limit_set {
    uint64_t memory = 2ull << 30;
    uint64_t pids = 512;
    double cpus = 2;
    uint64_t file_size = 2ull << 30;
    uint64_t open_files = 1024;
    uint64_t core = 0; ///< 0 is no core files here.
    uint64_t tmp_size = 256ull << 20;
    uint64_t home_size = 256ull << 20;
    uint64_t shm_size = 64ull << 20;
    uint64_t run_size = 16ull << 20; ///< The guest's control directory.
  };

  std::string pool = "default";
  /// The other pools over this state_dir. What is on record for a pool that is none of these and
  /// not this one is a stray: of a pool that has been renamed or removed.
  std::set<std::string> other_pools;
  bool takes_strays = false;       ///< They are this pool's to remove; one pool's only.
  std::filesystem::path data_dir;  ///< Owners' files; mode 0711 or more open when run as root.
  std::filesystem::path state_dir; ///< Records and secrets; made 0700.
  std::filesystem::path run_dir;   ///< Sockets and programs; at most 73 characters.
  std::string data_group;          ///< As root, who may read owners' files; empty: our own group.
  uint32_t first_uid = 600'000;    ///< As root, one uid an owner; both ends included.
  uint32_t last_uid = 665'535;

  bool host_network = false;    ///< The host's network, abstract sockets included.
  bool debuggers = false;       ///< Lets commands ptrace each other.
  std::filesystem::path rootfs; ///< A root file system; empty: the host's /usr.
  std::filesystem::path skills; ///< Shown at /mnt/skills; empty: an empty directory.
  std::vector<mount> mounts;
  std::map<std::string, std::string> environment; ///< Over the defaults of bwrap_command.cpp.
  limit_set limits;

  std::filesystem::path guest; ///< corral-guest
  std::filesystem::path bash = "/usr/bin/bash-static";
  std::filesystem::path launch; ///< corral-launch
  std::filesystem::path probe;  ///< corral-probe
  std::filesystem::path bwrap = "/usr/bin/bwrap";
  std::chrono::seconds orphan_timeout{900};
  std::chrono::milliseconds start_timeout{20'000}; ///< Until a new guest has dialled.
  std::vector<std::string> guest_options;          ///< More arguments for the guest.

  /// Gets, for the log, what an error that goes to a client must not say: it may hold host paths.
  std::function<void(std::string_view)> report;
};

} // namespace corral

#pragma once

#include "os/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace corral::guest {

/// A directory that agents know under a path of its own. No path given below it leads out of it.
struct mount_point {
  std::string path;      ///< As agents name it: absolute and normalised.
  std::string directory; ///< Where it is for this process; empty: at `path`.
  bool writable = true;  ///< False: whatever changes it is answered with `read_only`.
  /// An O_PATH descriptor of the same directory that changes go through, where `directory` itself
  /// is mounted read-only.
  std::shared_ptr<const unique_fd> change_root;
};

struct file_settings {
  std::string workspace = "/mnt/user-data/workspace"; ///< Relative paths start here.
  std::vector<mount_point> mounts;        ///< All other paths are those of this process's own view.
  std::string staging_directory = "/tmp"; ///< For content whose own directory takes no new files.

  uint64_t transfer_max_bytes = 100 * 1024 * 1024; ///< Of one file, each way.
  uint64_t text_max_bytes = 16 * 1024 * 1024;      ///< Of read_file's reply, of a file to edit.
  size_t results_max_bytes = 8 * 1024 * 1024;      ///< Of the `results` of one search.
  size_t list_max_entries = 10'000;
  size_t directory_max_entries = 100'000; ///< Entries of one directory that a search looks at.

  size_t max_threads = 8;
  std::chrono::milliseconds thread_idle{10'000}; ///< A thread without work ends after this.

  bool unnamed_temporaries = true; ///< O_TMPFILE where the file system has it.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// The mounts that every sandbox has. Without a descriptor for them, uploads are read-only.
std::vector<mount_point> standard_mounts(std::shared_ptr<const unique_fd> uploads = nullptr);

} // namespace corral::guest

#pragma once

#include "os/temp_dir.hpp"
#include "os/unique_fd.hpp"
#include "providers/namespace/root_layout.hpp"
#include "providers/namespace/seccomp_filter.hpp"
#include "providers/namespace/settings.hpp"

#include <vector>

namespace corral::bench {

/// bubblewrap by itself with all that a sandbox of the namespace provider has, around `bash -c
/// true`: what a start costs without Corral.
class bwrap_baseline {
public:
  bwrap_baseline();

  /// Starts one and waits for its end. Throws std::runtime_error if it fails.
  void run() const;

private:
  temp_dir dir_;
  unique_fd sources_; ///< An empty directory that stands for every one that is mounted.
  unique_fd nothing_; ///< For what bubblewrap tells of itself.
  namespace_settings settings_;
  jail::root_layout layout_;
  jail::seccomp_filter filter_;
};

} // namespace corral::bench

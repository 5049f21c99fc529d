#include "bench/bwrap_baseline.hpp"

#include "bench/daemon.hpp"
#include "providers/namespace/bwrap_command.hpp"
#include "providers/namespace/descriptors.hpp"

#include <fcntl.h>

#include <stdexcept>

namespace corral::bench {

namespace {

template <class T>
T value_of(os_result<T> x) {
  if (!x)
    throw std::runtime_error{x.error().what};
  return std::move(*x);
}

} // namespace

bwrap_baseline::bwrap_baseline()
    : dir_{passable_dir()}, sources_{::open(dir_.path().c_str(), O_PATH | O_CLOEXEC)},
      nothing_{::open("/dev/null", O_WRONLY | O_CLOEXEC)}, layout_{value_of(jail::host_layout(
                                                               dir_.path() / "etc"))},
      filter_{value_of(jail::seccomp_filter::compile(false))} {}

void bwrap_baseline::run() const {
  auto filter = value_of(filter_.open());
  jail::descriptors passed;
  jail::bwrap_descriptors fds;
  // One each: bubblewrap closes what it has used.
  for (auto fd :
       {&fds.programs, &fds.link, &fds.workspace, &fds.uploads, &fds.outputs, &fds.acp_workspace})
    *fd = passed.pass(sources_);
  fds.seccomp = passed.pass(filter);
  fds.status = passed.pass(nothing_);
  spawn_options spawn;
  spawn.argv = {settings_.bwrap.native()};
  auto options = jail::bwrap_options(settings_, layout_, fds);
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.argv.insert(spawn.argv.end(), {"--", "/usr/bin/bash", "-c", "true"});
  spawn.descriptors = passed.list();
  auto process = value_of(child_process::spawn(spawn));
  auto status = process.wait_for(std::chrono::seconds{30});
  if (!status || *status != 0)
    throw std::runtime_error{"bwrap around `bash -c true` fails here; see `corral doctor`"};
}

} // namespace corral::bench

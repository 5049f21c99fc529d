#include "os/child_process.hpp"

#include "os/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

namespace corral {

namespace {

unique_fd open_pidfd(pid_t pid) {
  return unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

bool poll_end(const unique_fd& pidfd, std::chrono::milliseconds limit) {
  auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd p{pidfd.get(), POLLIN, 0};
    auto n = ::poll(&p, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (n > 0)
      return true;
    if (n == 0 || errno != EINTR)
      return false;
  }
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& s : strings)
    result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
}

/// posix_spawn's tables, which are freed whatever happens.
struct spawn_tables {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  spawn_tables() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~spawn_tables() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  spawn_tables(const spawn_tables&) = delete;
  spawn_tables& operator=(const spawn_tables&) = delete;
};

/// Duplicates above every target first, so that no move overwrites a descriptor still needed.
os_result<std::vector<unique_fd>> park(const spawn_options& options, int& highest) {
  highest = 2;
  for (auto& [ours, theirs] : options.descriptors)
    highest = std::max(highest, theirs);
  std::vector<unique_fd> parked;
  for (auto& [ours, theirs] : options.descriptors) {
    parked.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, highest + 1));
    if (!parked.back())
      return last_os_error("duplicate descriptor");
  }
  return parked;
}

} // namespace

os_result<child_process> child_process::spawn(const spawn_options& options) {
  spawn_tables tables;
  int highest = 0;
  auto parked = park(options, highest);
  if (!parked)
    return tl::unexpected{parked.error()};
  for (int standard = 0; standard < 3; ++standard)
    ::posix_spawn_file_actions_addopen(&tables.actions, standard, "/dev/null", O_RDWR, 0);
  for (size_t i = 0; i < parked->size(); ++i)
    ::posix_spawn_file_actions_adddup2(&tables.actions, (*parked)[i].get(),
                                       options.descriptors[i].second);
  for (int fd = 3; fd <= highest; ++fd)
    if (std::none_of(options.descriptors.begin(), options.descriptors.end(),
                     [fd](auto& d) { return d.second == fd; }))
      ::posix_spawn_file_actions_addclose(&tables.actions, fd);
  ::posix_spawn_file_actions_addclosefrom_np(&tables.actions, highest + 1);
  if (!options.directory.empty())
    ::posix_spawn_file_actions_addchdir_np(&tables.actions, options.directory.c_str());
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&tables.attributes, &none);
  ::posix_spawnattr_setsigdefault(&tables.attributes, &all);
  auto flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (options.new_session)
    flags |= POSIX_SPAWN_SETSID;
  ::posix_spawnattr_setflags(&tables.attributes, static_cast<short>(flags));
  auto argv = pointers_to(options.argv);
  auto environment = pointers_to(options.environment);
  pid_t pid = -1;
  auto failure = ::posix_spawn(&pid, argv[0], &tables.actions, &tables.attributes, argv.data(),
                               environment.data());
  if (failure != 0)
    return os_failure(failure, "start", options.argv[0]);
  child_process child{pid, open_pidfd(pid)};
  if (!child.pidfd_) // Without it nobody could wait for this child: it ends with `child`.
    return last_os_error("open process", options.argv[0]);
  return child;
}

child_process::child_process(child_process&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, pidfd_{std::move(other.pidfd_)} {}

child_process& child_process::operator=(child_process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  return *this;
}

child_process::~child_process() {
  if (pid_ <= 0)
    return;
  kill(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void child_process::kill(int signal) {
  if (pid_ > 0)
    ::kill(pid_, signal); // Safe by pid: not reaped yet, so the number can't be another's.
}

void child_process::release() {
  pid_ = -1;
  pidfd_.reset();
}

std::optional<int> child_process::wait_for(std::chrono::milliseconds limit) {
  int status = 0;
  if (pid_ <= 0 || !poll_end(pidfd_, limit) || ::waitpid(pid_, &status, 0) != pid_)
    return std::nullopt;
  pid_ = -1;
  return status;
}

os_result<foreign_process> foreign_process::open(pid_t pid, uint64_t start_time) {
  auto pidfd = open_pidfd(pid);
  if (!pidfd)
    return last_os_error("open process", std::to_string(pid));
  // Read after opening: if this start time is the right one, the descriptor is of that process.
  auto actual = process_start_time(pid);
  if (!actual || *actual != start_time)
    return os_failure(ESRCH, "open process", std::to_string(pid));
  return foreign_process{std::move(pidfd)};
}

os_result<void> foreign_process::kill(int signal) const {
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) != 0 && errno != ESRCH)
    return last_os_error("signal process");
  return {};
}

bool foreign_process::wait_for_end(std::chrono::milliseconds limit) const {
  return poll_end(pidfd_, limit);
}

} // namespace corral

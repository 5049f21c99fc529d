#include "guest/process_setup.hpp"

#include "guest/process_table.hpp"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace corral::guest {

namespace {

void reap_all() {
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

void close_range(unsigned first, unsigned last) {
  if (first <= last)
    ::syscall(SYS_close_range, first, last, 0u);
}

} // namespace

void harden_process() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (int number = 1; number <= SIGRTMAX; ++number)
    if (number != SIGCHLD && number != SIGKILL && number != SIGSTOP)
      ::signal(number, SIG_IGN);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
}

void close_descriptors_except(const std::vector<int>& kept) {
  auto sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  unsigned first = 3;
  for (auto fd : sorted) {
    if (fd < 3)
      continue;
    close_range(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_range(first, ~0u);
}

std::optional<rlimit> raise_descriptor_limit() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0)
    return std::nullopt;
  rlimit raised{before.rlim_max, before.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0)
    return std::nullopt;
  return before;
}

void keep_heap_small() {
  constexpr int threshold = 64 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, threshold);
  ::mallopt(M_TRIM_THRESHOLD, threshold);
  ::mallopt(M_ARENA_MAX, 1);
}

std::string take_secret(unique_fd& from) {
  std::array<char, 256> buffer;
  size_t size = 0;
  for (ssize_t n; size < buffer.size(); size += static_cast<size_t>(n)) {
    n = ::read(from.get(), buffer.data() + size, buffer.size() - size);
    if (n <= 0)
      break;
  }
  from.reset();
  std::string secret{buffer.data(), size};
  buffer.fill('\0');
  while (!secret.empty() && secret.back() == '\n')
    secret.pop_back();
  return secret;
}

void end_all_processes() {
  if (::getpid() == 1) {
    ::kill(-1, SIGKILL);
    return reap_all();
  }
  // A process may fork while it is being told to end, so until a look finds none; bounded, because
  // one may be beyond our power.
  for (int looks = 0; looks < 50; ++looks) {
    auto left = descendants_of(process_table::read(), ::getpid());
    if (left.empty())
      break;
    for (auto& x : left)
      ::kill(x.pid, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::usleep(2000);
  }
}

} // namespace corral::guest

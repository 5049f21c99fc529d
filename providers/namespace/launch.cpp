// corral-launch: the last step of the daemon's own rights before bubblewrap. Joins cgroups, lowers
// limits, gives up root for the owner's uid and becomes bwrap. Started by posix_spawn, because a
// fork of the daemon would cost milliseconds, and static so that its start costs little.
//
//   corral-launch [--join FD]... [--limit NAME=BYTES]... [--ids UID] --go FD --last FD -- PROGRAM
//   ...

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

[[noreturn]] void fail(const char* step) {
  std::fprintf(stderr, "corral-launch: %s: %s\n", step, std::strerror(errno));
  std::_Exit(125);
}

void join_cgroup(int fd) {
  // 0 stands for the writer itself.
  if (::write(fd, "0", 1) != 1)
    fail("join cgroup");
  ::close(fd);
}

void set_limit(const char* text) {
  static constexpr struct {
    const char* name;
    __rlimit_resource resource;
  } known[] = {{"core", RLIMIT_CORE}, {"file_size", RLIMIT_FSIZE}, {"open_files", RLIMIT_NOFILE}};
  auto equals = std::strchr(text, '=');
  for (auto& k : known)
    if (equals && std::strncmp(text, k.name, static_cast<size_t>(equals - text)) == 0) {
      auto value = std::strtoull(equals + 1, nullptr, 10);
      rlimit now{};
      ::getrlimit(k.resource, &now);
      // An ordinary user's own hard limit may be lower already.
      rlimit wanted{value < now.rlim_max ? value : now.rlim_max,
                    value < now.rlim_max ? value : now.rlim_max};
      if (::setrlimit(k.resource, &wanted) != 0)
        fail("set limit");
      return;
    }
  errno = EINVAL;
  fail("set limit");
}

void become(id_t id) {
  if (::setgroups(0, nullptr) != 0)
    fail("drop groups");
  if (::setresgid(id, id, id) != 0)
    fail("set gid");
  if (::setresuid(id, id, id) != 0)
    fail("set uid");
}

/// The host's out-of-memory killer takes sandboxes before services, whatever the daemon's own
/// score.
void offer_to_oom_killer() {
  auto fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  [[maybe_unused]] auto n = ::write(fd, "300", 3);
  ::close(fd);
}

/// Blocks until the daemon has recorded this process. If it dies before that, nothing is started.
void wait_for_go(int fd) {
  char c = 0;
  ssize_t n = 0;
  while ((n = ::read(fd, &c, 1)) < 0 && errno == EINTR) {
  }
  if (n != 1)
    std::_Exit(126);
  ::close(fd);
}

} // namespace

int main(int argc, char** argv) {
  long id = -1;
  long go = -1;
  long last = 2;
  int i = 1;
  for (; i + 1 < argc && std::strcmp(argv[i], "--") != 0; i += 2) {
    auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0; };
    auto value = argv[i + 1];
    auto number = std::strtol(value, nullptr, 10);
    if (is("--join"))
      join_cgroup(static_cast<int>(number));
    else if (is("--limit"))
      set_limit(value);
    else if (is("--ids"))
      id = number;
    else if (is("--go"))
      go = number;
    else if (is("--last"))
      last = number;
  }
  if (++i >= argc || go < 0) {
    errno = EINVAL;
    fail("read arguments");
  }
  offer_to_oom_killer();
  ::umask(022);
  if (::setsid() < 0)
    fail("start session");
  if (id >= 0)
    become(static_cast<id_t>(id));
  wait_for_go(static_cast<int>(go));
  if (::close_range(static_cast<unsigned>(last) + 1, ~0u, 0) != 0 && errno != ENOSYS)
    fail("close descriptors");
  ::execv(argv[i], argv + i);
  fail("start bubblewrap");
}

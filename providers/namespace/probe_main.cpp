// corral-probe: takes the guest's place in a sandbox and tries what an agent must not be able to
// do. A line a check, "ok NAME" or "FAIL NAME: why", then "done"; stays until its input ends, so
// that the daemon can look at it from outside.

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct expectation {
  unsigned long long max_size = 0;
  std::set<int> fds;
  std::vector<std::string> hidden;
  std::set<std::string> host_directories;
  bool network = false;
  bool debuggers = false;
};

/// Says how a check ended: `fault` is empty if all is well.
void tell(const char* check, const std::string& fault) {
  if (fault.empty())
    std::printf("ok %s\n", check);
  else
    std::printf("FAIL %s: %s\n", check, fault.c_str());
}

bool can_open(const std::string& path, int flags) {
  auto fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd >= 0)
    ::close(fd);
  return fd >= 0;
}

bool can_create_in(const std::string& directory) {
  auto path = directory + "/.corral-probe";
  auto fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  ::close(fd);
  ::unlink(path.c_str());
  return true;
}

std::string interfaces() {
  auto list = ::if_nameindex();
  if (!list)
    return "the network interfaces can't be listed";
  std::string result;
  for (auto i = list; i->if_index != 0; ++i)
    if (std::strcmp(i->if_name, "lo") != 0)
      result = std::string{"there is an interface "} + i->if_name;
  ::if_freenameindex(list);
  return result;
}

std::string routes() {
  auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  ::inet_pton(AF_INET, "1.1.1.1", &address.sin_addr);
  auto status = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  auto failure = errno;
  ::close(fd);
  return status < 0 && failure == ENETUNREACH ? "" : "a connection to the internet isn't refused";
}

std::string status_field(const std::string& name) {
  std::ifstream in{"/proc/self/status"};
  for (std::string line; std::getline(in, line);)
    if (line.rfind(name + ":\t", 0) == 0)
      return line.substr(name.size() + 2);
  return {};
}

std::string capabilities() {
  for (auto name : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    if (status_field(name) != "0000000000000000")
      return std::string{name} + " is " + status_field(name);
  return status_field("NoNewPrivs") == "1" ? "" : "privileges can be gained by running programs";
}

std::string kernel_knobs() {
  for (auto path : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
                    "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"})
    if (can_open(path, O_WRONLY | O_APPEND))
      return std::string{path} + " can be opened for writing";
  return {};
}

std::string hidden_files(const expectation& expected) {
  for (auto& path : expected.hidden)
    if (::access(path.c_str(), F_OK) == 0)
      return path + " can be seen";
  return can_open("/etc/shadow", O_RDONLY) ? "/etc/shadow can be read" : "";
}

/// Mounts that take files must not be able to fill the host's memory or disk, but for those that
/// are meant to be on its disk.
std::string bounded_mounts(const expectation& expected) {
  std::ifstream in{"/proc/self/mountinfo"};
  int seen = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    std::string id, parent, device, root, target;
    words >> id >> parent >> device >> root >> target;
    struct stat s {};
    ++seen;
    if (expected.host_directories.count(target) || ::stat(target.c_str(), &s) != 0
        || !S_ISDIR(s.st_mode) || !can_create_in(target))
      continue;
    struct statvfs size {};
    if (::statvfs(target.c_str(), &size) != 0 || size.f_blocks == 0
        || size.f_blocks * size.f_frsize > expected.max_size)
      return target + " is writable and not bounded";
  }
  return seen > 0 ? "" : "the mounts can't be listed";
}

std::string descriptors(const expectation& expected) {
  auto directory = ::opendir("/proc/self/fd");
  if (!directory)
    return "the descriptors can't be listed";
  std::set<int> found;
  while (auto entry = ::readdir(directory))
    if (entry->d_name[0] != '.')
      found.insert(std::atoi(entry->d_name));
  found.erase(::dirfd(directory));
  ::closedir(directory);
  return found == expected.fds ? "" : "other descriptors than the guest's own were inherited";
}

std::string processes() {
  if (::getpid() != 1)
    return "the guest isn't the first process of a pid namespace";
  auto directory = ::opendir("/proc");
  std::string result;
  while (auto entry = directory ? ::readdir(directory) : nullptr)
    if (auto pid = std::atoi(entry->d_name); pid > 1)
      result = "process " + std::to_string(pid) + " can be seen";
  if (directory)
    ::closedir(directory);
  return result;
}

std::string read_only_parts() {
  if (can_create_in("/run/host") || ::unlink("/run/host/guest.sock") == 0)
    return "the directory of the guest's socket can be changed";
  for (auto path : {"/", "/usr", "/etc", "/run", "/run/guest", "/dev", "/mnt/user-data/uploads"})
    if (can_create_in(path))
      return std::string{path} + " is writable";
  return can_create_in("/mnt/user-data/workspace") ? "" : "the workspace isn't writable";
}

std::string denied_calls(const expectation& expected) {
  if (::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0)
    return "mount is allowed";
  if (::unshare(CLONE_NEWUSER) == 0 || ::unshare(CLONE_NEWNS) == 0)
    return "new namespaces are allowed";
  if (!expected.debuggers && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0)
    return "ptrace is allowed";
  if (::mknod("/tmp/.corral-probe", S_IFCHR | 0666, makedev(1, 3)) == 0)
    return "devices can be made";
  if (::setuid(0) == 0 || ::setgid(0) == 0)
    return "root can be had";
  return ::socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? "AF_VSOCK is open" : "";
}

expectation parse(int argc, char** argv) {
  expectation result;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string option = argv[i], value = argv[i + 1];
    if (option == "--max-size")
      result.max_size = std::strtoull(value.c_str(), nullptr, 10);
    else if (option == "--fd")
      result.fds.insert(std::atoi(value.c_str()));
    else if (option == "--hidden")
      result.hidden.push_back(value);
    else if (option == "--host-directory")
      result.host_directories.insert(value);
    else if (option == "--network")
      result.network = value == "host";
    else if (option == "--debuggers")
      result.debuggers = value == "yes";
  }
  return result;
}

} // namespace

int main(int argc, char** argv) {
  auto expected = parse(argc, argv);
  tell("descriptors", descriptors(expected));
  if (!expected.network) {
    tell("network interfaces", interfaces());
    tell("network routes", routes());
  }
  tell("hidden files", hidden_files(expected));
  tell("capabilities", capabilities());
  tell("kernel settings", kernel_knobs());
  tell("processes", processes());
  tell("read-only parts", read_only_parts());
  tell("bounded mounts", bounded_mounts(expected));
  tell("seccomp", status_field("Seccomp") == "2" ? "" : "no filter is in force");
  tell("denied calls", denied_calls(expected));
  std::puts("done");
  std::fflush(stdout);
  char c = 0;
  while (::read(0, &c, 1) > 0) {
  }
}

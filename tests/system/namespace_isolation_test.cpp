// What a command in a sandbox can't do, what limits hold it, and what it can.

#include "os/files.hpp"
#include "tests/support/namespace_pool.hpp"
#include "tests/support/traces.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

using namespace corral;
using namespace corral::test;

namespace fs = std::filesystem;

namespace {

/// A sandbox with its guest, destroyed at the end.
class sandbox {
public:
  explicit sandbox(namespace_backend& backend, const std::string& thread = "t1")
      : backend_{backend}, at_{make(backend, thread)}, guest_{at_} {}
  ~sandbox() { static_cast<void>(backend_.destroy(at_.id, false)); }

  outcome run(const std::string& command) { return guest_.run(command); }
  /// The status of a Python program of one line.
  int python(const std::string& code) { return run("python3 -c '" + code + "'").status; }
  const endpoint& at() const { return at_; }

private:
  static endpoint make(namespace_backend& backend, const std::string& thread) {
    auto made = backend.create(spec_of(thread));
    if (!made)
      throw std::runtime_error{made.error().message};
    return *made;
  }

  namespace_backend& backend_;
  endpoint at_;
  guest_driver guest_;
};

struct fixture {
  namespace_pool pool;
  std::unique_ptr<namespace_backend> backend = pool.open();
};

/// Copies what a program needs besides itself: nothing unless it was built with a sanitizer.
void copy_libraries(const fs::path& program, const fs::path& rootfs) {
  std::unique_ptr<FILE, int (*)(FILE*)> ldd{::popen(("ldd " + program.native()).c_str(), "r"),
                                            &::pclose};
  REQUIRE(ldd);
  std::string text;
  for (int c; (c = std::fgetc(ldd.get())) != EOF;)
    text += static_cast<char>(c);
  std::istringstream words{text};
  for (std::string word; words >> word;) {
    if (word.front() != '/')
      continue;
    auto to = rootfs / fs::path{word}.relative_path();
    fs::create_directories(to.parent_path());
    fs::copy_file(word, to, fs::copy_options::skip_existing);
  }
}

} // namespace

TEST_CASE_FIXTURE(fixture, "another thread's files can't be reached") {
  sandbox one{*backend, "t1"};
  sandbox two{*backend, "t2"};
  one.run("echo secret > file");
  auto theirs = pool.path() / "data/users" / this_user() / "threads/t1/user-data/workspace/file";
  REQUIRE(fs::exists(theirs));
  CHECK(two.run("cat " + theirs.native()).status != 0);
  CHECK(two.run("ls /mnt/user-data/workspace").output == "");
  CHECK(two.run("find / -name file -path '*workspace*' 2>/dev/null").output == "");
}

TEST_CASE_FIXTURE(fixture, "each owner has a uid of its own, the same one each time"
                               * doctest::skip(skip_unless(
                                   ::geteuid() == 0,
                                   "each owner has a uid of its own, the same one each time",
                                   "only root can run sandboxes as other users"))) {
  auto uid_of = [](pid_t pid) {
    auto status = read_small_file("/proc/" + std::to_string(pid) + "/status").value();
    return std::atoi(status.c_str() + status.find("\nUid:\t") + 6);
  };
  int first = 0;
  {
    sandbox one{*backend, "t1"};
    sandbox two{*backend, "t2"};
    first = uid_of(one.at().guest_pid);
    CHECK(first >= 640'000);
    CHECK(uid_of(two.at().guest_pid) != first);
  }
  sandbox again{*backend, "t1"};
  CHECK(uid_of(again.at().guest_pid) == first);
}

TEST_CASE_FIXTURE(fixture, "the host's files, processes and environment can't be seen") {
  ::setenv("CORRAL_TEST_TOKEN", "t0ps3cret", 1);
  sandbox x{*backend};
  ::unsetenv("CORRAL_TEST_TOKEN");
  CHECK(x.run("cat /etc/shadow").status != 0);
  CHECK(x.run("cat /proc/1/environ").status != 0);
  CHECK(x.run("cat /proc/1/maps").status != 0);
  CHECK(x.run("ls /proc/1/fd").status != 0);
  CHECK(x.run("ls /root /work /var/lib /sys /boot /home/agent/..").status != 0);
  CHECK(x.run("ps -e -o pid= | sort -n | head -1").output.find(" 1") != std::string::npos);
  CHECK(x.run("ps -e | grep -c corral-launch").output == "0\n");
  CHECK(x.run("env | cut -d= -f1 | grep -v '^_$' | sort | xargs").output
        == "HOME LANG PATH PWD PYTHONUNBUFFERED SHLVL TERM USER\n");
  CHECK(x.run("hostname").output == "corral\n");
}

TEST_CASE_FIXTURE(fixture, "the network can't be reached") {
  sandbox x{*backend};
  CHECK(x.run("cat < /dev/null > /dev/tcp/1.1.1.1/53").status != 0);
  CHECK(x.run("ls /sys/class/net").status != 0);
  CHECK(x.run("tail -n +3 /proc/net/dev | grep -cv ' *lo:'").output == "0\n");
  // AF_VSOCK would reach the hypervisor's host without any network namespace in its way.
  CHECK(x.python("import socket; socket.socket(40, 1)") != 0);
  CHECK(x.python("import socket; socket.socket(17, 3)") != 0);
  CHECK(x.python("import socket; socket.socket(); socket.socketpair()") == 0);
}

TEST_CASE_FIXTURE(fixture, "privileges can't be gained and the kernel can't be changed") {
  sandbox x{*backend};
  CHECK(x.run("mount -t tmpfs none /tmp").status != 0);
  CHECK(x.run("umount /tmp").status != 0);
  CHECK(x.run("unshare -U true").status != 0);
  CHECK(x.run("unshare -m true").status != 0);
  CHECK(x.run("mknod null c 1 3").status != 0);
  CHECK(x.run("mkfifo pipe").status == 0);
  CHECK(x.run("echo x > /proc/sys/kernel/core_pattern").status != 0);
  CHECK(x.run("echo 3 > /proc/sys/vm/drop_caches").status != 0);
  CHECK(x.run("echo b > /proc/sysrq-trigger").status != 0);
  CHECK(x.run("cp /bin/true t; chmod 4755 t").status != 0);
  CHECK(x.run("chmod 2755 . ; chmod 755 t").status == 0);
  CHECK(x.run("su -c true; sudo -n true").status != 0);
  CHECK(x.python("import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0") != 0);
  CHECK(x.python("import os; os.setuid(0)") != 0);
  CHECK(x.run("grep -h Cap /proc/self/status | grep -vc 0000000000000000").output == "0\n");
}

TEST_CASE_FIXTURE(fixture, "the system, the guest and the uploads are read-only") {
  sandbox x{*backend};
  for (auto path : {"/", "/usr", "/etc", "/run", "/run/guest", "/run/host", "/dev", "/mnt",
                    "/mnt/user-data", "/mnt/user-data/uploads", "/mnt/skills", "/home"})
    CHECK_MESSAGE(x.run(std::string{"touch "} + path + "/x").status != 0, path);
  for (auto path : {"/tmp", "/home/agent", "/dev/shm", "/mnt/user-data/workspace",
                    "/mnt/user-data/outputs", "/mnt/acp-workspace"})
    CHECK_MESSAGE(x.run(std::string{"touch "} + path + "/x").status == 0, path);
  CHECK(x.run("rm /run/host/guest.sock; mv /run/host /run/x").status != 0);
  // The guest's descriptor is the one way to write uploads.
  CHECK(x.run("ls /mnt/user-data/uploads").output == "from-guest\n");
}

TEST_CASE_FIXTURE(fixture, "what commands write belongs to the owner and its data group") {
  sandbox x{*backend};
  x.run("echo text > /mnt/user-data/outputs/report; mkdir /mnt/user-data/outputs/dir");
  auto tree = pool.path() / "data/users" / this_user() / "threads/t1/user-data";
  struct stat file {
  }, tree_stat{};
  REQUIRE(::stat((tree / "outputs/report").c_str(), &file) == 0);
  REQUIRE(::stat(tree.c_str(), &tree_stat) == 0);
  CHECK(file.st_uid == tree_stat.st_uid);
  CHECK(file.st_gid == ::getegid());
  CHECK((tree_stat.st_mode & 07777) == (::geteuid() == 0 ? 02770u : 0700u));
}

TEST_CASE_FIXTURE(fixture, "memory file systems are bounded") {
  sandbox x{*backend};
  for (auto path : {"/tmp", "/home/agent", "/dev/shm"})
    CHECK_MESSAGE(x.run("head -c 9M /dev/zero > " + std::string{path} + "/x").status != 0, path);
  CHECK(x.run("head -c 2M /dev/zero > /run/corral/x").status != 0);
}

TEST_CASE_FIXTURE(fixture,
                  "a fork bomb is held by the pids limit"
                      * doctest::skip(skip_unless(has_cgroup("pids"),
                                                  "a fork bomb is held by the pids limit",
                                                  "the cgroup controller pids isn't writable"))) {
  sandbox x{*backend};
  auto bomb = x.run("python3 -c 'exec(\"import os, time\\nn = 0\\ntry:\\n while n < 200:\\n"
                    "  if os.fork() == 0: os.close(1); os.close(2); time.sleep(30); os._exit(0)\\n"
                    "  n += 1\\nexcept OSError: pass\\nprint(n)\")'");
  // The guest, its bash, the program and bwrap outside count too.
  CHECK(std::atoi(bomb.output.c_str()) < 64);
  CHECK(std::atoi(bomb.output.c_str()) >= 50);
}

TEST_CASE_FIXTURE(
    fixture, "the memory limit ends the command and nothing else"
                 * doctest::skip(skip_unless(has_cgroup("memory"),
                                             "the memory limit ends the command and nothing else",
                                             "the cgroup controller memory isn't writable"))) {
  sandbox x{*backend};
  CHECK(x.python("x = bytearray(400 << 20)") != 0);
  CHECK(x.run("echo alive").output == "alive\n");
  auto events = backend->memory(x.at().id);
  REQUIRE(events);
  CHECK(events->kills >= 1);
  CHECK(events->limit == 256u << 20);
  CHECK(events->peak > 200u << 20);
}

TEST_CASE_FIXTURE(fixture, "files, descriptors and core files are limited") {
  auto settings = pool.settings();
  settings.limits.file_size = 1 << 20;
  settings.limits.open_files = 50;
  auto small = pool.open(settings);
  sandbox x{*small};
  CHECK(x.run("head -c 2M /dev/zero > big").status != 0);
  CHECK(x.run("stat -c %s big").output == "1048576\n");
  CHECK(x.run("ulimit -Hn; ulimit -c").output == "50\n0\n");
}

TEST_CASE_FIXTURE(fixture, "the tools of everyday work run") {
  sandbox x{*backend};
  CHECK(x.run("echo 'int main(void) { return 7; }' > a.c && gcc -o a a.c && ./a").status == 7);
  CHECK(x.run("python3 -c 'import ssl, json; print(json.dumps([1]))'").output == "[1]\n");
  CHECK(x.run("git init -q repo && cd repo && git config user.email a@b && git config user.name n"
              " && echo x > f && git add f && git commit -qm first && git log --oneline | wc -l")
            .output
        == "1\n");
  CHECK(x.run("echo a b | awk '{print $2}'").output == "b\n");
  CHECK(x.run("id -un; getent hosts localhost | head -1 | awk '{print $2}'").output
        == "agent\nlocalhost\n");
  CHECK(x.run("python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'").output
        == "[1]\n");
  CHECK(x.run("date +%Z").status == 0);
}

TEST_CASE_FIXTURE(fixture, "configured mounts, skills and environment are there") {
  auto source = pool.path() / "shared";
  REQUIRE(make_directory(source, 0777));
  REQUIRE(put(source / "tool", "t"));
  auto settings = pool.settings();
  settings.mounts = {{source, "/mnt/shared", false}, {source / "tool", "/opt/tool", true}};
  settings.skills = source;
  settings.environment = {{"GREETING", "hello world"}, {"LANG", "C"}};
  auto backend = pool.open(settings);
  sandbox x{*backend};
  CHECK(x.run("echo \"$GREETING $LANG\"").output == "hello world C\n");
  CHECK(x.run("cat /mnt/shared/tool /opt/tool /mnt/skills/tool").output == "ttt");
  CHECK(x.run("touch /mnt/shared/new").status == 0);
  CHECK(x.run("touch /mnt/skills/new").status != 0);
  CHECK(x.run("echo > /opt/tool").status != 0);
}

TEST_CASE_FIXTURE(fixture, "a root file system of its own is used as it is") {
  auto rootfs = pool.path() / "rootfs";
  REQUIRE(make_directory(rootfs, 0755));
  REQUIRE(make_directory(rootfs / "bin", 0755));
  REQUIRE(make_directory(rootfs / "etc", 0755));
  fs::copy_file("/usr/bin/bash-static", rootfs / "bin/bash");
  REQUIRE(put(rootfs / "etc/release", "mine\n"));
  auto settings = pool.settings();
  settings.rootfs = rootfs;
  copy_libraries(settings.guest, rootfs);
  copy_libraries(settings.probe, rootfs);
  auto backend = pool.open(settings);
  auto probed = backend->probe();
  CHECK_MESSAGE(probed, (probed ? std::string{} : probed.error().message));
  sandbox x{*backend};
  CHECK(x.run("echo $(</etc/release) $BASH; echo /usr*").output == "mine /bin/bash\n/usr*\n");
}

TEST_CASE_FIXTURE(fixture, "the host's network is given only where it is asked for") {
  auto settings = pool.settings();
  settings.host_network = true;
  auto backend = pool.open(settings);
  auto probed = backend->probe();
  CHECK_MESSAGE(probed, (probed ? std::string{} : probed.error().message));
  bool warned = false;
  for (auto& line : backend->warnings())
    warned = warned || line.find("network: host") != line.npos;
  CHECK(warned);
  sandbox x{*backend};
  CHECK(x.run("readlink /proc/self/ns/net").output
        == fs::read_symlink("/proc/self/ns/net").native() + "\n");
  CHECK(x.run("cat /etc/resolv.conf").output == read_small_file("/etc/resolv.conf").value_or(""));
}

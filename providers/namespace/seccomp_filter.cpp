#include "providers/namespace/seccomp_filter.hpp"

#include "providers/namespace/paths.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

namespace corral::jail {

namespace {

// Calls that libseccomp 2.5.4 has no name for; these numbers are the same on every architecture.
constexpr int nr_set_mempolicy_home_node = 450;
constexpr int nr_fchmodat2 = 452;
constexpr int nr_open_tree_attr = 467;

constexpr int denied[] = {
    SCMP_SYS(acct),
    SCMP_SYS(adjtimex),
    SCMP_SYS(bpf),
    SCMP_SYS(chroot),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(clock_settime),
    SCMP_SYS(create_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(finit_module),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fspick),
    SCMP_SYS(init_module),
    SCMP_SYS(ioperm),
    SCMP_SYS(iopl),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(kexec_load),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(mbind),
    SCMP_SYS(migrate_pages),
    SCMP_SYS(mount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(move_mount),
    SCMP_SYS(move_pages),
    SCMP_SYS(nfsservctl),
    SCMP_SYS(open_tree),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(pivot_root),
    SCMP_SYS(quotactl),
    SCMP_SYS(quotactl_fd),
    SCMP_SYS(reboot),
    SCMP_SYS(set_mempolicy),
    SCMP_SYS(setdomainname),
    SCMP_SYS(sethostname),
    SCMP_SYS(setns),
    SCMP_SYS(settimeofday),
    SCMP_SYS(stime),
    SCMP_SYS(swapoff),
    SCMP_SYS(swapon),
    SCMP_SYS(_sysctl),
    SCMP_SYS(syslog),
    SCMP_SYS(umount),
    SCMP_SYS(umount2),
    SCMP_SYS(unshare),
    SCMP_SYS(uselib),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(vhangup),
    SCMP_SYS(vm86),
    SCMP_SYS(vm86old),
    nr_set_mempolicy_home_node,
    nr_open_tree_attr,
};

// Programs take an older way when these don't exist. clone3 passes its flags in memory, where a
// filter can't see them; libc falls back to clone.
constexpr int missing[] = {
    SCMP_SYS(add_key),
    SCMP_SYS(clone3),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(kcmp),
    SCMP_SYS(keyctl),
    SCMP_SYS(memfd_secret),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(request_key),
};

constexpr int for_debuggers[] = {
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
};

constexpr uint64_t new_namespaces[] = {
    CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,  CLONE_NEWIPC,
    CLONE_NEWPID, CLONE_NEWNET,    CLONE_NEWUSER,
};

constexpr int allowed_families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

/// Collects rules; the first failure stays.
class rule_set {
public:
  explicit rule_set(scmp_filter_ctx context) : context_{context} {}

  void add(uint32_t action, int call) { note(seccomp_rule_add(context_, action, call, 0)); }
  void add(uint32_t action, int call, scmp_arg_cmp compare) {
    note(seccomp_rule_add(context_, action, call, 1, compare));
  }
  void note(int status) {
    if (status < 0 && failure_ == 0)
      failure_ = -status;
  }
  int failure() const { return failure_; }

private:
  scmp_filter_ctx context_;
  int failure_ = 0;
};

/// Matches if `bits` are all set in an argument. A plain comparison would look at 64 bits, of which
/// the kernel ignores the upper half for 32-bit arguments and the caller chooses them freely.
scmp_arg_cmp has_bits(unsigned argument, uint64_t bits) {
  return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bits, bits);
}

void add_sockets(rule_set& rules) {
  auto unsupported = SCMP_ACT_ERRNO(EAFNOSUPPORT);
  for (int family = 0; family <= AF_NETLINK; ++family) {
    bool allowed = false;
    for (auto f : allowed_families)
      allowed = allowed || f == family;
    if (!allowed)
      rules.add(unsupported, SCMP_SYS(socket),
                SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
  }
  // Also whatever hides a small family under bits that the kernel ignores.
  rules.add(unsupported, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
}

void add_modes(rule_set& rules) {
  auto no = SCMP_ACT_ERRNO(EPERM);
  rules.add(no, SCMP_SYS(chmod), has_bits(1, S_ISUID));
  rules.add(no, SCMP_SYS(fchmod), has_bits(1, S_ISUID));
  rules.add(no, SCMP_SYS(fchmodat), has_bits(2, S_ISUID));
  rules.add(no, nr_fchmodat2, has_bits(2, S_ISUID));
  // Devices only: mkfifo is a mknod too.
  for (uint64_t type : {S_IFCHR, S_IFBLK}) {
    rules.add(no, SCMP_SYS(mknod), SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, type));
    rules.add(no, SCMP_SYS(mknodat), SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, type));
  }
}

int add_all(scmp_filter_ctx context, bool debuggers) {
  rule_set rules{context};
  auto no = SCMP_ACT_ERRNO(EPERM);
  rules.note(seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  for (auto call : denied)
    rules.add(no, call);
  for (auto call : missing)
    rules.add(SCMP_ACT_ERRNO(ENOSYS), call);
  if (!debuggers)
    for (auto call : for_debuggers)
      rules.add(no, call);
  for (auto flag : new_namespaces)
    rules.add(no, SCMP_SYS(clone), has_bits(0, flag));
  for (uint64_t request : {uint64_t{TIOCSTI}, uint64_t{TIOCLINUX}})
    rules.add(no, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, request));
  add_sockets(rules);
  add_modes(rules);
  return rules.failure();
}

} // namespace

os_result<seccomp_filter> seccomp_filter::compile(bool debuggers) {
  std::unique_ptr<void, decltype(&seccomp_release)> context{seccomp_init(SCMP_ACT_ALLOW),
                                                            &seccomp_release};
  if (!context)
    return os_failure(ENOMEM, "compile seccomp filter");
  if (auto failure = add_all(context.get(), debuggers))
    return os_failure(failure, "compile seccomp filter");
  unique_fd program{::memfd_create("corral-seccomp", MFD_CLOEXEC)};
  if (!program)
    return last_os_error("make memory for the seccomp filter");
  if (auto status = seccomp_export_bpf(context.get(), program.get()); status < 0)
    return os_failure(-status, "export seccomp filter");
  return seccomp_filter{std::move(program)};
}

os_result<unique_fd> seccomp_filter::open() const {
  unique_fd fd{::open(self_fd_path(program_.get()).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    return last_os_error("open seccomp filter");
  return fd;
}

} // namespace corral::jail

#pragma once

#include "os/error.hpp"
#include "os/unique_fd.hpp"

namespace corral::jail {

/// The system calls that commands may make, as a program for the kernel. Everything is allowed but
/// what reaches the kernel's own state, other namespaces, other processes' memory or rarely audited
/// corners; those answer EPERM, or ENOSYS where programs then take another way.
class seccomp_filter {
public:
  /// Compiles the filter once (0.4 ms). `debuggers` leaves ptrace and its kin allowed.
  static os_result<seccomp_filter> compile(bool debuggers);

  /// The compiled program for one reader: with a position of its own, at its start.
  os_result<unique_fd> open() const;

private:
  explicit seccomp_filter(unique_fd program) : program_{std::move(program)} {}

  unique_fd program_;
};

} // namespace corral::jail

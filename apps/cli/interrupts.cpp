#include "apps/cli/interrupts.hpp"

#include <sys/signalfd.h>

namespace corral::cli {

interrupts::interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

interrupts::~interrupts() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool interrupts::take() {
  signalfd_siginfo info;
  return ::read(fd_.get(), &info, sizeof info) == sizeof info;
}

} // namespace corral::cli

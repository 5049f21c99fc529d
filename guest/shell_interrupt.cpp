#include "guest/shell_session.hpp"

#include <signal.h>
#include <unistd.h>

namespace corral::guest {

namespace {

/// How soon to look again for processes that have been told to end.
constexpr std::chrono::milliseconds recheck{10};
/// Bounds what a shell that reads nothing leaves in its pipe.
constexpr int most_status_lines = 60;

} // namespace

bool shell_session::cancel() {
  return interrupt(interruption::cancel);
}

bool shell_session::interrupt(interruption why) {
  if (!run_ || run_->over() || run_->ladder)
    return false;
  run_->why = why;
  run_->deadline.reset();
  run_->ladder.emplace(loop_.now());
  listen();
  interrupt_tick();
  return true;
}

void shell_session::interrupt_tick() {
  auto exhausted = run_->ladder->exhausted(loop_.now());
  if (!run_->over() && exhausted)
    host_.kill();
  else if (!run_->over())
    interrupt_shell();
  auto none_left = signal_targets();
  if (run_->over() && (none_left || exhausted))
    return finish();
  run_->step =
      loop_.after(run_->over() ? recheck : interrupt_ladder::tick, [this] { interrupt_tick(); });
}

void shell_session::interrupt_shell() {
  // When the shell's child dies of another signal than SIGINT, the shell would go on with the next
  // command: the abort trap keeps it from that. The shell itself may be stopped.
  host_.signal(SIGRTMAX);
  host_.signal(SIGCONT);
  host_.signal(SIGINT);
  auto first = run_->ladder_ticks++ == 0;
  // Again each time, since SIGINT may discard it; repeats do no harm, thanks to the nonce.
  if (run_->ladder_ticks < most_status_lines)
    host_.send(first ? status_line(host_.paths(), run_->nonce, run_->scoped())
                     : rescue_line(host_.paths(), run_->nonce, run_->scoped()));
}

/// True if nothing of this command is left.
bool shell_session::signal_targets() {
  auto now = loop_.now();
  auto targets = find_targets();
  // A process that goes on forking outruns one that kills pid by pid; PID 1 can stop all at once.
  auto freeze = !targets.empty() && run_->ladder->is_killing(now) && ::getpid() == 1;
  if (freeze) {
    ::kill(-1, SIGSTOP);
    targets = find_targets();
  }
  for (auto& x : targets) {
    auto number = run_->ladder->signal_for(x, ignores_interrupt(x.pid), now);
    if (number == 0)
      continue;
    ::kill(x.pid, number);
    ::kill(x.pid, SIGCONT);
  }
  if (freeze)
    ::kill(-1, SIGCONT);
  return targets.empty();
}

std::vector<process_entry> shell_session::find_targets() const {
  return processes_since(process_table::read(), run_->birth, ::getpid(), host_.pid());
}

} // namespace corral::guest

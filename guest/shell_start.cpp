// How a command gets to run: the first half of `shell_session`.

#include "guest/shell_session.hpp"

#include "os/random.hpp"

#include <cerrno>

namespace corral::guest {

namespace {

/// Most commands end before this: their output is fetched at once then, without a wakeup for it.
constexpr std::chrono::milliseconds settle_after{2};
constexpr int most_attempts = 3;

} // namespace

void shell_session::attempt() {
  if (!prepare())
    return;
  run_->nonce = random_hex(8);
  parser_.expect(run_->nonce);
  used_ = unsaved_ = true;
  host_.send(run_line(host_.paths(), pipes_.number(), input_.is_open())
             + status_line(host_.paths(), run_->nonce, run_->scoped()));
  run_->step = loop_.after(settle_after, [this] { settle_in(); });
}

/// False if this attempt has ended already, by another one or by failing.
bool shell_session::prepare() {
  if (!host_.alive()) {
    replace_shell();
    if (!host_.alive()) {
      retry();
      return false;
    }
  }
  auto ready = write_files();
  if (ready)
    return true;
  if (ready.error().number == ENOSPC)
    fail({errc::no_space, "there is no room left for the command's text", {}});
  else
    retry();
  return false;
}

os_result<void> shell_session::write_files() {
  auto& files = host_.files();
  if (auto made = pipes_.prepare(); !made)
    return made;
  if (auto made = mark_.arm(); !made)
    return made;
  if (auto made = open_input(); !made)
    return made;
  if (run_->scoped()) {
    auto& scope = run_->command.scope;
    if (auto written = files.write_scope(enter_text(host_.paths(), scope),
                                         leave_text(host_.paths(), scope, directory_));
        !written)
      return written;
  }
  return files.write_command(
      command_text(host_.paths(), run_->command.script, last_code_, run_->scoped()));
}

os_result<void> shell_session::open_input() {
  auto& command = run_->command;
  if (!command.input && !command.input_open)
    return {};
  if (auto made = input_.open(host_.paths().fifo('i', pipes_.number())); !made)
    return made;
  input_.preload(command.input.value_or(""));
  if (!command.input_open)
    input_.finish();
  run_->mark_watch = loop_.watch_fd(mark_.reader(), EPOLLIN, [this](uint32_t) {
    run_->mark_watch.reset();
    input_.reader_present();
  });
  return {};
}

birth_line shell_session::draw_birth_line() const {
  auto now = current_start_time();
  // Reading the table takes longer than a short command, and only start times of this very tick
  // would need it.
  if (forked_ && last_end_ == now)
    return {now, process_table::read()};
  return birth_line{now};
}

/// The command can't have run: once more in a new shell, at last in one without the old state.
void shell_session::retry() {
  if (++run_->attempts >= most_attempts)
    return fail({errc::sandbox_runtime, "the sandbox's shell doesn't run commands",
                 fields{}.set("step", "shell")});
  run_->step.reset();
  run_->mark_watch.reset();
  run_->status.reset();
  run_->end.reset();
  run_->listening = false;
  run_->idle_probes = 0;
  host_.drop();
  pipes_.discard();
  mark_.discard();
  if (run_->attempts + 1 == most_attempts)
    host_.files().forget_state();
  replace_shell();
  attempt();
}

} // namespace corral::guest

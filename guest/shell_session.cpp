#include "guest/shell_session.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

namespace corral::guest {

namespace {

using std::chrono::milliseconds;

/// How long a process substitution may take to write its last line after the command's end.
constexpr milliseconds linger{20};
constexpr milliseconds longest_probe{1000};
constexpr size_t large_script = 64 * 1024;

} // namespace

shell_session::shell_session(event_loop& loop, shell_settings settings)
    : loop_{loop}, workspace_{settings.workspace},
      host_{loop,
            std::move(settings),
            {[this](std::string_view bytes) { on_status(bytes); },
             [this](int wait_status) { on_shell_end(wait_status); }}},
      mark_{host_.paths()}, pipes_{loop, host_.paths()}, drain_{loop}, input_{loop},
      directory_{workspace_} {}

result<void> shell_session::start() {
  if (auto started = host_.start(false, std::nullopt); !started)
    return tl::unexpected{started.error()};
  // What fails here is tried again for the first command.
  [[maybe_unused]] auto ready = pipes_.prepare() && mark_.arm();
  return {};
}

void shell_session::run(shell_command command, output_handler on_output,
                        outcome_handler on_outcome) {
  run_ = running{};
  run_->command = std::move(command);
  run_->on_output = std::move(on_output);
  run_->on_outcome = std::move(on_outcome);
  run_->started = loop_.now();
  run_->birth = draw_birth_line();
  dump_timer_.reset();
  run_->deadline =
      loop_.at(run_->started + run_->command.timeout, [this] { interrupt(interruption::timeout); });
  attempt();
}

void shell_session::fail(error x) {
  run_->on_outcome(tl::unexpected{std::move(x)});
  tidy_up();
}

void shell_session::settle_in() {
  listen();
  // Read only once the shell is back at its prompt, which is how a probe finds out.
  host_.send("\n");
  run_->step = loop_.after(run_->probe_delay, [this] { probe(); });
}

void shell_session::listen() {
  if (!std::exchange(run_->listening, true))
    pipes_.listen(run_->on_output);
}

/// Finds a shell that waits at its prompt without having reported: an interrupt of its own may
/// have discarded the status line, a function may have taken printf's place.
void shell_session::probe() {
  auto& delay = run_->probe_delay;
  if (host_.input_consumed()) {
    delay = milliseconds{10};
    switch (++run_->idle_probes) {
    case 1:
      host_.send(status_line(host_.paths(), run_->nonce, run_->scoped()));
      break;
    case 2:
      host_.send(rescue_line(host_.paths(), run_->nonce, run_->scoped()));
      break;
    default:
      host_.kill();
    }
  } else {
    run_->idle_probes = 0;
    delay = std::min(2 * delay, longest_probe);
  }
  run_->step = loop_.after(delay, [this] { probe(); });
}

void shell_session::on_status(std::string_view bytes) {
  if (!run_ || run_->over())
    return;
  run_->status = parser_.feed(bytes);
  if (run_->status)
    command_ended();
}

void shell_session::on_shell_end(int wait_status) {
  if (run_ && !run_->over()) {
    run_->end = wait_status;
    command_ended();
  } else if (!run_ && used_) {
    replace_shell(); // One that ends again without having run anything is replaced when needed.
  }
}

void shell_session::command_ended() {
  run_->step.reset();
  if (!run_->ladder && !mark_.is_set()) {
    if (run_->status && run_->status->exit_code == scope_failure && run_->scoped())
      return fail(
          {errc::invalid_request,
           "exec: the session has made a variable of env read-only, or cwd can't be entered",
           {}});
    return retry();
  }
  run_->deadline.reset();
  auto all_closed = pipes_.collect(run_->on_output);
  if (run_->ladder)
    return interrupt_tick();
  if (all_closed)
    return finish();
  pipes_.await_end(run_->on_output, [this] { finish(); });
  run_->step = loop_.after(linger, [this] { finish(); });
}

void shell_session::finish() {
  if (run_->ladder)
    pipes_.collect(run_->on_output);
  if (run_->status)
    directory_ = run_->status->directory;
  if (!host_.alive())
    replace_shell();
  run_->on_outcome(make_outcome());
  tidy_up();
}

shell_outcome shell_session::make_outcome() {
  shell_outcome result;
  result.timed_out = run_->why == interruption::timeout;
  result.cancelled = run_->why == interruption::cancel;
  if (run_->status)
    last_code_ = run_->status->exit_code;
  else
    last_code_ = WIFEXITED(*run_->end) ? WEXITSTATUS(*run_->end) : 128 + WTERMSIG(*run_->end);
  if (run_->why != interruption::none)
    last_code_ = result.timed_out ? 124 : 128 + SIGINT;
  else if (run_->end && WIFSIGNALED(*run_->end))
    result.signal = WTERMSIG(*run_->end);
  else
    result.exit_code = last_code_;
  result.duration = std::chrono::duration_cast<milliseconds>(loop_.now() - run_->started);
  result.directory = directory_;
  result.session = host_.session();
  result.reset = std::exchange(pending_reset_, session_reset::none);
  return result;
}

void shell_session::replace_shell() {
  auto saved = host_.files().adopt_dump();
  if (saved)
    directory_ = *saved;
  used_ = false;
  auto reset = host_.start(true, saved ? std::nullopt : std::optional{directory_});
  if (reset)
    pending_reset_ = std::max(pending_reset_, *reset);
}

void shell_session::tidy_up() {
  auto interrupted = run_->ladder.has_value();
  pipes_.release(drain_);
  input_.close();
  host_.files().clear_scope();
  if (run_->command.script.size() > large_script)
    (void)host_.files().write_command("");
  if (interrupted && host_.alive())
    host_.send(recover_line(host_.paths()));
  run_.reset();
  // What fails here is tried again for the next command.
  [[maybe_unused]] auto ready = pipes_.prepare() && mark_.arm();
  note_activity();
  dump_timer_ = loop_.after(dump_delay, [this] { dump(); });
}

void shell_session::note_activity() {
  auto pid = pids_.last();
  forked_ = !pid || pid != last_pid_;
  last_pid_ = pid;
  last_end_ = current_start_time();
}

void shell_session::dump() {
  if (!std::exchange(unsaved_, false) || !host_.alive())
    return;
  host_.files().adopt_dump();
  host_.send(dump_line(host_.paths()));
}

result<unsigned> shell_session::reset() {
  if (run_)
    return failure(errc::busy, "a command is running in this session");
  host_.drop();
  dump_timer_.reset();
  directory_ = workspace_;
  last_code_ = 0;
  used_ = unsaved_ = false;
  pending_reset_ = session_reset::none;
  if (auto started = host_.start(false, std::nullopt); !started)
    return tl::unexpected{started.error()};
  return host_.session();
}

std::optional<size_t> shell_session::feed(std::string_view bytes, bool end) {
  if (!run_ || run_->over() || !run_->command.input_open || !input_.is_open())
    return std::nullopt;
  auto accepted = input_.offer(bytes);
  if (end && accepted == bytes.size())
    input_.finish();
  return accepted;
}

} // namespace corral::guest

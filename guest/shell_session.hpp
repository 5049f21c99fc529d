#pragma once

#include "guest/input_pipe.hpp"
#include "guest/interrupt_ladder.hpp"
#include "guest/output_pipes.hpp"
#include "guest/shell_host.hpp"
#include "guest/status_parser.hpp"

#include <optional>
#include <string>

namespace corral::guest {

struct shell_command {
  std::string script{}; ///< Without NUL.
  command_scope scope{};
  std::optional<std::string> input{}; ///< What stdin brings; /dev/null if absent and not open.
  bool input_open = false;            ///< More may come by `feed`.
  std::chrono::milliseconds timeout{600'000};
};

struct shell_outcome {
  std::optional<int> exit_code; ///< Nothing if interrupted, or if the shell died by a signal.
  std::optional<int> signal;    ///< What the shell died by.
  bool timed_out = false;
  bool cancelled = false;
  std::chrono::milliseconds duration{0};
  std::string directory; ///< The session's, after the command.
  unsigned session = 0;
  session_reset reset = session_reset::none; ///< Since the previous command's outcome.
};

/// One bash session that lives as long as the sandbox, for one command at a time. Nothing a command
/// prints, reads, traps, exits or kills ends it for good, and every command has an outcome: at the
/// latest 2 s after its timeout. Event driven; never blocks.
class shell_session {
public:
  using clock = event_loop::clock;
  using output_handler = output_pipes::handler;
  /// An error if the command did not run: `invalid_request` for a read-only variable in its scope,
  /// `sandbox_runtime` if no shell can be had.
  using outcome_handler = std::function<void(result<shell_outcome>)>;

  static constexpr std::chrono::milliseconds dump_delay{200};

  shell_session(event_loop& loop, shell_settings settings);

  /// Starts the shell ahead of the first command.
  result<void> start();

  bool busy() const { return run_.has_value(); }
  unsigned session() const { return host_.session(); }
  pid_t shell_pid() const { return host_.pid(); }
  const std::string& workspace() const { return workspace_; }

  /// Runs a command; not while busy, nor from a handler. Both handlers are called from the loop or
  /// from this call.
  void run(shell_command command, output_handler on_output, outcome_handler on_outcome);

  /// Ends the running command and all it started. False if there is none, or if it is over but for
  /// its outcome.
  bool cancel();

  /// More for the running command's stdin; returns the bytes accepted. Nothing if it takes none.
  std::optional<size_t> feed(std::string_view bytes, bool end);

  /// A new session as at the start; what runs in the background goes on. Not while busy.
  result<unsigned> reset();

  /// Reaps ended children; called for SIGCHLD.
  void reap() { host_.reap(); }

private:
  enum class interruption : uint8_t { none, timeout, cancel };

  /// The running command.
  struct running {
    shell_command command;
    output_handler on_output;
    outcome_handler on_outcome;
    clock::time_point started;
    std::string nonce;
    birth_line birth;
    int attempts = 0;
    bool listening = false;
    int idle_probes = 0;
    std::chrono::milliseconds probe_delay{10};
    interruption why = interruption::none;
    std::optional<interrupt_ladder> ladder;
    int ladder_ticks = 0;
    std::optional<shell_status> status;
    std::optional<int> end; ///< The shell's wait status.
    event_loop::timer deadline;
    event_loop::timer
        step; ///< What comes next: settling in, a probe, a tick, the end of lingering.
    event_loop::watch mark_watch;

    bool over() const { return status || end; }
    bool scoped() const { return !command.scope.empty(); }
  };

  // Starting: shell_start.cpp.
  void attempt();
  bool prepare();
  os_result<void> write_files();
  os_result<void> open_input();
  birth_line draw_birth_line() const;
  void retry();
  void fail(error x);

  // While it runs.
  void settle_in();
  void listen();
  void probe();
  void on_status(std::string_view bytes);
  void on_shell_end(int wait_status);
  void command_ended();

  // Ending it early: shell_interrupt.cpp.
  bool interrupt(interruption why);
  void interrupt_tick();
  void interrupt_shell();
  bool signal_targets();
  std::vector<process_entry> find_targets() const;

  // Afterwards.
  void finish();
  shell_outcome make_outcome();
  void replace_shell();
  void tidy_up();
  void note_activity();
  void dump();

  event_loop& loop_;
  std::string workspace_;
  shell_host host_;
  start_mark mark_;
  output_pipes pipes_;
  output_drain drain_;
  input_pipe input_;
  status_parser parser_;
  std::optional<running> run_;

  std::string directory_;
  int last_code_ = 0;
  session_reset pending_reset_ = session_reset::none;
  bool used_ = false;     ///< The present shell has run a command.
  bool unsaved_ = false;  ///< A command has run since the last dump.
  bool forked_ = true;    ///< Processes may have been started by the previous command.
  uint64_t last_end_ = 0; ///< When that one ended, as process start times count.
  std::optional<pid_t> last_pid_;
  pid_counter pids_;
  event_loop::timer dump_timer_;
};

} // namespace corral::guest

#pragma once

#include "guest/control_dir.hpp"
#include "guest/event_loop.hpp"
#include "messages/wire/error.hpp"
#include "os/child_process.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace corral::guest {

struct shell_settings {
  std::vector<std::string> programs = {"/bin/bash", "/usr/bin/bash"}; ///< The first that starts.
  std::filesystem::path control; ///< A private directory on a tmpfs.
  std::string workspace;         ///< Where the session starts.
  std::vector<std::string> environment;
  std::optional<rlimit> descriptor_limit; ///< Of the shell, where the guest's own was raised.
};

/// How much of the session survived the shell's end.
enum class session_reset : uint8_t { none, restored, initial };

/// The bash process behind the session, its two pipes, and its successor when it ends.
class shell_host {
public:
  struct callbacks {
    std::function<void(std::string_view)> on_status; ///< Bytes of the status pipe.
    std::function<void(int wait_status)> on_end;
  };

  shell_host(event_loop& loop, shell_settings settings, callbacks calls);

  const control_paths& paths() const { return files_.paths(); }
  control_dir& files() { return files_; }

  bool alive() const { return process_.has_value(); }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  /// Counts the shells; the first is 1.
  unsigned session() const { return session_; }

  /// Starts a shell: with the last state and in `directory`, or as at the very first.
  /// `sandbox_runtime` with step `shell` if that fails.
  result<session_reset> start(bool restore, const std::optional<std::string>& directory);

  /// Hands lines to the shell. Never blocks: lines for a shell that reads no more are dropped.
  void send(std::string_view lines);

  /// True if the shell has read all that was sent: it is back at its prompt.
  bool input_consumed() const;

  void signal(int number);
  /// Kills it; `on_end` follows when it is reaped.
  void kill() { signal(SIGKILL); }
  /// Kills and reaps it without `on_end`.
  void drop();

  /// Reaps every child that has ended, orphans of the sandbox included.
  void reap();

private:
  os_result<void> spawn();
  /// False if there is nothing to read now.
  bool read_status();

  event_loop& loop_;
  shell_settings settings_;
  callbacks calls_;
  control_dir files_;
  unsigned session_ = 0;
  std::optional<child_process> process_;
  unique_fd control_;
  unique_fd status_;
  event_loop::watch status_watch_;
};

} // namespace corral::guest

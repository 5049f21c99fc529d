#pragma once

#include "apps/cli/daemon_client.hpp"
#include "bench/dealer.hpp"
#include "os/child_process.hpp"
#include "os/temp_dir.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace corral::bench {

/// A directory that other users can pass, as sandboxes of a daemon run by root need it.
temp_dir passable_dir();

/// A corrald of the build being measured, in directories of its own.
class daemon {
public:
  /// Starts it and waits until it serves. `options` are like corrald's --set. Throws
  /// std::runtime_error with the end of its log.
  daemon(const std::filesystem::path& build, const std::vector<std::string>& options);

  /// Stops it, and its sandboxes with it.
  ~daemon();
  daemon(const daemon&) = delete;
  daemon& operator=(const daemon&) = delete;

  std::string endpoint() const { return "ipc://" + (dir_.path() / "r/corral.sock").native(); }
  pid_t pid() const { return process_.pid(); }

  /// For what is not measured.
  cli::daemon_client& client() { return *client_; }

  /// Acquires a thread's sandbox; its id.
  std::string acquire(const std::string& thread);

  /// Runs a script in a sandbox. Throws if it fails.
  void run(const std::string& sandbox, const std::string& script);

  void destroy(const std::string& sandbox);

  message call(message request);

private:
  std::string log_tail() const;

  temp_dir dir_;
  child_process process_;
  std::optional<cli::daemon_client> client_;
};

} // namespace corral::bench

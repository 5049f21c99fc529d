// What each command does, apart from reading its command line.

#pragma once

#include "apps/cli/arguments.hpp"
#include "apps/cli/daemon_client.hpp"
#include "apps/cli/interrupts.hpp"
#include "messages/wire/ops.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace corral::cli {

/// Exit statuses beyond a command's own.
enum exit_status : int {
  exit_ok = 0,
  exit_check_failed = 1, ///< doctor found something to fix.
  exit_timed_out = 124,
  exit_failed = 125, ///< Of corral itself: usage, no daemon, a refusal.
  exit_cancelled = 130,
};

struct exec_options {
  target to; ///< Empty: a new sandbox, which is destroyed afterwards.
  std::string script;
  std::optional<std::chrono::milliseconds> timeout;
  std::map<std::string, std::string> env;
  std::string cwd;
  std::string key;
  bool feed_stdin = false;
};

/// Runs a command; its exit status, or what stands for it.
cli_result<int> exec(daemon_client& client, interrupts& signals, const exec_options& x, bool json);

/// The exit status that an exec's result stands for.
int exit_status_of(const fields& result);

struct list_options {
  std::string state;
  std::string user;
};

cli_result<int> list(daemon_client& client, const list_options& x, bool json);

struct destroy_options {
  target to;
  bool force = false;
  bool purge = false;
};

cli_result<int> destroy(daemon_client& client, const destroy_options& x, bool json);

struct read_options {
  target to;
  std::string path;
  line_range lines;
  bool raw = false;
};

cli_result<int> read(daemon_client& client, const read_options& x, bool json);

struct write_options {
  target to;
  std::string path;
  std::string from; ///< Empty: stdin.
  bool append = false;
};

cli_result<int> write(daemon_client& client, const write_options& x, bool json);

cli_result<int> stats(daemon_client& client, bool json);

struct events_options {
  std::vector<std::string> topics; ///< Their beginnings; none for all.
  std::string thread;              ///< Empty: any.
};

struct keygen_options {
  std::string file;
  std::string name = "NAME";
  std::vector<std::string> users; ///< None: all. So for ops.
  std::vector<std::string> ops;
};

/// Makes a key pair file and prints its public key, and the line for the daemon's configuration.
cli_result<int> keygen(const keygen_options& x, bool json);

/// Prints events as they come, for ever: a daemon that goes is waited for. Ends if stdout does.
cli_result<int> events(daemon_client& client, const events_options& x, bool json);

/// An event for people: when, what, where, and what else it says.
std::string event_line(const fields& x);

/// Sets the fields that name a target of any kind.
void set_target(fields& header, const target& to);

/// A result as one line of JSON on stdout, without what only matters between client and daemon.
cli_result<int> print_json(fields x, int status = exit_ok);

} // namespace corral::cli

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
  exit_check_failed = 1, ///< doctor found something to fix; grep or glob found nothing.
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

struct get_options {
  target to;
};

/// Shows one sandbox; `sandbox_not_found` if it isn't there.
cli_result<int> get(daemon_client& client, const get_options& x, bool json);

struct acquire_options {
  target to;          ///< Without thread: a sandbox of no thread.
  std::string client; ///< The name under which it holds its lease, its own.
  bool hold = false;
  std::chrono::milliseconds keep{0}; ///< How long its lease outlives the command; 0: no lease.

  bool wants_lease() const { return hold || keep.count() > 0; }
};

/// Makes a sandbox ready and prints what it is. With `hold` until a signal comes, or until the
/// sandbox or the lease is gone: `sandbox_lost`.
cli_result<int> acquire(daemon_client& client, interrupts& signals, const acquire_options& x,
                        bool json);

struct release_options {
  target to;
  held_lease lease;
};

cli_result<int> release(daemon_client& client, const release_options& x, bool json);

/// Whom a command speaks for to the daemon: a client of its own where a lease is wanted or given
/// back, else nobody.
client_identity identity_for(const acquire_options& x);
client_identity identity_for(const release_options& x);

struct reset_options {
  target to;
};

/// Replaces a sandbox's shell session by a new one.
cli_result<int> reset(daemon_client& client, const reset_options& x, bool json);

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

struct copy_options {
  target to;
  bool upload = false; ///< From here to the sandbox, else back.
  std::string local;   ///< "-": stdin or stdout.
  std::string path;    ///< In the sandbox; for an upload empty or with a / at its end: a directory.
};

/// Copies one file. What is downloaded is checked, and appears whole or not at all. A signal ends a
/// download to a file: `interrupted`.
cli_result<int> copy(daemon_client& client, interrupts* signals, const copy_options& x, bool json);

/// What grep and glob share.
struct search_options {
  target to;
  std::string pattern;
  std::string path = "."; ///< Where to search, below the workspace unless absolute.
  std::optional<int64_t> most;
  bool all = false; ///< Also in what is usually left out, such as .git.
};

struct grep_options {
  search_options search;
  std::string files; ///< A glob that files' names must match; empty: all.
  bool literal = false;
  bool case_sensitive = false;
};

/// Prints "path:line number:line" for each line that matches; `exit_check_failed` if none does.
cli_result<int> grep(daemon_client& client, const grep_options& x, bool json);

struct glob_options {
  search_options search;
  bool directories = false;
};

/// Prints the path of each file that matches; `exit_check_failed` if none does.
cli_result<int> glob(daemon_client& client, const glob_options& x, bool json);

struct top_options {
  std::chrono::milliseconds interval{2000};
};

/// Shows sandboxes and rates, anew after each interval, until q or a signal. Once, after one
/// interval, where stdout is no terminal or `json` is asked for.
cli_result<int> top(daemon_client& client, interrupts& signals, const top_options& x, bool json);

struct completion_options {
  std::string shell; ///< "bash" or "zsh".
};

/// Prints the script that a shell loads.
cli_result<int> print_completion(const completion_options& x);

/// What a shell asks on behalf of the user.
struct complete_options {
  std::vector<std::string> words; ///< After the program's name, up to the one at the cursor.
};

/// Prints what may stand at the cursor, a word a line. Says nothing of a daemon that isn't there.
cli_result<int> print_candidates(const complete_options& x, const std::string& default_endpoint);

cli_result<int> stats(daemon_client& client, bool json);

/// Prints which options took effect and which need a restart.
cli_result<int> reload(daemon_client& client, bool json);

/// What the daemon knows of a sandbox that is there; `sandbox_not_found` if it isn't, or if it is
/// another owner's than the thread that was named.
cli_result<fields> inspect(daemon_client& client, const target& to);

/// The id that a target stands for, without making a sandbox.
cli_result<std::string> id_of(daemon_client& client, const target& to);

/// The objects in a reply's results.
std::vector<fields> rows_of(const message& reply);
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

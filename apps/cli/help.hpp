// The ends of the help texts: examples, exit statuses.

#pragma once

namespace corral::cli::help {

inline constexpr auto general = R"(
Without --endpoint and $CORRAL_ENDPOINT the daemon is looked for where it listens by default: root's
on /run/corral/corral.sock, a user's on $XDG_RUNTIME_DIR/corral/corral.sock or else
/tmp/corral-UID/corral.sock.

Examples:
  corral doctor                                        can sandboxes run here?
  corral exec -- 'echo hello; uname -a'                in a sandbox of its own
  corral exec --thread demo -- make -j2                in the sandbox of a thread
  corral write --thread demo main.c --from main.c
  corral read --thread demo /mnt/user-data/outputs/report.md
  corral ls --json

Exit status:
  0    done
  1    doctor found something to fix
  124  exec: the command ran out of time
  125  corral itself failed: wrong usage, no daemon, a refusal; see stderr
  130  exec: cancelled
  exec otherwise ends with the status of its command (128 + n if its shell died of signal n).
`corral COMMAND --help` has more on a command.)";

inline constexpr auto exec = R"(
One argument after -- is a script for the shell; several are the words of one command. Without
--thread and --sandbox the command gets a new sandbox, which is destroyed with its files afterwards.
Stdin is passed on unless it is a terminal. The first Ctrl-C cancels the command and waits for its
end, the second one leaves at once. Durations: 250ms, 30s, 10m, 4h, or seconds.

Examples:
  corral exec -- 'for i in 1 2 3; do echo $i; done'
  corral exec --thread demo --timeout 30s -- gcc -o hello hello.c
  corral exec --thread demo --env CC=clang --cwd /mnt/user-data/workspace/src -- make
  tar c src | corral exec --thread demo -- tar x
  corral exec --thread demo --key build-42 -- make install
  corral --json exec --thread demo -- true

Exit status: the command's own; 124 out of time, 125 corral itself failed, 130 cancelled.)";

inline constexpr auto list = R"(
Examples:
  corral ls
  corral ls --state parked
  corral ls --user alice --json)";

inline constexpr auto destroy = R"(
Examples:
  corral destroy 2c26b46b68ffc68f
  corral destroy --thread demo --user alice
  corral destroy --thread demo --force --purge)";

inline constexpr auto read = R"(
Examples:
  corral read --thread demo src/main.c
  corral read --thread demo --lines 10:20 src/main.c
  corral read --thread demo --raw /mnt/user-data/outputs/plot.png > plot.png)";

inline constexpr auto write = R"(
Examples:
  echo hello | corral write --thread demo greeting.txt
  corral write --thread demo data.bin --from data.bin
  date | corral write --thread demo --append log.txt)";

inline constexpr auto stats = R"(
Examples:
  corral stats
  corral stats --json)";

inline constexpr auto events = R"(
One line an event, until interrupted; a daemon that is restarted is waited for. Topics:
sandbox.created, .acquired, .released, .evicted, .reaped, .lost, .destroyed; exec.started,
exec.finished. Losses are told on stderr, if no topic is given. Commands and output are never shown.

Examples:
  corral events
  corral events sandbox.lost sandbox.evicted
  corral events exec. --thread demo
  corral events --json | jq -r 'select(.event == "exec.finished") | .duration_ms')";

inline constexpr auto keygen = R"(
The file has both halves, mode 0600. Prints the public one and the line that lets its holder in.
The daemon needs a file of its own (curve_secret_file), clients its public half (--server-key).

Examples:
  corral keygen /etc/corral/server.key
  corral keygen web.key --name web --user alice --user bob
  corral keygen monitor.key --name monitor --op list --op stats
  corral --endpoint tcp://host:5700 --key web.key --server-key 'KEY' ls --user alice)";

inline constexpr auto doctor = R"(
Needs no daemon. A line for each check: ok, warn (works, with less than it could have) or FAIL, with
what to do about it.

Examples:
  corral doctor
  corral doctor --config /etc/corral.yaml
  corral doctor --json

Exit status: 0 nothing fails, 1 something does.)";

} // namespace corral::cli::help

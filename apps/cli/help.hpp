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
  corral cp demo:/mnt/user-data/outputs/plot.png .
  corral ls --json
  corral top

Exit status:
  0    done
  1    doctor found something to fix; grep or glob found nothing
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

inline constexpr auto get = R"(
Looking at a sandbox does not count as use of it.

Examples:
  corral get 2c26b46b
  corral get --thread demo --user alice
  corral get --thread demo --json)";

inline constexpr auto acquire = R"(
Prints the sandbox's id, its origin (active, warm or created) and the number of its shell session.
Without --hold and --for it is only made ready: nothing holds it, it may be evicted or reaped like
any sandbox at rest. With either, its lease is printed too, for `corral release`; while a sandbox has
a lease it is neither evicted nor parked. Ctrl-C ends --hold and gives the lease back; if the command
is killed the lease ends within 30 s.

Examples:
  corral acquire --thread demo
  corral acquire --thread demo --hold
  corral acquire --thread demo --for 30m --json
  corral acquire --pool default --for 10m              a sandbox of no thread, destroyed on release)";

inline constexpr auto release = R"(
When a sandbox's last lease goes it is parked, with everything in it running.

Examples:
  corral release 2c26b46b68ffc68f --lease corral-5f0c8a2b41d7e963/17
  corral release --thread demo --lease corral-5f0c8a2b41d7e963/17)";

inline constexpr auto reset = R"(
The new shell knows nothing of the old one: variables, functions and the directory are gone, its
background jobs go on, without a shell that knows of them. Files stay. A command that runs is waited for.

Examples:
  corral reset 2c26b46b
  corral reset --thread demo --json)";

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

inline constexpr auto copy = R"(
One of the two is THREAD:PATH, in the sandbox of a thread; a relative PATH is below its workspace.
A name with a colon in it is written ./a:b. Files up to the daemon's limit (100 MiB unless configured)
are copied piece by piece, with progress on a terminal. What comes from a sandbox is checked by size
and SHA-256, and the file here appears whole or not at all.

Examples:
  corral cp main.c demo:src/
  corral cp demo:/mnt/user-data/outputs/plot.png .
  corral cp --user alice data.bin demo:/mnt/user-data/uploads/data.bin
  pg_dump shop | corral cp - demo:shop.sql
  corral cp demo:report.md - | less
  tar c src | corral exec --thread demo -- tar x       a whole directory
  corral exec --thread demo -- tar c src | tar x       and back)";

inline constexpr auto grep = R"(
Prints PATH:NUMBER:LINE for each line that matches, at most 100 unless --max-results says more; a
notice on stderr says if there are others.

Examples:
  corral grep --thread demo 'TODO|FIXME'
  corral grep --thread demo --glob '*.py' --case-sensitive 'class [A-Z]' src
  corral grep --thread demo --literal 'a[0]' /mnt/user-data/outputs --json

Exit status: 0 found, 1 nothing found, 125 corral itself failed.)";

inline constexpr auto glob = R"(
Prints a path a line, at most 200 unless --max-results says more; a notice on stderr says if there
are others.

Examples:
  corral glob --thread demo '**/*.py'
  corral glob --thread demo --dirs '*' /mnt/user-data/outputs
  corral glob --thread demo --max-results 10000 '**' --json

Exit status: 0 found, 1 nothing found, 125 corral itself failed.)";

inline constexpr auto top = R"(
On a terminal anew every --interval until q or Ctrl-C. Where stdout is none, and with --json, once:
the rates are then those of one interval.

Examples:
  corral top
  corral top --interval 500ms
  corral top --json

Exit status: 0 after q or Ctrl-C, 125 corral itself failed, 130 interrupted before the one table.)";

inline constexpr auto completion = R"(
Commands, options and their values are completed; threads, sandboxes, users and pools are those that
the daemon has, if it is there.

Examples:
  source <(corral completion bash)                     for this shell
  corral completion bash > /etc/bash_completion.d/corral
  source <(corral completion zsh)                      after compinit
  corral completion zsh > ~/.zfunc/_corral             with ~/.zfunc in $fpath)";

inline constexpr auto reload = R"(
Examples:
  corral reload                                after a change of corrald's file
  corral reload --json)";

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

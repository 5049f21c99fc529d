"""One persistent shell a sandbox: what persists, what ends, and that nothing a command does corrupts
the next one."""

import threading
import time

import pytest
from harness import eventually, running

import corral
from corral import errors


def alive(sandbox):
    """The session still answers, exactly and soon."""
    result = sandbox.exec("echo alive", timeout=5)
    return (result.exit_code, result.stdout, result.stderr) == (0, b"alive\n", b"")


def in_background(call):
    """Runs a call in a thread of its own; returns where its result will be."""
    box = []
    thread = threading.Thread(target=lambda: box.append(call()), daemon=True)
    thread.start()
    thread.result = lambda: (thread.join(30), box[0])[1]
    return thread


def test_directory_variables_functions_aliases_and_options_persist(sandbox):
    sandbox.exec(
        "cd /tmp; export EXPORTED=1; plain=2; f() { echo fn $1; }; shopt -s extglob expand_aliases;"
        " alias ll='echo al'; a=(x 'y z'); declare -A m=([k]=v); umask 027"
    )
    result = sandbox.exec(
        'pwd; echo $EXPORTED $plain "${a[1]}" ${m[k]}; f 3; shopt -q extglob && umask\nll'
    )
    assert result.stdout == b"/tmp\n1 2 y z v\nfn 3\n0027\nal\n"
    assert (result.exit_code, result.stderr, result.cwd) == (0, b"", "/tmp")


def test_the_exit_code_is_the_commands_and_the_next_command_sees_it(sandbox):
    assert sandbox.exec("false").exit_code == 1
    assert sandbox.exec("echo $?").stdout == b"1\n"
    assert sandbox.exec("(exit 213)").exit_code == 213
    assert sandbox.exec("nosuchprogram").exit_code == 127
    assert sandbox.exec("sh -c 'kill -SEGV $$'").exit_code == 139
    assert sandbox.exec("true").exit_code == 0


def test_stdout_and_stderr_come_apart_and_the_agents_text_has_both(sandbox):
    result = sandbox.exec("echo out; echo err >&2; (exit 3)")
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert result.output == "out\n\nStd Error:\nerr\n\nExit Code: 3"
    assert sandbox.exec("true").output == "(no output)"
    assert sandbox.exec("echo only >&2").output == "only\n"


@pytest.mark.parametrize(
    "command, stdout",
    [
        ("cat <<E\nhi\nE", b"hi\n"),
        ("cat <<'E' | tr a-z A-Z\n$x `y`\nE", b"$X `Y`\n"),
        ("python3 - <<'P'\nimport sys\nprint(sys.argv[1:])\nP", b"[]\n"),
        ("for f in a b; do\n  echo $f\ndone\ncase x in\n  x) echo y ;;\nesac", b"a\nb\ny\n"),
        ("printf 'a\\n' \\", b"a\n"),
        ("# only a comment", b""),
        ("", b""),
        ("cat; wc -c", b"0\n"),
    ],
)
def test_texts_of_any_shape_run_whole_and_end(sandbox, command, stdout):
    result = sandbox.exec(command, timeout=5)
    assert (result.exit_code, result.stdout, result.timed_out) == (0, stdout, False)
    assert alive(sandbox)


@pytest.mark.parametrize(
    "command",
    ["echo 'open", 'echo "open', "echo $(open", "if true; then echo x", "{ echo y", "(echo z",
     "while :; do", "echo a &&", "echo b |", ")", "} ; echo x", "fi", "cat <<EOT\nline\n  EOT"],
)
def test_what_bash_cannot_parse_runs_nothing(sandbox, command):
    begin = time.monotonic()
    result = sandbox.exec(command, timeout=5)
    assert result.exit_code not in (0, None)
    assert result.stdout == b"" and result.stderr != b""
    assert time.monotonic() - begin < 2
    assert alive(sandbox)


@pytest.mark.parametrize(
    "command",
    ["set -u; echo $UNSET_THING", "set -e; false", "set -n", "set -t", "set -v; set +v", "exec >/tmp/x", "exec 1>&-",
     "trap 'exit 7' DEBUG", "trap '' INT", "PS1='$(false)'; PROMPT_COMMAND='exit 1'", "continue",
     "break 5", "return 4", "kill -STOP $$", "ulimit -n 6; ls", "unset PATH", "printf() { :; }",
     "builtin() { :; }; unset -f builtin", "IFS=0123; (exit 130)", "alias printf=false", "cd /; cd -",
     "enable -n printf", "mkdir gone; cd gone; rmdir ../gone", "stty -echo; exec </dev/null", "kill -9 $$",
     "rm -rf /run/corral/*", "chmod 0 /run/corral", "chmod 0 /run/corral/*",
     "rm -rf /run/corral/*; mkdir /run/corral/{rc,dump,cmd,abort}", "for n in $(ls /proc/$$/fd); do eval \"exec $n>&-\"; done"],
)
def test_no_command_corrupts_the_next(sandbox, command):
    sandbox.exec(command, timeout=1)
    result = sandbox.exec("echo alive", timeout=10)
    assert (result.exit_code, result.stdout) == (0, b"alive\n")
    assert alive(sandbox)


def test_exit_reports_its_code_and_the_session_is_restored(sandbox):
    first = sandbox.exec("cd /tmp; export KEEP=1; f() { echo fn; }; true")
    ended = sandbox.exec("LATE=2; exit 5")
    assert ended.exit_code == 5
    result = sandbox.exec("pwd; echo $KEEP $LATE; f")
    assert result.stdout == b"/tmp\n1 2\nfn\n"
    assert {ended.session_reset, result.session_reset} == {"restored", None}
    assert result.session != first.session


def test_a_killed_shell_is_replaced_with_its_last_known_state(sandbox):
    sandbox.exec("KEEP=1")
    time.sleep(0.4)  # The state is saved 200 ms after the last command.
    ended = sandbox.exec("kill -9 $$")
    assert (ended.exit_code, ended.signal) == (None, 9)
    assert ended.output == "\nExit Code: -9"
    assert sandbox.exec("echo $KEEP").stdout == b"1\n"


def test_a_command_is_never_run_twice(sandbox):
    sandbox.exec("echo x >> once; kill -9 $$")
    sandbox.exec("echo x >> twice; exit 1")
    assert sandbox.exec("cat once twice").stdout == b"x\nx\n"


def test_a_timeout_ends_all_that_the_command_started_and_nothing_else(sandbox):
    sandbox.exec("sleep 300 & echo $! > earlier")
    begin = time.monotonic()
    result = sandbox.exec(
        "setsid sh -c 'echo $$ > escaped; exec sleep 300' & (trap '' INT TERM; sleep 301) &"
        " sleep 302 & echo $! > kid; echo one; echo two >&2; sleep 303",
        timeout=1,
    )
    assert time.monotonic() - begin < 4
    assert (result.timed_out, result.exit_code, result.cancelled) == (True, None, False)
    assert (result.stdout, result.stderr) == (b"one\n", b"two\n")
    assert "Command timed out after 1 second and was terminated" in result.output
    left = sandbox.exec("ps -e -o args= | grep '^sleep'").stdout
    assert left == b"sleep 300\n"
    assert sandbox.exec("kill -0 $(cat earlier) && ! kill -0 $(cat escaped) 2>/dev/null").ok


def test_a_timeout_keeps_the_session(sandbox):
    before = sandbox.exec("cd /tmp; X=1").session
    sandbox.exec("X=2; sleep 60", timeout=0.3)
    after = sandbox.exec("echo $X; pwd")
    assert (after.stdout, after.session) == (b"2\n/tmp\n", before)


@pytest.mark.parametrize("command", ["while :; do :; done", "cat < pipe", "wait", "read x < pipe",
                                     "yes > /dev/null", "trap '' INT TERM; sleep 60"])
def test_whatever_it_waits_for_a_timeout_ends_it(sandbox, command):
    sandbox.exec("mkfifo pipe; sleep 100 &")
    begin = time.monotonic()
    assert sandbox.exec(command, timeout=0.3).timed_out
    assert time.monotonic() - begin < 3
    assert alive(sandbox)


def test_cancel_from_another_thread(client, sandbox):
    run = in_background(lambda: sandbox.exec("echo begun; sleep 60", request_id="to-cancel"))
    running(client, sandbox.id)
    assert client.cancel("to-cancel") is True
    result = run.result()
    assert (result.cancelled, result.exit_code, result.timed_out) == (True, None, False)
    assert result.output.endswith("Command cancelled.")
    assert alive(sandbox)


def test_cancel_by_sandbox_and_of_nothing(client, sandbox):
    assert sandbox.cancel() is False
    assert client.cancel("never-sent") is False
    run = in_background(lambda: sandbox.exec("sleep 60"))
    running(client, sandbox.id)
    assert sandbox.cancel() is True
    assert run.result().cancelled
    assert alive(sandbox)


def test_a_waiting_exec_can_be_cancelled_and_never_starts(client, sandbox):
    first = in_background(lambda: sandbox.exec("sleep 1; echo first"))
    running(client, sandbox.id)
    second = in_background(lambda: sandbox.exec("touch started", request_id="waits"))
    eventually(lambda: client.get(sandbox.id)["queue"] == 1, what="a waiting exec")
    assert client.cancel("waits") is True
    assert second.result().cancelled
    assert first.result().stdout == b"first\n"
    assert sandbox.exec("ls started").exit_code == 2


def test_cancel_says_true_exactly_if_the_reply_does(client, sandbox):
    for i in range(20):
        run = in_background(lambda: sandbox.exec(f"sleep 0.0{i % 5}", request_id=f"race-{i}"))
        time.sleep(0.005 * (i % 7))
        asked = client.cancel(f"race-{i}")
        assert run.result().cancelled == asked
    assert alive(sandbox)


def test_background_jobs_outlive_their_exec_and_do_not_hold_it(sandbox):
    begin = time.monotonic()
    assert sandbox.exec("sleep 1 && echo late > result & echo started").stdout == b"started\n"
    assert time.monotonic() - begin < 0.9
    assert sandbox.exec("wait; cat result").stdout == b"late\n"
    assert sandbox.exec("(sleep 0.1; exit 3) & echo > /dev/null").ok
    assert sandbox.exec("wait $!; echo rc=$?").stdout == b"rc=3\n"


def test_a_background_jobs_output_reaches_no_later_command(sandbox):
    sandbox.exec("(for i in $(seq 50); do echo noise; echo noise >&2; sleep 0.01; done) &")
    for i in range(20):
        result = sandbox.exec(f"echo {i}")
        assert (result.stdout, result.stderr) == (f"{i}\n".encode(), b"")


def test_env_and_cwd_of_an_exec_hold_for_it_alone(sandbox):
    sandbox.exec("export SEEN=session; cd /tmp")
    result = sandbox.exec('echo "$SEEN" "$ONLY"; pwd', env={"SEEN": "exec", "ONLY": "a 'b'\n"},
                          cwd="/mnt/user-data/outputs")
    assert result.stdout == b"exec a 'b'\n\n/mnt/user-data/outputs\n"
    assert sandbox.exec('echo "$SEEN" "${ONLY-unset}"; pwd').stdout == b"session unset\n/tmp\n"


@pytest.mark.parametrize("ending", ["true", "kill -9 $$", "exit 3", "sleep 60"])
def test_a_secret_in_env_stays_nowhere_however_the_exec_ends(sandbox, ending):
    sandbox.exec("true")
    result = sandbox.exec(f"echo ${{#TOKEN}}; {ending}", env={"TOKEN": "s3cr3t-three"}, timeout=0.5)
    assert result.stdout == b"12\n"
    time.sleep(0.4)  # The state is saved by then.
    found = sandbox.exec(
        "echo ${TOKEN-unset}; env | grep -c s3cr3t; grep -rl s3cr3t-thre[e] /run/corral /tmp ~ 2>/dev/null"
    )
    assert found.stdout.replace(b"/run/corral/cmd\n", b"") == b"unset\n0\n"
    if ending == "true":
        sandbox.exec("kill -9 $$")
        assert sandbox.exec("echo ${TOKEN-unset}").stdout == b"unset\n"


def test_a_secret_in_env_is_on_no_command_line(sandbox):
    result = sandbox.exec("ps -e -o args=", env={"TOKEN": "s3cr3t-four"})
    assert b"s3cr3t" not in result.stdout


@pytest.mark.parametrize("fields", [{"env": {"A B": "x"}}, {"env": {"A": "x\0y"}}, {"cwd": "/nowhere"},
                                    {"cwd": "a\0b"}, {"want": ["everything"]}])
def test_a_wrong_env_or_cwd_runs_nothing(sandbox, fields):
    with pytest.raises((errors.InvalidRequest, errors.FileNotFound)):
        sandbox.exec("touch ran", **fields)
    assert sandbox.exec("ls ran").exit_code == 2


def test_a_keyed_command_runs_once(client, sandbox):
    def run():
        return sandbox.exec("echo x >> count; sleep 0.5; wc -l < count", key="k1")

    first = in_background(run)
    running(client, sandbox.id)
    assert run().stdout == first.result().stdout == b"1\n"
    assert run().stdout == b"1\n"
    assert sandbox.exec("wc -l < count").stdout == b"1\n"
    with pytest.raises(errors.InvalidRequest):
        sandbox.exec("echo another", key="k1")


def test_two_subagents_interleaved_never_see_each_others_output(daemon, sandbox, thread):
    faults = []

    def subagent(name):
        with daemon.client() as mine, mine.acquire(thread) as shared:
            for i in range(30):
                result = shared.exec(f"echo {name} {i}; echo err {name} >&2; (exit {i})")
                if (result.stdout, result.stderr, result.exit_code) != (
                        f"{name} {i}\n".encode(), f"err {name}\n".encode(), i):
                    faults.append(result)

    agents = [threading.Thread(target=subagent, args=(x,)) for x in ("ann", "bob", "cid")]
    for x in agents:
        x.start()
    for x in agents:
        x.join()
    assert faults == []


def test_one_clients_execs_start_in_the_order_sent(raw, thread):
    for i in range(40):
        raw.exec(str(i), f"echo {i} >> order", thread=thread)
    for i in range(40):
        assert raw.reply(str(i))[0]["exit_code"] == 0
    raw.exec("last", "cat order", thread=thread)
    reply, payload = raw.reply("last")
    size = dict(reply["parts"])
    assert payload[size["output"]:][:size["stdout"]] == "".join(f"{i}\n" for i in range(40)).encode()


def test_queue_time_is_bounded_and_told(client, sandbox):
    first = in_background(lambda: sandbox.exec("sleep 1"))
    running(client, sandbox.id)
    with pytest.raises(errors.CorralError) as refused:
        sandbox.exec("true", queue_timeout=0.2)
    assert refused.value.code == "busy"
    assert sandbox.exec("true").queued > 0.2
    assert first.result().ok


def test_reset_session_gives_a_fresh_shell_and_keeps_the_files(sandbox):
    before = sandbox.exec("X=1; cd /tmp; echo f > /mnt/user-data/workspace/kept")
    session = sandbox.reset_session()
    assert session != before.session
    result = sandbox.exec("echo ${X-unset}; pwd; cat kept")
    assert result.stdout == b"unset\n/mnt/user-data/workspace\nf\n"
    assert result.session == session


def test_a_command_of_megabytes_runs(sandbox):
    assert sandbox.exec("v='" + "y" * 2_000_000 + "'; echo ${#v}").stdout == b"2000000\n"


def test_stops_of_a_borrowed_sandbox_need_no_lease(client, thread):
    borrowed = client.sandbox(thread)
    assert borrowed.exec("X=1").origin == "created"
    assert borrowed.exec("echo $X").stdout == b"1\n"
    assert client.get(borrowed.id)["leases"] == 0
    client.destroy(borrowed.id)


def test_200_short_commands_leave_no_descriptor_behind(daemon, sandbox):
    sandbox.exec("true")
    before = daemon.descriptors()
    for _ in range(200):
        assert sandbox.exec("true").ok
    assert daemon.descriptors() <= before + 2
    assert alive(sandbox)
    assert isinstance(sandbox, corral.Sandbox)

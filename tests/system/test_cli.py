"""The corral command against a real corrald."""

import hashlib
import json
import os
import pty
import signal
import subprocess
import time

import pytest

from harness.command import CORRAL, LIMIT, Service, wait_for_line


@pytest.fixture
def thread(own_thread):
    return own_thread


# -- exec: output, status -------------------------------------------------------------------------


def test_output_goes_to_its_own_streams_and_the_status_is_the_commands(service, thread):
    done = service.run("exec", "-t", thread, "--", "echo out; echo err >&2; (exit 7)")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


def test_several_words_are_one_command_and_one_is_a_script(service, thread):
    words = ["printf", "<%s>", "a b", "$HOME", "it's", ""]
    assert service.run("exec", "-t", thread, "--", *words).stdout == b"<a b><$HOME><it's><>"
    assert service.run("exec", "-t", thread, "--", "x=1; echo $x | cat").stdout == b"1\n"


def test_the_session_of_a_thread_persists_between_commands(service, thread):
    service.run("exec", "-t", thread, "--", "mkdir -p d; cd d; v=kept")
    done = service.run("exec", "-t", thread, "--", "echo $PWD $v")
    assert done.stdout == b"/mnt/user-data/workspace/d kept\n"


def test_env_and_cwd_hold_for_one_command(service, thread):
    done = service.run("exec", "-t", thread, "-e", "A=b c", "--cwd", "/tmp", "--", 'echo "$A" $PWD')
    assert done.stdout == b"b c /tmp\n"
    done = service.run("exec", "-t", thread, "--", "echo [$A] $PWD")
    assert done.stdout == b"[] /mnt/user-data/workspace\n"


def test_output_comes_while_the_command_runs(service, thread):
    with service.start("exec", "-t", thread, "--no-stdin", "--", "echo one; sleep 20") as run:
        began = time.monotonic()
        assert wait_for_line(run.stdout) == b"one\n"
        assert time.monotonic() - began < 10
        run.send_signal(signal.SIGINT)


def test_a_mebibyte_arrives_whole_however_fast_it_is_written(service, thread):
    done = service.run("exec", "-t", thread, "--", "head -c 1048576 /dev/zero | tr '\\0' x")
    assert done.returncode == 0
    assert done.stdout == b"x" * 1048576


def test_binary_output_arrives_byte_for_byte(service, thread):
    done = service.run("exec", "-t", thread, "--", r"printf '\0\377\r\n\1'")
    assert done.stdout == b"\0\xff\r\n\1"


def test_a_command_out_of_time_gives_124(service, thread):
    began = time.monotonic()
    done = service.run("exec", "-t", thread, "--timeout", "500ms", "--", "echo x; sleep 20")
    assert (done.returncode, done.stdout) == (124, b"x\n")
    assert b"timed out" in done.stderr
    assert time.monotonic() - began < 10


def test_json_has_the_whole_result_and_keeps_the_status(service, thread):
    done = service.run("--json", "exec", "-t", thread, "--", "echo out; echo err >&2; (exit 3)")
    result = json.loads(done.stdout)
    assert done.returncode == 3
    assert (result["exit_code"], result["stdout"], result["stderr"]) == (3, "out\n", "err\n")
    assert result["cwd"] == "/mnt/user-data/workspace"


def test_a_command_without_target_gets_a_sandbox_that_is_gone_afterwards(service):
    before = service.json("ls")["sandboxes"]
    done = service.run("exec", "--", "pwd; touch f; ls")
    assert (done.returncode, done.stdout) == (0, b"/mnt/user-data/workspace\nf\n")
    assert service.json("ls")["sandboxes"] == before


def test_a_key_runs_a_command_once(service, thread):
    for _ in range(2):
        done = service.run("exec", "-t", thread, "--key", "k", "--", "echo ran | tee -a log")
        assert (done.returncode, done.stdout) == (0, b"ran\n")
    assert service.run("read", "-t", thread, "log").stdout == b"ran\n"


# -- exec: stdin ----------------------------------------------------------------------------------


def test_stdin_is_passed_on_to_its_end(service, thread):
    data = os.urandom(700_000)  # More than the command's buffer, so that some is offered again.
    done = service.run("exec", "-t", thread, "--", "sleep 0.2; sha256sum", stdin=data)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_stdin_may_come_while_the_command_runs(service, thread):
    with service.start("exec", "-t", thread, "--", "cat", stdin=subprocess.PIPE) as run:
        for line in (b"one\n", b"two\n"):
            run.stdin.write(line)
            run.stdin.flush()
            assert wait_for_line(run.stdout) == line
        run.stdin.close()
        assert run.wait(LIMIT) == 0


def test_a_command_that_reads_no_stdin_ends_all_the_same(service, thread):
    with service.start("exec", "-t", thread, "--", "true", stdin=subprocess.PIPE) as run:
        assert run.wait(LIMIT) == 0  # Its stdin stays open throughout.


def test_no_stdin_leaves_the_input_to_others(service, thread):
    done = service.run("exec", "-t", thread, "--no-stdin", "--", "cat; echo end", stdin=b"mine")
    assert done.stdout == b"end\n"


def test_a_terminal_is_passed_on_only_when_asked_for(service, thread):
    for flags, expected in (([], b"end\n"), (["-i"], b"typed\nend\n")):
        outer, inner = pty.openpty()
        with service.start("exec", "-t", thread, *flags, "--", "cat; echo end", stdin=inner) as run:
            os.close(inner)
            os.write(outer, b"typed\n\x04")
            assert run.wait(LIMIT) == 0
            assert run.stdout.read() == expected
        os.close(outer)


# -- exec: interrupts -----------------------------------------------------------------------------


def test_an_interrupt_cancels_the_command_and_keeps_the_session(service, thread):
    service.run("exec", "-t", thread, "--", "v=kept")
    with service.start("exec", "-t", thread, "--no-stdin", "--", "echo go; sleep 60") as run:
        wait_for_line(run.stdout)
        run.send_signal(signal.SIGINT)
        assert run.wait(LIMIT) == 130
    assert service.run("exec", "-t", thread, "--", "echo $v").stdout == b"kept\n"


def test_a_second_interrupt_leaves_at_once(service, thread):
    script = "trap '' INT TERM; echo go; while :; do sleep 1; done"
    with service.start("exec", "-t", thread, "--no-stdin", "--", script) as run:
        wait_for_line(run.stdout)
        run.send_signal(signal.SIGINT)
        time.sleep(0.1)
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        assert run.wait(LIMIT) == 130
        assert time.monotonic() - began < 1


def test_a_reader_that_leaves_ends_the_command(service, thread):
    with service.start("exec", "-t", thread, "--no-stdin", "--", "yes") as run:
        wait_for_line(run.stdout)
        run.stdout.close()
        assert run.wait(LIMIT) == 125
        assert b"Broken pipe" in run.stderr.read()
    assert service.run("exec", "-t", thread, "--", "echo free").stdout == b"free\n"


# -- files ----------------------------------------------------------------------------------------


def test_what_is_written_is_read_back(service, thread):
    assert service.run("write", "-t", thread, "a/b.txt", stdin=b"one\ntwo\nthree\n").returncode == 0
    assert service.run("read", "-t", thread, "a/b.txt").stdout == b"one\ntwo\nthree\n"
    assert service.run("read", "-t", thread, "a/b.txt", "--lines", "2:3").stdout == b"two\nthree\n"
    service.run("write", "-t", thread, "a/b.txt", "--append", stdin=b"four\n")
    assert service.run("read", "-t", thread, "a/b.txt", "--lines", "4:").stdout == b"four\n"


@pytest.mark.parametrize("size", [0, 1, 16 * 1024 * 1024, 16 * 1024 * 1024 + 1, 40_000_000])
def test_files_of_any_size_go_both_ways(service, thread, tmp_path, size):
    data = os.urandom(size)
    source = tmp_path / "source"
    source.write_bytes(data)
    done = service.json("write", "-t", thread, "data", "--from", source)
    assert done["bytes"] == size
    assert service.run("read", "-t", thread, "--raw", "data").stdout == data


def test_content_from_a_pipe_may_be_large_too(service, thread):
    data = os.urandom(20_000_000)
    assert service.run("write", "-t", thread, "data", stdin=data).returncode == 0
    done = service.run("exec", "-t", thread, "--", "sha256sum data")
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_a_file_that_is_not_text_is_named_with_the_way_to_get_it(service, thread):
    service.run("write", "-t", thread, "data", stdin=b"\xff\0")
    done = service.run("read", "-t", thread, "data")
    assert done.returncode == 125
    assert b"not_text" in done.stderr and b"--raw" in done.stderr


def test_content_above_the_transfer_limit_is_refused_before_it_is_sent(service, thread, tmp_path):
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.truncate(101 * 1024 * 1024)
    done = service.run("write", "-t", thread, "data", "--from", source)
    assert done.returncode == 125
    assert b"file_too_large" in done.stderr and b"transfer_max_bytes" in done.stderr


def test_a_missing_file_is_an_error_in_words_and_as_json(service, thread):
    done = service.run("read", "-t", thread, "none")
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"file_not_found" in done.stderr
    done = service.run("--json", "read", "-t", thread, "none")
    assert done.stdout == b""
    error = json.loads(done.stderr)["error"]
    assert (error["code"], error["retryable"]) == ("file_not_found", False)


# -- sandboxes ------------------------------------------------------------------------------------


def test_ls_shows_a_thread_its_user_and_state(service, thread):
    service.run("exec", "-t", thread, "-u", "alice", "--", "true")
    rows = service.json("ls", "--user", "alice")["sandboxes"]
    assert [(r["user"], r["thread"], r["leases"]) for r in rows] == [("alice", thread, 0)]
    lines = service.run("ls", "--user", "alice").stdout.decode().splitlines()
    assert lines[0].split() == ["ID", "USER", "THREAD", "STATE", "LEASES"]
    assert lines[1].split() == [rows[0]["sandbox"], "alice", thread, "parked", "0"]
    assert service.json("ls", "--state", "leased", "--user", "alice")["sandboxes"] == []
    assert service.run("destroy", "-t", thread, "-u", "alice").returncode == 0


def test_a_sandbox_is_destroyed_by_thread_id_or_first_digits(service, thread):
    for way in ("thread", "id", "digits"):
        service.run("exec", "-t", thread, "--", "true")
        mine = [r for r in service.json("ls")["sandboxes"] if r["thread"] == thread]
        id = mine[0]["sandbox"]
        words = {"thread": ["-t", thread], "id": [id], "digits": [id[:8]]}[way]
        assert service.json("destroy", *words)["destroyed"] is True
        assert thread not in [r["thread"] for r in service.json("ls")["sandboxes"]]
    done = service.run("destroy", "-t", thread)
    assert done.returncode == 125 and b"sandbox_not_found" in done.stderr


def test_a_sandbox_at_work_is_destroyed_only_by_force(service, thread):
    with service.start("exec", "-t", thread, "--no-stdin", "--", "echo go; sleep 60") as run:
        wait_for_line(run.stdout)
        done = service.run("destroy", "-t", thread)
        assert done.returncode == 125 and b"busy" in done.stderr and b"--force" in done.stderr
        assert service.run("destroy", "-t", thread, "--force").returncode == 0
        assert run.wait(LIMIT) == 125
        assert b"sandbox_lost" in run.stderr.read()


def test_purge_removes_the_files_and_without_it_they_stay(service, thread):
    for words, left in (([], b"kept\n"), (["--purge"], b"")):
        service.run("write", "-t", thread, "f", stdin=b"kept\n")
        assert service.run("destroy", "-t", thread, *words).returncode == 0
        assert service.run("exec", "-t", thread, "--", "cat f 2>/dev/null").stdout == left


def test_stats_count_what_was_done(service, thread):
    service.run("exec", "-t", thread, "--", "true")
    counters = service.json("stats")
    assert counters["latency"]["exec"]["count"] >= 1
    text = service.run("stats").stdout.decode()
    assert "latency.exec.count" in text and "pools.default.sandboxes" in text


# -- the daemon is not there ----------------------------------------------------------------------


def test_a_missing_daemon_is_named_with_what_to_do(tmp_path):
    socket = tmp_path / "none.sock"
    done = subprocess.run([CORRAL, "--endpoint", socket, "ls"], capture_output=True, timeout=LIMIT)
    assert done.returncode == 125
    assert str(socket).encode() in done.stderr and b"Start corrald" in done.stderr


def test_the_endpoint_may_come_from_the_environment(service):
    env = {**os.environ, "CORRAL_ENDPOINT": service.socket}
    done = subprocess.run([CORRAL, "ls"], capture_output=True, env=env, timeout=LIMIT)
    assert done.returncode == 0


def test_a_daemon_that_dies_ends_the_wait():
    service = Service()
    try:
        with service.start("exec", "-t", "a", "--no-stdin", "--", "echo go; sleep 60") as run:
            wait_for_line(run.stdout)
            service.process.kill()
            assert run.wait(LIMIT) == 125
            assert b"no longer answers" in run.stderr.read()
        service.process.wait()
        service.serve()  # What the dead one left goes on, and would hold up a shutdown.
        assert service.run("destroy", "--thread", "a", "--force").returncode == 0
    finally:
        service.close()


# -- doctor ---------------------------------------------------------------------------------------


def test_doctor_finds_nothing_to_fix_where_corrald_runs(service):
    done = service.run("doctor")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, done.stdout.decode()
    assert any(line.startswith("ok    daemon: ") for line in lines)
    assert not any(line.startswith("FAIL") for line in lines)


def test_doctor_fails_with_a_fix_for_what_is_wrong(service, tmp_path):
    config = tmp_path / "corral.yaml"
    (tmp_path / "file").write_text("")
    config.write_text(f"data_dir: {tmp_path}/file\n")
    result = json.loads(service.run("doctor", "--json", "--config", config).stdout)
    assert result["healthy"] is False
    wrong = {c["subject"]: c for c in result["checks"] if c["verdict"] == "FAIL"}
    assert "data_dir" in wrong and wrong["data_dir"]["fix"]
    assert service.run("doctor", "--config", config).returncode == 1
    config.write_text("qeue: 3\n")
    done = service.run("doctor", "--config", config)
    assert done.returncode == 1
    assert b"queue" in done.stdout  # The nearest known key.

"""cp of the corral command: files to a sandbox and back."""

import hashlib
import json
import os
import pty
import resource
import signal
import stat
import subprocess

import pytest

from harness import eventually
from harness.command import BUILD, LIMIT

LARGE = 100 * 1024 * 1024  # The limit of a transfer.


@pytest.fixture
def thread(own_thread):
    return own_thread


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large"
    with path.open("wb") as file:
        for _ in range(LARGE // (1 << 20)):
            file.write(os.urandom(1 << 20))
    yield path
    path.unlink()


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def left_behind(directory, *names):
    return sorted(set(os.listdir(directory)) - set(names))


@pytest.mark.parametrize("size", [0, 1, 16 * 1024 * 1024 + 1])
def test_a_file_goes_there_and_back(service, thread, tmp_path, size):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(size))
    assert service.run("cp", source, f"{thread}:a/b").returncode == 0
    done = service.json("cp", f"{thread}:a/b", tmp_path / "back")
    assert (done["bytes"], done["sha256"]) == (size, digest(source))
    assert digest(tmp_path / "back") == digest(source)
    assert left_behind(tmp_path, "source", "back") == []


@pytest.mark.limit(180)
def test_the_largest_file_goes_both_ways_in_little_memory(service, thread, tmp_path, large):
    def little_memory():
        resource.setrlimit(resource.RLIMIT_DATA, (LARGE * 2 // 3, LARGE * 2 // 3))

    options = {} if BUILD.name == "asan" else {"preexec_fn": little_memory}
    for words in ([large, f"{thread}:large"], [f"{thread}:large", tmp_path / "back"]):
        done = service.run("cp", *words, **options)
        assert (done.returncode, done.stderr) == (0, b"")
    assert digest(tmp_path / "back") == digest(large)
    (tmp_path / "back").unlink()


def test_directories_at_either_end_keep_the_name(service, thread, tmp_path):
    source = tmp_path / "f.txt"
    source.write_text("x")
    (tmp_path / "into").mkdir()
    assert service.json("cp", source, f"{thread}:d/")["path"] == "d/f.txt"
    assert service.run("cp", source, f"{thread}:").returncode == 0
    assert service.run("cp", f"{thread}:d/f.txt", tmp_path / "into").returncode == 0
    assert (tmp_path / "into/f.txt").read_text() == "x"
    done = service.run("cp", source, f"{thread}:d")
    assert done.returncode == 125
    assert b"is_a_directory" in done.stderr and b"ends with /" in done.stderr


def test_a_dash_is_stdin_or_stdout(service, thread):
    data = os.urandom(20_000_000)
    assert service.run("cp", "-", f"{thread}:f", stdin=data).returncode == 0
    assert service.run("cp", f"{thread}:f", "-").stdout == data


def test_what_is_not_copied_leaves_nothing_and_changes_nothing(service, thread, tmp_path):
    target = tmp_path / "f"
    target.write_text("old")
    done = service.run("cp", f"{thread}:none", target)
    assert done.returncode == 125 and b"file_not_found" in done.stderr
    assert target.read_text() == "old"
    assert service.run("cp", f"{thread}:none", tmp_path / "g").returncode == 125
    assert service.run("cp", tmp_path / "g", f"{thread}:g").returncode == 125
    assert left_behind(tmp_path, "f") == []


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_copy_that_is_ended_leaves_nothing(service, thread, tmp_path, large, by):
    assert service.run("cp", large, f"{thread}:large").returncode == 0
    target = tmp_path / "f"

    def ended_half_way():
        with service.start("cp", f"{thread}:large", target) as run:
            eventually(lambda: run.poll() is not None or writes_into(run.pid, tmp_path), LIMIT)
            service.process.send_signal(signal.SIGSTOP)  # So that no more comes.
            try:
                run.send_signal(by)
                status = run.wait(LIMIT)
            finally:
                service.process.send_signal(signal.SIGCONT)
        target.unlink(missing_ok=True) if status == 0 else None  # It was faster.
        return status

    status = eventually(ended_half_way, LIMIT)
    assert status == {signal.SIGKILL: -9}.get(by, 130)
    assert left_behind(tmp_path) == []


def writes_into(pid, directory):
    """Whether a process has a file below the directory open, named or not."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{x}") for x in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(x.startswith(str(directory)) for x in links)


def test_a_full_disk_is_named_and_leaves_what_was_there(service, thread, tmp_path):
    service.run("exec", "-t", thread, "--", "head -c 2000000 /dev/zero > f")
    done = service.run("cp", f"{thread}:f", "/dev/full")
    assert done.returncode == 125 and b"No space left" in done.stderr


def test_what_is_replaced_keeps_its_mode(service, thread, tmp_path):
    target = tmp_path / "f"
    target.write_text("old")
    target.chmod(0o600)
    service.run("cp", "-", f"{thread}:f", stdin=b"new")
    assert service.run("cp", f"{thread}:f", target).returncode == 0
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_progress_is_shown_on_a_terminal_and_gone_at_the_end(service, thread, tmp_path, large):
    for words in ([large, f"{thread}:large"], [f"{thread}:large", tmp_path / "back"]):
        outer, inner = pty.openpty()
        run = subprocess.Popen(service.command("cp", *words), stderr=inner)
        os.close(inner)
        shown = b""
        while True:
            try:
                piece = os.read(outer, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(outer)
        assert run.wait(LIMIT) == 0
        assert b"of 100.0 MiB" in shown
        assert shown.endswith(b"\r\x1b[K")
    (tmp_path / "back").unlink()
    quiet = service.run("cp", large, f"{thread}:large")
    assert quiet.stderr == b""


def test_a_file_above_the_limit_is_refused_before_it_is_sent(service, thread, tmp_path):
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.truncate(LARGE + 1)
    done = service.run("--json", "cp", source, f"{thread}:f")
    assert done.returncode == 125
    assert json.loads(done.stderr)["error"]["code"] == "file_too_large"

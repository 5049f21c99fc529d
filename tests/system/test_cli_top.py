"""top of the corral command."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios

import pytest

from harness import eventually
from harness.command import LIMIT, wait_for_line


@pytest.fixture
def thread(own_thread):
    return own_thread


class Watch:
    """corral top on a terminal of its own."""

    def __init__(self, service):
        self.outer, self.inner = pty.openpty()
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
        self.before = termios.tcgetattr(self.inner)
        self.shown = b""
        words = service.command("top", "--interval", "100ms")
        self.process = subprocess.Popen(
            words, stdin=self.inner, stdout=self.inner, stderr=self.inner, start_new_session=True
        )
        os.set_blocking(self.outer, False)

    def shows(self, text):
        try:
            self.shown += os.read(self.outer, 1 << 16)
        except BlockingIOError:
            pass
        return text in self.shown

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.outer)
        os.close(self.inner)


@pytest.fixture
def watch(service, thread):
    service.run("acquire", "-t", thread)
    x = Watch(service)
    yield x
    x.close()


def press_q(watch):
    os.write(watch.outer, b"q")


def interrupt(watch):
    watch.process.send_signal(signal.SIGINT)


def terminate(watch):
    watch.process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("end", [press_q, interrupt, terminate])
def test_top_shows_sandboxes_until_it_is_ended_and_leaves_the_terminal_as_it_was(
    service, thread, watch, end
):
    eventually(lambda: watch.shows(thread[:8].encode()), LIMIT)
    assert termios.tcgetattr(watch.inner) != watch.before
    end(watch)
    assert watch.process.wait(LIMIT) == 0
    assert termios.tcgetattr(watch.inner) == watch.before
    eventually(lambda: watch.shows(b"\x1b[?25h\x1b[?1049l"), LIMIT)


def test_top_is_drawn_again_with_what_changed(service, thread, watch):
    eventually(lambda: watch.shows(b"1 sandboxes"), LIMIT)
    service.run("destroy", "-t", thread)
    eventually(lambda: watch.shows(b"0 sandboxes"), LIMIT)


def test_a_daemon_that_ends_leaves_the_terminal_as_it_was(service, thread, watch):
    eventually(lambda: watch.shows(b"1 sandboxes"), LIMIT)
    service.process.kill()
    service.process.wait()
    try:
        assert watch.process.wait(LIMIT) == 125
        assert termios.tcgetattr(watch.inner) == watch.before
    finally:
        service.serve()


def test_without_a_terminal_there_is_one_table(service, thread):
    with service.start("exec", "-t", thread, "--no-stdin", "--", "echo go; sleep 60") as run:
        wait_for_line(run.stdout)
        done = service.run("top", "--interval", "100ms")
        assert done.returncode == 0
        lines = done.stdout.decode().splitlines()
        assert lines[3].split()[:4] == ["ID", "USER", "THREAD", "STATE"]
        (row,) = [x.split() for x in lines[4:] if thread in x]
        assert row[3] == "borrowed" and row[5] == "1" and row[-1] == "-"
        result = service.json("top", "--interval", "100ms")
        assert result["totals"]["sandboxes"] == len(result["sandboxes"])
        assert set(result["per_second"]) == {"acquires", "errors", "execs", "files"}
        run.send_signal(signal.SIGINT)
        run.wait(LIMIT)

"""What subscribers are told of sandboxes and execs, from start to end."""

import json
import os
import re
import signal
import stat
import subprocess
import time

import pytest
import zmq
from harness import Daemon, eventually, processes
from harness.daemon import BUILD


class Subscriber:
    """A SUB socket at the daemon's events, and all that it has heard."""

    def __init__(self, endpoint, topic="", rcvhwm=1000):
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.rcvhwm = rcvhwm
        self.socket.setsockopt_string(zmq.SUBSCRIBE, topic)
        self.socket.connect(endpoint)
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self._context.term()

    def listen(self, milliseconds=0):
        while self.socket.poll(milliseconds):
            topic, body = self.socket.recv_multipart()
            self.heard.append((topic.decode(), json.loads(body), body))
        return self.heard

    def topics(self, thread):
        return [topic for topic, x, _ in self.listen() if x["thread"] == thread]

    def of(self, topic, thread):
        """Waits for a topic about a thread."""
        found = eventually(
            lambda: [x for name, x, _ in self.listen() if (name, x["thread"]) == (topic, thread)],
            what=f"{topic} of {thread}",
        )
        return found[-1]


@pytest.fixture
def subscribe(client):
    """Makes subscribers that are known to hear."""
    made = []

    def make(daemon, topic="", by=None):
        asks = by or client
        made.append(Subscriber(asks.server.events, topic))

        def hears():
            asks.acquire("joining").release()
            return made[-1].listen(20)

        eventually(hears, what="a subscription")
        return made[-1]

    try:
        yield make
    finally:
        for x in made:
            x.__exit__()


def test_a_sandbox_is_told_of_from_its_first_acquire_to_its_end(daemon, client, thread, subscribe):
    sub = subscribe(daemon)
    box = client.acquire(thread, user="ann")
    box.exec("echo top-secret-output; false")
    box.release()
    client.destroy(box.id)
    end = sub.of("sandbox.destroyed", thread)
    assert sub.topics(thread) == [
        "sandbox.created",
        "sandbox.acquired",
        "exec.started",
        "exec.finished",
        "sandbox.released",
        "sandbox.destroyed",
    ]
    for topic, x, body in sub.heard:
        assert b"secret" not in body and daemon.base.encode() not in body
        assert x["event"] == topic and x["boot"] == client.server.boot
        assert abs(x["time"] / 1000 - time.time()) < 60
        if x["thread"] == thread:
            assert (x["sandbox"], x["pool"], x["user"]) == (box.id, "default", "ann")
    seqs = [x["seq"] for _, x, _ in sub.heard]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    assert end["lived_ms"] >= 0 and sub.of("sandbox.created", thread)["create_ms"] > 0
    done = sub.of("exec.finished", thread)
    assert done["exit_code"] == 1 and done["duration_ms"] >= 0
    assert done["timed_out"] is False and done["cancelled"] is False
    assert done["request"] == sub.of("exec.started", thread)["request"]


def test_the_other_ends_of_a_sandbox_are_told_by_name(new_daemon, subscribe):
    daemon = new_daemon(
        {"pool.replicas": 2, "pool.idle_timeout": "1s", "pool.reap_interval": "100ms"}
    )
    with daemon.client() as client:
        sub = subscribe(daemon, "sandbox.", by=client)
        for x in ("a", "b", "c"):
            client.acquire(x).release()
        assert sub.of("sandbox.evicted", "a") or sub.of("sandbox.evicted", "b")
        assert sub.of("sandbox.reaped", "c")["lived_ms"] >= 1000
        box = client.acquire("d")
        processes.kill(daemon.guest_pid(box.id))
        assert sub.of("sandbox.lost", "d")["sandbox"] == box.id


def test_ends_and_durations_are_in_the_log_at_info(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client:
        client.acquire("a").release()
    assert daemon.stop() == (0, [])
    assert re.search(r"info created .*create_ms=\d+", daemon.log())
    assert re.search(r"info destroyed .*lived_ms=\d+", daemon.log())


def test_the_events_socket_is_as_private_as_the_other(daemon):
    sockets = [os.stat(f"{daemon.run_dir}/{x}.sock") for x in ("corral", "events")]
    assert len({(x.st_mode, x.st_uid, x.st_gid) for x in sockets}) == 1
    assert stat.S_IMODE(sockets[0].st_mode) in (0o600, 0o660)


def test_a_second_daemon_cannot_take_the_events_socket(daemon):
    other = Daemon({"events_socket": f"{daemon.run_dir}/events.sock"})
    try:
        done = subprocess.run(other.arguments(), capture_output=True, text=True, timeout=30)
        assert done.returncode == 1
        assert "already uses events_socket" in done.stderr
    finally:
        other.dispose()


def test_a_subscriber_that_never_reads_costs_nobody_anything(daemon, client, thread):
    with Subscriber(client.server.events, rcvhwm=1):
        box = client.acquire(thread)
        before = daemon.resident_bytes()
        for _ in range(300):
            assert box.exec("true").exit_code == 0
        assert daemon.resident_bytes() - before < 16 << 20
        box.release()


def command(daemon, *words):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CORRAL_")}
    return subprocess.Popen(
        [f"{BUILD}/apps/corral", "--endpoint", daemon.endpoint, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    )


def lines_until(process, client, wanted):
    """What the command prints until a line of a thread's exec is among it."""
    os.set_blocking(process.stdout.fileno(), False)
    got = b""

    def look():
        nonlocal got
        client.sandbox("shown").exec("true")
        got += process.stdout.read() or b""
        return wanted in got

    eventually(look, timeout=20, what=f"{wanted!r}")
    return got.decode().splitlines()


def test_the_command_prints_events_and_waits_for_a_daemon_that_restarts(new_daemon):
    daemon = new_daemon()
    process = command(daemon, "--json", "events", "exec.", "--thread", "shown")
    try:
        with daemon.client() as client:
            client.sandbox("hidden").exec("true")
            lines_until(process, client, b"exec.finished")
            boot = client.server.boot
        daemon.stop()
        daemon.start()
        with daemon.client() as client:
            assert client.server.boot != boot
            lines = lines_until(process, client, client.server.boot.encode())
        shown = [json.loads(x) for x in lines]
        assert {x["thread"] for x in shown} == {"shown"}
        assert {x["event"] for x in shown} <= {"exec.started", "exec.finished"}
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()

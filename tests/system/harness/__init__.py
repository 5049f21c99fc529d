"""What the system tests share: a daemon of their own, raw frames, and the traces that it may leave."""

import time

from corral._waiting import run

from .daemon import Daemon
from .proxy import Proxy
from .raw import Raw

__all__ = ["Daemon", "Proxy", "Raw", "call", "eventually", "never_for", "running"]


def eventually(condition, timeout=10.0, what="the condition"):
    """Waits until `condition()` is true and returns what it returned; fails the test at the timeout."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout:g} s"
        time.sleep(0.01)


def never_for(seconds, condition, what="the condition"):
    """Fails the test if `condition()` is true at any moment of the given time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert not condition(), f"{what} came true"
        time.sleep(0.02)


def running(client, id):
    """Waits until an exec runs in a sandbox, which may still be starting."""

    def check():
        row = client.get(id)
        return row and row.get("usage", {}).get("running")

    eventually(check, what=f"an exec running in {id}")


def call(client, op, fields, parts=()):
    """A request as a test wants it, by the client's own connection: what its methods don't send."""
    return run(client._core._call(op, fields, parts))

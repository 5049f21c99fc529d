"""The processes of a sandbox, as seen from outside."""

import os
import signal


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(x) for x in file.read().split()]
    except OSError:
        return []


def inside(pid):
    """All processes of a sandbox, given its first."""
    return [pid, *(x for child in children(pid) for x in inside(child))]


def kill(*pids, number=signal.SIGKILL):
    for pid in pids:
        assert pid > 1
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

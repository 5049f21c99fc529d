"""What outlives a daemon: a guest that keeps the keys, runs and results of its execs."""

from __future__ import annotations

from typing import Dict, List, Optional

from .scripted_daemon import Handler, Request, exec_reply


class KeyedGuest:
    """Answers exec and result as daemon and guest do together, for one sandbox and for daemons one
    after the other. An exec ends when ``finish`` is called.

    Attributes:
        runs: the commands that were run, each time.
        running: the keys (or request ids) of those that have not ended, in order.
    """

    def __init__(self) -> None:
        self.runs: List[str] = []
        self.running: List[str] = []
        self._commands: Dict[str, str] = {}
        self._results: Dict[str, str] = {}
        self._waiters: Dict[str, List[Request]] = {}

    def handlers(self) -> Dict[str, Handler]:
        """For the next daemon; the one before, with those who wait there, is gone."""
        self._waiters.clear()
        return {"exec": self.exec, "result": self.result}

    def exec(self, request: Request) -> None:
        name, command = _name(request), request.parts["command"].decode()
        if self._commands.setdefault(name, command) != command:
            return request.fail("invalid_request", "the key stands for another command")
        if name in self._results:
            return exec_reply(request, self._results[name])
        self._waiters.setdefault(name, []).append(request)
        if name not in self.running:
            self.running.append(name)
            self.runs.append(command)

    def result(self, request: Request) -> None:
        name = request.header.get("key") or request.header["request"]
        if name in self._results:
            return exec_reply(request, self._results[name], state="finished")
        request.reply(state="running" if name in self.running else "not_found")

    def finish(self, name: Optional[str] = None) -> None:
        """Ends an exec, the oldest by default, with its command as its output."""
        name = name or self.running[0]
        self.running.remove(name)
        self._results[name] = self._commands[name]
        for request in self._waiters.pop(name, []):
            exec_reply(request, self._results[name])


def _name(request: Request) -> str:
    return str(request.header.get("key") or request.id)

"""A peer that speaks the protocol and answers as a test tells it: for what a real daemon does only
when it fails, or never on purpose."""

from __future__ import annotations

import json
import os
import queue
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import zmq

from corral._wire import VERSION, Message, encode_header

Handler = Callable[["Request"], None]


class Request:
    """A message that a client sent, and the way back to it."""

    def __init__(
        self, daemon: "ScriptedDaemon", peer: bytes, header: Dict[str, Any], payload: bytes
    ):
        self.daemon = daemon
        self.peer = peer
        self.header = header
        self.payload = payload
        self.op: str = header["op"]
        self.id: str = header.get("id", header.get("re", ""))
        self.parts = Message(header, payload).parts()

    def reply(self, payload: bytes = b"", **fields: Any) -> None:
        self.daemon.send(self.peer, {"re": self.id, "ok": True, **fields}, payload)

    def reply_parts(self, parts: Dict[str, bytes], **fields: Any) -> None:
        sizes = [[name, len(data)] for name, data in parts.items()]
        self.reply(b"".join(parts.values()), parts=sizes, **fields)

    def fail(self, code: str, message: str = "", **more: Any) -> None:
        error = {"code": code, "message": message, "details": {}, "retryable": False, **more}
        self.daemon.send(self.peer, {"re": self.id, "ok": False, "error": error})

    def event(self, event: str, payload: bytes = b"", **fields: Any) -> None:
        self.daemon.send(self.peer, {"re": self.id, "event": event, **fields}, payload)


def ignore(request: Request) -> None:
    """Answers nothing."""


class ScriptedDaemon:
    """Answers hello and ping; everything else as told by ``on``. All sending happens on its thread,
    which ``run`` enters."""

    def __init__(
        self, path: str, boot: str = "boot-1", handlers: Optional[Dict[str, Handler]] = None
    ) -> None:
        self.endpoint = f"ipc://{path}"
        self.boot = boot
        self.requests: List[Request] = []
        self._handlers: Dict[str, Handler] = {
            "hello": self._hello,
            "ping": self._ping,
            **(handlers or {}),
        }
        self.changed = threading.Condition()
        self._work: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self._wake_read, self._wake_write = os.pipe()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.sndhwm = self._socket.rcvhwm = 0
        self._socket.bind(self.endpoint)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def on(self, op: str, handler: Handler) -> None:
        self._handlers[op] = handler

    def run(self, work: Callable[[], None]) -> None:
        self._work.put(work)
        os.write(self._wake_write, b"x")

    def stop(self) -> None:
        """Ends as a killed daemon does: at once, with everything unanswered."""
        if not self._stopped:
            self._stopped = True
            self._work.put(None)
            os.write(self._wake_write, b"x")
            self._thread.join()

    def send(self, peer: bytes, header: Dict[str, Any], payload: bytes = b"") -> None:
        self.send_raw([peer, VERSION, encode_header(header)] + ([payload] if payload else []))

    def send_all(self, header: Dict[str, Any]) -> None:
        """Sends to every connection there is."""
        for peer in {x.peer for x in self.requests}:
            self.send(peer, header)

    def send_raw(self, frames: List[bytes]) -> None:
        self._socket.send_multipart(frames)

    def of(self, op: str) -> List[Request]:
        return [x for x in self.requests if x.op == op]

    def wait_for(self, op: str, count: int = 1, timeout: float = 10.0) -> Request:
        """The count-th request of an op, waiting until it has come."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.of(op)) >= count, timeout), (
                f"no {op} number {count}; there were {[x.op for x in self.requests]}"
            )
            return self.of(op)[count - 1]

    def _hello(self, request: Request) -> None:
        limits = {"header": 65536, "payload": 16777216}
        request.reply(server="scripted", boot=self.boot, pools=["default"], limits=limits, now=0)

    def _ping(self, request: Request) -> None:
        request.reply(boot=self.boot, now=0)

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake_read, zmq.POLLIN)
        while True:
            events = dict(poller.poll())
            if self._wake_read in events:
                os.read(self._wake_read, 1)
                work = self._work.get()
                if work is None:
                    break
                work()
            if self._socket in events:
                self._take(self._socket.recv_multipart())
        self._socket.close(0)
        self._context.term()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _take(self, frames: List[bytes]) -> None:
        peer, version, header = frames[:3]
        assert version == VERSION
        request = Request(self, peer, json.loads(header), frames[3] if len(frames) > 3 else b"")
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
        self._handlers.get(request.op, ignore)(request)


def exec_reply(request: Request, output: str = "", **fields: Any) -> None:
    """The reply of an exec that went well."""
    defaults: Dict[str, Any] = {
        "exit_code": 0,
        "timed_out": False,
        "cancelled": False,
        "duration_ms": 5,
        "queued_ms": 0,
        "cwd": "/mnt/user-data/workspace",
        "stdout_bytes": len(output),
        "stderr_bytes": 0,
        "truncated": False,
        "session": 1,
    }
    data = output.encode()
    request.reply_parts({"output": data, "stdout": data, "stderr": b""}, **{**defaults, **fields})


def echo_exec(request: Request) -> None:
    exec_reply(request, request.parts["command"].decode())


def rows_reply(request: Request, rows: List[Dict[str, Any]], **fields: Any) -> None:
    lines = b"".join(json.dumps(x).encode() + b"\n" for x in rows)
    request.reply_parts({"results": lines}, **fields)


def pieces(data: bytes, size: int) -> List[Tuple[int, bytes]]:
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]

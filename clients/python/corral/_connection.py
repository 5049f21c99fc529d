"""One connection to the daemon: a thread that owns the DEALER socket and moves messages.

Callers put messages into an outbox and wake the thread through a pipe; what comes back is routed by
request id into the inbox of the call, where the caller waits. The thread knows requests only as
ids: all else is the caller's work. It also says hello, sends heartbeats and settles the open
requests when the daemon is gone.
"""

from __future__ import annotations

import collections
import itertools
import math
import os
import queue
import threading
import time
from typing import Any, Callable, Deque, Dict, Optional, Tuple

import zmq

from . import _wire, errors
from ._dealer import FIRST_PAUSE, LONGEST_PAUSE, Dealer
from ._endpoint import why_unreachable
from ._heartbeat import MISSED_PINGS, Heartbeat
from ._keys import Keys
from .results import ServerInfo

_HELLO, _PING = "hello", "ping"  # The ids of the connection's own requests.

# Header and payload; the call they belong to, without which they need not be sent any more; and
# whether they start it.
_Outgoing = Tuple[bytes, _wire.Bytes, Optional["Call"], bool]


class Call:
    """An open request: where its messages arrive. An exception in the inbox ends it too."""

    __slots__ = ("id", "inbox", "sent")

    def __init__(self, id: str) -> None:
        self.id = id
        self.inbox: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self.sent = False

    def next(self, timeout: Optional[float] = None) -> _wire.Message:
        """The next event, or the final reply. Raises what ended the call, or queue.Empty."""
        item = self.inbox.get(timeout=timeout)
        if isinstance(item, BaseException):
            raise item
        return item


class Connection:
    """Connects at once and in the background; ``wait_ready`` tells how it went.

    Args:
        endpoint: a ZeroMQ endpoint, such as ``ipc:///run/corral/corral.sock``.
        hello: the fields of the hello.
        heartbeat: seconds between heartbeats; 0 for none.
        timeout: seconds to wait for a daemon that doesn't answer, at first or after it was lost.
        keys: who this client is, where the endpoint asks for that.
    """

    def __init__(
        self,
        endpoint: str,
        hello: Dict[str, Any],
        heartbeat: float,
        timeout: float,
        keys: Optional[Keys] = None,
    ):
        self.endpoint = endpoint
        self._keys = keys
        self.info: Optional[ServerInfo] = None
        self._hello = hello
        self._heartbeat = Heartbeat(heartbeat, time.monotonic())
        self._timeout = timeout
        self._pid = os.getpid()
        self._ids = itertools.count(1)
        self._outbox: Deque[_Outgoing] = collections.deque()
        self._calls: Dict[str, Call] = {}
        self._first_answer: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._lock = threading.RLock()  # Of _calls' keys, _ended and the wake pipe's write end.
        self._closing = False
        self._ended = False
        self._signalled = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._ready = False
        self._unready_since = time.monotonic()
        self._pause = FIRST_PAUSE
        self._context = zmq.Context()
        self._thread = threading.Thread(target=self._run, name="corral-io", daemon=True)
        self._dealer: Optional[Dealer] = None
        try:
            self._open()
        except BaseException:
            self._release()
            raise
        self._thread.start()

    # Called by any thread.

    def wait_ready(self) -> ServerInfo:
        """Waits for the answer to the first hello. Raises what was answered instead, or
        DaemonUnreachable."""
        try:
            answer = self._first_answer.get(timeout=self._timeout)
        except queue.Empty:
            text = why_unreachable(self.endpoint, self._timeout)
            raise errors.unreachable(text, endpoint=self.endpoint) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def start(
        self, op: str, fields: Dict[str, Any], parts: _wire.Parts = (), id: Optional[str] = None
    ) -> Call:
        """Sends a request. Raises InvalidRequest if it breaks a limit or its id is in use."""
        call = Call(id if id is not None else self.new_id())
        header, payload = _wire.encode({**fields, "op": op, "id": call.id}, parts)
        with self._lock:
            if self._ended or self._closing:
                raise errors.closed()
            if call.id in self._calls or call.id in (_HELLO, _PING):
                raise errors.invalid(f"the request id {call.id!r} is in use")
            self._calls[call.id] = call
            self._put(header, payload, call, True)
        return call

    def new_id(self) -> str:
        """A request id that no open request has."""
        return next(id for id in map(str, self._ids) if id not in self._calls)

    def post(
        self, fields: Dict[str, Any], payload: _wire.Bytes = b"", call: Optional[Call] = None
    ) -> None:
        """Sends a message whose reply nobody awaits; not if it belongs to a call that has ended."""
        header = _wire.encode_header(fields)
        with self._lock:
            self._put(header, payload, call, False)

    def forget(self, call: Call) -> None:
        """Drops what still arrives for a call."""
        with self._lock:
            if self._calls.get(call.id) is call:
                del self._calls[call.id]

    def abandon(self, id: str) -> None:
        """Cancels an exec that nobody waits for any more, and drops what still arrives for it."""
        with self._lock:
            call = self._calls.get(id)
            sent = call is None or call.sent
            self._calls.pop(id, None)
        if sent:
            self.post({"op": "cancel", "id": self.new_id(), "request": id})

    def close(self) -> None:
        """Ends the thread; open calls raise ClientClosed. In a forked child it does nothing."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._closing = True
            self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _put(self, header: bytes, payload: _wire.Bytes, call: Optional[Call], first: bool) -> None:
        self._outbox.append((header, payload, call, first))
        self._wake()

    def _wake(self) -> None:
        # The thread clears the flag before it reads the outbox, so a wake is never lost.
        if not self._signalled and not self._ended:
            self._signalled = True
            os.write(self._wake_write, b"x")

    # Only the thread from here on.

    def _run(self) -> None:
        try:
            while not self._closing:
                self._turn()
        except BaseException as fault:  # Whatever it is, nobody may be left waiting.
            text = f"the client's I/O thread ended: {fault!r}"
            self._end(lambda: errors.internal(text))
            raise
        else:
            self._end(errors.closed)

    def _end(self, reason: Callable[[], errors.CorralError]) -> None:
        with self._lock:
            self._ended = True
        self._settle(reason)
        self._first_answer.put(reason())
        self._release()

    def _release(self) -> None:
        if self._dealer is not None:
            self._dealer.close()
        self._context.term()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _open(self) -> None:
        """Connects and says hello. Until it is answered, all other messages are held."""
        self._dealer = Dealer(self._context, self.endpoint, self._keys)
        self._poller = self._dealer.poller(self._wake_read)
        self._heartbeat.reset(time.monotonic())
        self._dealer.send(_wire.encode_header({**self._hello, "op": "hello", "id": _HELLO}))

    def _turn(self) -> None:
        events = dict(self._poller.poll(self._milliseconds_left()))
        if events.pop(self._wake_read, None):
            os.read(self._wake_read, 64)
            self._signalled = False
        if self._dealer is not None and events:
            end = self._dealer.end()
            self._receive(self._dealer)
            if end == "refused":
                self._refused()
            if end is not None:
                self._lose("the daemon closed the connection")
        self._tick(time.monotonic())
        if self._ready and self._dealer is not None:
            self._flush(self._dealer)

    def _flush(self, dealer: Dealer) -> None:
        while self._outbox:
            header, payload, call, first = self._outbox.popleft()
            if call is not None and self._calls.get(call.id) is not call:
                continue  # It has ended, or was given up before it was sent.
            if first and call is not None:
                call.sent = True
            dealer.send(header, payload)
            self._heartbeat.sent(time.monotonic())

    def _receive(self, dealer: Dealer) -> None:
        for message in dealer.messages():
            self._heartbeat.received(time.monotonic())
            self._route(message)
            if self._dealer is not dealer:
                return

    def _route(self, message: _wire.Message) -> None:
        re = message.header.get("re")
        if re == _HELLO:
            self._take_hello(message.header)
        elif re == _PING:
            self._take_boot(message.header)
        elif isinstance(re, str):
            final = "event" not in message.header
            call = self._calls.pop(re, None) if final else self._calls.get(re)
            if call is not None:
                call.inbox.put(message)

    def _take_hello(self, header: _wire.Header) -> None:
        if header.get("ok") is True:
            first = self.info is None
            self.info = ServerInfo.from_header(header)
            self._ready = True
            self._pause = FIRST_PAUSE
            if first:
                self._first_answer.put(self.info)
        else:
            refusal = header.get("error")
            self._settle(lambda: errors.from_wire(refusal), sent=False)
            if self.info is None:
                self._first_answer.put(errors.from_wire(refusal))

    def _take_boot(self, header: _wire.Header) -> None:
        if header.get("ok") is True and self.info and header.get("boot") != self.info.boot:
            self._lose("the daemon restarted")

    def _refused(self) -> None:
        def reason() -> errors.CorralError:
            return errors.unauthorized(
                f"the daemon at {self.endpoint} does not know this client's key; "
                "add it to keys in the daemon's configuration"
            )

        self._settle(reason, sent=False)
        if self.info is None:
            self._first_answer.put(reason())

    def _lose(self, what: str) -> None:
        """Settles what was sent and leaves the socket, so that nothing queued for this daemon
        reaches the next; ``_tick`` opens another."""
        text = f"{what} while the request was open: whether it ran is not known"
        self._settle(lambda: errors.restarted(text, endpoint=self.endpoint), sent=True)
        now = time.monotonic()
        self._reopen_at = now
        if self._ready:
            self._ready = False
            self._unready_since = now
        else:
            self._reopen_at += self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        if self._dealer is not None:
            self._dealer.close()
            self._dealer = None
        self._poller = zmq.Poller()
        self._poller.register(self._wake_read, zmq.POLLIN)

    def _settle(
        self, reason: Callable[[], errors.CorralError], sent: Optional[bool] = None
    ) -> None:
        """Ends the open calls: all, or those that were (not) sent."""
        with self._lock:
            ended = [x for x in self._calls.values() if sent is None or x.sent == sent]
            for call in ended:
                del self._calls[call.id]
        for call in ended:
            call.inbox.put(reason())

    def _tick(self, now: float) -> None:
        if self._ready:
            if self._heartbeat.is_gone(now):
                self._lose(f"the daemon left {MISSED_PINGS} pings unanswered")
            elif now >= self._heartbeat.due():
                self._ping(now)
            return
        if now >= self._unready_since + self._timeout:
            text = why_unreachable(self.endpoint, self._timeout)
            self._settle(lambda: errors.unreachable(text, endpoint=self.endpoint), sent=False)
            self._unready_since = now
            self._lose("no hello was answered")
        if self._dealer is None and now >= self._reopen_at:
            self._open()

    def _ping(self, now: float) -> None:
        assert self._dealer is not None  # It is there while the connection is ready.
        self._dealer.send(_wire.encode_header({"op": "ping", "id": _PING}))
        self._heartbeat.pinged(now)

    def _milliseconds_left(self) -> Optional[float]:
        if self._ready:
            due = self._heartbeat.due()
        else:
            due = self._unready_since + self._timeout
            if self._dealer is None:
                due = min(due, self._reopen_at)
        left = due - time.monotonic()
        return None if left == math.inf else max(0.0, left * 1000 + 1)

"""One connection to the daemon: a thread that owns the DEALER socket and moves messages.

Callers hand their messages to the ``Link`` and wake the thread through a pipe; what comes back goes
to the inbox of the call, where the caller waits. What is said, and when, is the link's work.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

import zmq

from . import _wire, errors
from ._calls import Call
from ._dealer import Dealer
from ._keys import Keys
from ._link import Link
from ._waiting import Inbox
from .results import ServerInfo

__all__ = ["Call", "Connection"]

_BATCH = 16  # messages taken before anything is sent


class Connection:
    """Connects at once and in the background; arguments as ``Link``, and the keys that the endpoint
    asks for.

    Raises ValueError if the endpoint is none.
    """

    def __init__(
        self,
        endpoint: str,
        hello: Dict[str, Any],
        heartbeat: float,
        timeout: float,
        first_answer: Inbox,
        keys: Optional[Keys] = None,
    ) -> None:
        self.endpoint = endpoint
        self.first_answer = first_answer
        self._keys = keys
        self._pid = os.getpid()
        self._lock = threading.RLock()  # Of the link and of the wake pipe's write end.
        now = time.monotonic()
        self._link = Link(endpoint, hello, heartbeat, timeout, first_answer, now)
        self._due = -math.inf  # Of the link, on its clock.
        self._closing = False
        self._ended = False
        self._signalled = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._context = zmq.Context()
        self._thread = threading.Thread(target=self._run, name="corral-io", daemon=True)
        self._dealer: Optional[Dealer] = None
        try:
            self._open(now)
        except BaseException:
            self._release()
            raise
        self._thread.start()

    # Called by any thread.

    @property
    def info(self) -> Optional[ServerInfo]:
        """What the daemon said last; None before its first answer."""
        return self._link.info

    def start(
        self,
        op: str,
        fields: Dict[str, Any],
        parts: _wire.Parts,
        inbox: Inbox,
        id: Optional[str] = None,
    ) -> Call:
        """Sends a request. Raises InvalidRequest if it breaks a limit or its id is in use."""
        with self._lock:
            if self._closing:
                raise errors.closed()
            call = self._link.start(op, fields, parts, inbox, id, time.monotonic())
            self._wake()
        return call

    def new_id(self) -> str:
        """A request id that no open request has."""
        with self._lock:
            return self._link.new_id()

    def post(
        self, fields: Dict[str, Any], payload: _wire.Bytes = b"", call: Optional[Call] = None
    ) -> None:
        """Sends a message whose reply nobody awaits; not if it belongs to a call that has ended."""
        with self._lock:
            self._link.post(fields, payload, call)
            self._wake()

    def forget(self, call: Call) -> None:
        """Drops what still arrives for a call."""
        with self._lock:
            self._link.forget(call)

    def abandon(self, id: str) -> None:
        """Cancels an exec that nobody waits for any more, and drops what still arrives for it."""
        with self._lock:
            self._link.abandon(id)
            self._wake()

    def close(self) -> None:
        """Ends the thread; open calls raise ClientClosed. In a forked child it does nothing."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._closing = True
            self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _wake(self) -> None:
        # The thread clears the flag before it looks at the link, so a wake is never lost.
        if not self._signalled and not self._ended:
            self._signalled = True
            try:
                os.write(self._wake_write, b"x")
            except BaseException:  # ^C, which would else have the thread never woken again.
                self._signalled = False
                raise

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
            self._link.end(reason)
        self._release()

    def _release(self) -> None:
        if self._dealer is not None:
            self._dealer.close()
        self._context.term()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _open(self, now: float) -> None:
        self._dealer = Dealer(self._context, self.endpoint, self._keys)
        self._poller = self._dealer.poller(self._wake_read)
        with self._lock:
            self._link.opened(now)

    def _turn(self) -> None:
        left = None if self._due == math.inf else max(0.0, self._due - time.monotonic())
        events = dict(self._poller.poll(None if left is None else left * 1000 + 1))
        if events.pop(self._wake_read, None):
            os.read(self._wake_read, 64)
            self._signalled = False
        if not events or self._dealer is None:
            return self._feed([], None)
        dealer, end, more = self._dealer, self._dealer.end(), True
        while more and self._dealer is dealer:
            messages = list(itertools.islice(dealer.messages(), _BATCH))
            more = len(messages) == _BATCH
            self._feed(messages, None if more else end)

    def _feed(self, messages: List[_wire.Message], end: Optional[str]) -> None:
        """Tells the link what has happened, and does what it wants."""
        now = time.monotonic()
        with self._lock:
            for message in messages:
                if self._link.open:
                    self._link.received(message, now)
            if end == "refused" and self._link.open:
                self._link.refused(self._unknown_key, now)
            elif end is not None and self._link.open:
                self._link.lose("the daemon closed the connection", now)
            self._link.tick(now)
            if self._dealer is not None and not self._link.open:
                self._drop(self._dealer)
            if self._dealer is None and self._link.wants_socket(now):
                self._open(now)
            outgoing = self._link.take_outgoing(now) if self._dealer is not None else []
            self._due = self._link.due()
        for header, payload in outgoing:
            assert self._dealer is not None  # Only this thread drops it.
            self._dealer.send(header, payload)

    def _unknown_key(self) -> errors.CorralError:
        return errors.unauthorized(
            f"the daemon at {self.endpoint} does not know this client's key; "
            "add it to keys in the daemon's configuration"
        )

    def _drop(self, dealer: Dealer) -> None:
        dealer.close()
        self._dealer = None
        self._poller = zmq.Poller()
        self._poller.register(self._wake_read, zmq.POLLIN)

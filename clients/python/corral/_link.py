"""What a client owes the daemon and its callers: hello, heartbeats, and an end to every request.

No socket, no thread and no clock: ``Connection`` feeds it, one call at a time. Times are seconds of
a steady clock.
"""

from __future__ import annotations

import collections
import itertools
import math
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from . import _settling, _wire, errors
from ._calls import Call
from ._dealer import FIRST_PAUSE, LONGEST_PAUSE
from ._endpoint import why_unreachable
from ._heartbeat import MISSED_PINGS, Heartbeat
from ._settling import Fate
from ._waiting import Inbox
from .results import ServerInfo

_HELLO, _PING = "hello", "ping"  # The ids of the link's own requests.

Frames = Tuple[bytes, _wire.Bytes]  #: header and payload
# And the call it belongs to, without which it need not be sent; and whether it starts the call.
_Outgoing = Tuple[bytes, _wire.Bytes, Optional[Call], bool]


class Link:
    """The state of the connection to the daemon and of all open requests.

    Where the daemon restarts, goes silent or only the connection breaks, the link wants another
    socket, says hello under the same name and instance, and settles each open request (_settling).

    Args:
        hello: the fields of the hello.
        heartbeat: seconds between heartbeats; 0 for none.
        timeout: seconds to wait for a daemon that doesn't answer, at first or after it was lost.
        first_answer: gets the ServerInfo that the first hello was answered with, or the error.

    Attributes:
        info: what the daemon said last; None before its first answer.
        open: it wants the socket that it has.
    """

    def __init__(
        self,
        endpoint: str,
        hello: Dict[str, Any],
        heartbeat: float,
        timeout: float,
        first_answer: Inbox,
        now: float,
    ) -> None:
        self.endpoint = endpoint
        self.info: Optional[ServerInfo] = None
        self.open = False
        self._hello = hello
        self._heartbeat = Heartbeat(heartbeat, now)
        self._timeout = timeout
        self._first_answer = first_answer
        self._ids = itertools.count(1)
        self._outbox: Deque[_Outgoing] = collections.deque()
        self._urgent: List[Frames] = []  # Hello and pings, which wait for nothing.
        self._calls: Dict[str, Call] = {}
        self._questions: Dict[str, Tuple[Call, bool]] = {}  # By `result`; whether by key.
        self._ready = False
        self._ended = False
        self._next_deadline = math.inf  # Of the calls; none is earlier.
        self._unready_since = now
        self._what = ""  # happened to the connection before
        self._reopen_at = now
        self._pause = FIRST_PAUSE

    # For callers.

    def start(
        self,
        op: str,
        fields: Dict[str, Any],
        parts: _wire.Parts,
        inbox: Inbox,
        id: Optional[str],
        now: float,
    ) -> Call:
        """Begins a request. Raises InvalidRequest if it breaks a limit or its id is in use."""
        call = Call(id if id is not None else self.new_id(), op, fields, parts, inbox, now)
        frames = _encode(call)
        if self._ended:
            raise errors.closed()
        if call.id in self._calls or call.id in (_HELLO, _PING) or call.id in self._questions:
            raise errors.invalid(f"the request id {call.id!r} is in use")
        self._calls[call.id] = call
        self._outbox.append((*frames, call, True))
        return call

    def new_id(self) -> str:
        """A request id that no open request has."""
        return next(id for id in map(str, self._ids) if id not in self._calls)

    def post(
        self, fields: Dict[str, Any], payload: _wire.Bytes = b"", call: Optional[Call] = None
    ) -> None:
        """Sends a message whose reply nobody awaits; not if it belongs to a call that has ended."""
        self._outbox.append((_wire.encode_header(fields), payload, call, False))

    def forget(self, call: Call) -> None:
        """Drops what still arrives for a call."""
        if self._calls.get(call.id) is call:
            del self._calls[call.id]

    def abandon(self, id: str) -> None:
        """Cancels an exec that nobody waits for any more, and drops what still arrives for it."""
        call = self._calls.pop(id, None)
        if call is None or call.sent or call.stale:
            self.post({"op": "cancel", "id": self.new_id(), "request": id})

    def end(self, reason: Callable[[], errors.CorralError]) -> None:
        """Ends all calls, and takes no more."""
        self._ended = True
        self._end_calls(lambda x: True, reason)
        self._first_answer.put(reason())

    # For the connection.

    def wants_socket(self, now: float) -> bool:
        return not self.open and now >= self._reopen_at

    def opened(self, now: float) -> None:
        """There is a socket, which connects by itself. Until the hello is answered, all other
        messages are held."""
        self.open = True
        self._heartbeat.reset(now)
        self._urgent = [(_wire.encode_header({**self._hello, "op": "hello", "id": _HELLO}), b"")]

    def take_outgoing(self, now: float) -> List[Frames]:
        """What to send now."""
        frames, self._urgent = self._urgent, []
        while self._ready and self._outbox:
            header, payload, call, first = self._outbox.popleft()
            if call is not None and self._calls.get(call.id) is not call:
                continue  # It has ended, or was given up before it was sent.
            if first and call is not None:
                call.sent = True
            frames.append((header, payload))
            self._heartbeat.sent(now)
        return frames

    def received(self, message: _wire.Message, now: float) -> None:
        self._heartbeat.received(now)
        re = message.header.get("re")
        if re == _HELLO:
            self._take_hello(message.header, now)
        elif re == _PING:
            self._take_boot(message.header, now)
        elif isinstance(re, str) and re in self._questions:
            self._take_answer(re, message, now)
        elif isinstance(re, str):
            final = "event" not in message.header
            call = self._calls.get(re)
            if call is None:
                return
            if final and _settling.goes_on(call.op, call.fields, message.header):
                call.stale = True  # The next daemon is asked for its result.
                return
            if final:
                del self._calls[re]
            call.put(message)

    def lose(self, what: str, now: float) -> None:
        """The socket is of no use any more: it is to be closed, so that nothing queued for this
        daemon reaches the next. What was sent is settled when another one has said hello."""
        self.open = False
        self._urgent = []
        self._questions.clear()
        for call in self._calls.values():
            if call.sent:
                call.sent, call.stale, call.deadline = False, True, None
        self._reopen_at = now
        if self._ready:
            self._ready = False
            self._unready_since = now
            self._what = what
            return
        self._reopen_at += self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def refused(self, reason: Callable[[], errors.CorralError], now: float) -> None:
        """The daemon wants nothing of this client, for now: who waits to be sent is told so."""
        self._end_calls(lambda x: not x.stale, reason)
        if self.info is None:
            self._first_answer.put(reason())
        self.lose("the daemon refused this client", now)

    def tick(self, now: float) -> None:
        """Does what is due."""
        if not self._ready:
            return self._wait_for_daemon(now)
        self._give_up(now)
        if self._heartbeat.is_gone(now):
            self.lose(f"the daemon left {MISSED_PINGS} pings unanswered", now)
        elif now >= self._heartbeat.due():
            self._urgent.append((_wire.encode_header({"op": "ping", "id": _PING}), b""))
            self._heartbeat.pinged(now)

    def due(self) -> float:
        """When there is something to do next; infinity for never."""
        if self._urgent:
            return -math.inf
        if self._ready:
            return min(self._heartbeat.due(), self._next_deadline)
        times = [x.since + self._timeout for x in self._calls.values() if not x.stale]
        if self.open or any(x.stale for x in self._calls.values()):
            times.append(self._unready_since + self._timeout)
        return min(times, default=math.inf) if self.open else min([self._reopen_at, *times])

    # The daemon.

    def _take_hello(self, header: _wire.Header, now: float) -> None:
        if header.get("ok") is not True:
            return self.refused(lambda: errors.from_wire(header.get("error")), now)
        before, self.info = self.info, ServerInfo.from_header(header, self.endpoint)
        self._ready = True
        self._pause = FIRST_PAUSE
        if before is None:
            self._first_answer.put(self.info)
        same_boot = before is not None and before.boot == self.info.boot
        if before is not None and not same_boot:
            self._what = "the daemon restarted"
        newer, self._outbox = self._outbox, collections.deque()
        for call in [x for x in self._calls.values() if x.stale]:
            self._settle(call, _settling.fate_of(call.op, call.fields, same_boot), now)
        self._outbox += newer

    def _take_boot(self, header: _wire.Header, now: float) -> None:
        if header.get("ok") is True and self.info and header.get("boot") != self.info.boot:
            self.lose("the daemon restarted", now)

    def _wait_for_daemon(self, now: float) -> None:
        def unreachable() -> errors.CorralError:
            text = why_unreachable(self.endpoint, self._timeout)
            return errors.unreachable(text, endpoint=self.endpoint)

        self._end_calls(lambda x: not x.stale and now >= x.since + self._timeout, unreachable)
        if now < self._unready_since + self._timeout:
            return
        what = f"{self._what}, and none answered for {self._timeout:g} s,"
        self._end_calls(lambda x: x.stale, lambda: _settling.lost(what, self.endpoint))
        self._unready_since = now
        if self.open:
            self.lose("no hello was answered", now)

    # The requests.

    def _settle(self, call: Call, fate: Fate, now: float) -> None:
        call.stale = False
        if fate is Fate.LOST:
            self._calls.pop(call.id, None)
            call.put(_settling.lost(self._what, self.endpoint))
        elif fate is Fate.RESEND:
            self._send_again(call)
        elif fate is Fate.WAIT:
            call.sent = True
            if call.op != "exec":  # Of an exec the daemon has said that it runs.
                self._limit(call, now + _settling.patience(call.fields, self._timeout))
        else:
            self._ask(call, fate is Fate.ASK_BY_KEY)
            self._limit(call, now + self._timeout)

    def _send_again(self, call: Call) -> None:
        if call.op == "exec":
            call.fields = _settling.in_the_same_sandbox(call.fields)
        else:  # A reply to the first one, which may still come, is not to be taken for this one's.
            del self._calls[call.id]
            call.id = self.new_id()
            self._calls[call.id] = call
            call.put(_wire.Message({"re": call.id, "event": "resent"}, b""))
        self._outbox.append((*_encode(call), call, True))

    def _ask(self, call: Call, by_key: bool) -> None:
        call.sent = True
        id = self.new_id()
        if by_key:
            fields = _settling.question_by_key(call.fields)
        else:
            fields = _settling.question_by_request(call.id, call.fields)
        self._questions[id] = (call, by_key)
        header = _wire.encode_header({**fields, "op": "result", "id": id})
        self._outbox.append((header, b"", call, False))

    def _take_answer(self, id: str, message: _wire.Message, now: float) -> None:
        call, by_key = self._questions[id]
        final = "event" not in message.header
        if final:
            del self._questions[id]
            call.deadline = None
        if self._calls.get(call.id) is not call:
            return  # Its own reply came first, or nobody waits for it.
        if not final:
            call.put(message)
        elif _settling.tells_the_end(message.header):
            del self._calls[call.id]
            call.put(_wire.Message(_settling.end_of(message.header), message.payload))
        else:
            has_key = "key" in call.fields
            fate = _settling.after_question(message.header, has_key, by_key, now - call.since)
            self._settle(call, fate, now)

    def _limit(self, call: Call, deadline: float) -> None:
        call.deadline = deadline
        self._next_deadline = min(self._next_deadline, deadline)

    def _give_up(self, now: float) -> None:
        if now < self._next_deadline:
            return
        limited = [x for x in self._calls.values() if x.deadline is not None]
        for call in limited:
            if now >= (call.deadline or 0.0):
                self._settle(call, Fate.LOST, now)
        left = [x.deadline for x in self._calls.values() if x.deadline is not None]
        self._next_deadline = min(left, default=math.inf)

    def _end_calls(
        self, which: Callable[[Call], bool], reason: Callable[[], errors.CorralError]
    ) -> None:
        ended = [x for x in self._calls.values() if which(x)]
        for call in ended:
            del self._calls[call.id]
        for call in ended:
            call.put(reason())


def _encode(call: Call) -> Frames:
    return _wire.encode({**call.fields, "op": call.op, "id": call.id}, call.parts)

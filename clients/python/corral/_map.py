"""Many commands at once: which one is next, and their results as they come."""

from __future__ import annotations

import collections
import heapq
from typing import Any, AsyncGenerator, Callable, Deque, Dict, List, Optional, Sequence, Tuple
from typing import TYPE_CHECKING, Union

from . import _exchange, _wire, errors
from ._connection import Call, Connection
from ._transfer import Text
from ._waiting import Inbox, Waiting
from .results import ExecResult, MapResult

if TYPE_CHECKING:
    from .aio.client import AsyncClient

Request = Tuple[Dict[str, Any], _wire.Parts]  #: an exec's fields and parts


def lanes_of(thread: Optional[str], threads: Optional[Sequence[str]]) -> List[str]:
    """The threads to spread commands over. Raises InvalidRequest if they are not given once."""
    if (thread is None) == (threads is None):
        raise errors.invalid("give either thread= or threads=: where the commands are to run")
    if isinstance(threads, str):
        raise errors.invalid("threads must be a list of names; for one thread use thread=")
    lanes = [thread] if thread is not None else list(threads or ())
    if not lanes:
        raise errors.invalid("threads names no thread")
    return lanes


class Schedule:
    """Command i belongs to lanes[i % len(lanes)], given by name; the commands of a lane run one
    after the other, in order."""

    def __init__(self, count: int, lanes: Sequence[str]) -> None:
        self._lanes = lanes
        self._waiting: Dict[str, Deque[int]] = {}
        for index in range(count):
            self._waiting.setdefault(self.lane(index), collections.deque()).append(index)
        self._ready = sorted(x.popleft() for x in self._waiting.values())

    def lane(self, index: int) -> str:
        return self._lanes[index % len(self._lanes)]

    def next(self) -> Optional[int]:
        """The first command whose lane is free, which is then taken; None if there is none now."""
        return heapq.heappop(self._ready) if self._ready else None

    def done(self, index: int) -> None:
        """Frees the lane of a command that has ended."""
        rest = self._waiting[self.lane(index)]
        if rest:
            heapq.heappush(self._ready, rest.popleft())


class _Tagged:
    """An inbox of its own for a call, in front of one that many share."""

    def __init__(self, shared: Inbox, index: int) -> None:
        self._shared = shared
        self._index = index

    def put(self, item: Any) -> None:
        self._shared.put((self._index, item))

    async def get(self, timeout: Optional[float] = None) -> Any:
        raise NotImplementedError  # The shared one is read.


class _Running:
    """The commands that are open on a connection."""

    def __init__(self, connection: Connection, waiting: Waiting) -> None:
        self._connection = connection
        self._inbox = waiting.inbox()
        self._calls: Dict[int, Tuple[Call, _exchange.Reply]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def start(self, index: int, request: Request) -> None:
        fields, parts = request
        call = self._connection.start("exec", fields, parts, _Tagged(self._inbox, index))
        self._calls[index] = (call, _exchange.Reply())

    async def next(self) -> Tuple[int, Union[ExecResult, errors.CorralError]]:
        """The next command that ends."""
        while True:
            index, item = await self._inbox.get()
            if index not in self._calls:
                continue
            call, reply = self._calls[index]
            try:
                message = call.open(item)
                whole = reply.take(message)
                if whole is None:
                    if message.header["event"] == "chunk":
                        _exchange.acknowledge(self._connection, call, message)
                    continue
                result: Union[ExecResult, errors.CorralError] = ExecResult.from_message(whole)
            except errors.CorralError as fault:
                result = fault
                self._connection.forget(call)
            del self._calls[index]
            return index, result

    def abandon(self) -> None:
        """Cancels what is open."""
        for call, _ in self._calls.values():
            self._connection.abandon(call.id)
        self._calls.clear()


async def run_commands(
    client: "AsyncClient",
    commands: Sequence[Text],
    schedule: Schedule,
    request_of: Callable[[int], Request],
    concurrency: int,
    stop_on_error: bool,
) -> AsyncGenerator[MapResult, None]:
    """Results as commands end; `request_of` makes the exec of a command by its index."""
    running = _Running(client._connection(), client._waiting)
    try:
        while True:
            index = schedule.next() if len(running) < concurrency else None
            if index is None and not len(running):
                return
            if index is not None:
                try:
                    running.start(index, request_of(index))
                    continue
                except errors.CorralError as fault:
                    ended: Tuple[int, Union[ExecResult, errors.CorralError]] = (index, fault)
            else:
                ended = await running.next()
            index, result = ended
            schedule.done(index)
            yield MapResult(index, commands[index], result)
            if stop_on_error and isinstance(result, errors.CorralError):
                return
    finally:
        running.abandon()

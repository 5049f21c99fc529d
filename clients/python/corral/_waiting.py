"""How the library waits: by blocking the thread, or in an asyncio loop.

All that talks to the daemon is written once, as coroutines (``corral.aio``). With ``Blocking`` they
never suspend, so that ``run`` drives them from ordinary code.
"""

from __future__ import annotations

import queue
import threading
from typing import Any, AsyncIterator, Callable, Coroutine, Generator, Optional, Protocol, TypeVar
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
_SLICE = 0.5  # seconds


class Quiet(Exception):
    """Nothing came in the time given."""


class BlockingInbox:
    """Where any thread puts things for one that waits."""

    def __init__(self) -> None:
        self._queue: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

    def put(self, item: Any) -> None:
        self._queue.put(item)

    async def get(self, timeout: Optional[float] = None) -> Any:
        """The next one. Raises Quiet after `timeout` seconds."""
        if timeout is None and threading.current_thread() is threading.main_thread():
            return self._get_in_slices()
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            raise Quiet from None

    def _get_in_slices(self) -> Any:
        """For the thread that runs signal handlers: one that comes just before Python blocks would
        only be handled afterwards, and ^C would cancel nothing."""
        while True:
            try:
                return self._queue.get(timeout=_SLICE)
            except queue.Empty:
                pass


class AsyncioInbox:
    """Where any thread puts things for a task of the loop that runs now."""

    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._queue: "asyncio.Queue[Any]" = asyncio.Queue()

    def put(self, item: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:
            pass  # The loop is closed: nobody waits any more.

    async def get(self, timeout: Optional[float] = None) -> Any:
        """The next one. Raises Quiet after `timeout` seconds."""
        import asyncio

        if timeout is None:
            return await self._queue.get()
        try:
            return await asyncio.wait_for(self._queue.get(), timeout)
        except asyncio.TimeoutError:
            raise Quiet from None


class Inbox(Protocol):
    """Where any thread puts things for one that waits."""

    def put(self, item: Any) -> None: ...

    async def get(self, timeout: Optional[float] = None) -> Any: ...


class Blocking:
    """The calling thread waits."""

    def inbox(self) -> Inbox:
        return BlockingInbox()

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Runs what may wait for a local disk."""
        return function(*args)


class Asyncio:
    """The current task waits."""

    def inbox(self) -> Inbox:
        return AsyncioInbox()

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Runs what may wait for a local disk, in the loop's pool of threads."""
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(None, function, *args)


Waiting = Union[Blocking, Asyncio]


def run(coroutine: Union[Coroutine[Any, Any, T], Any]) -> T:
    """The result of a coroutine that waits by blocking only."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise RuntimeError("a coroutine of the blocking client has suspended")


def iterate(items: AsyncIterator[T]) -> Generator[T, None, None]:
    """The items of an asynchronous generator that waits by blocking only. Closing the iterator
    closes it."""

    def generator() -> Generator[T, None, None]:
        try:
            while True:
                try:
                    item = run(items.__anext__())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            run(items.aclose())  # type: ignore[attr-defined]

    return generator()

"""A command whose output is read while it runs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, AsyncIterator, Optional, Type, Union

from .. import _exchange, _wire, errors
from .._connection import Call, Connection
from ..results import Chunk, ExecResult

if TYPE_CHECKING:
    from .client import AsyncClient

_INPUT_BYTES = 1024 * 1024  # of one input request


class AsyncExecStream:
    """Iterate over the chunks with ``async for``, then ask for the ``result``. One task reads; any
    task may cancel or send input. Leaving an ``async with`` early, or cancelling the task that
    reads, cancels the command.

    What isn't read in time is dropped by the sandbox beyond a window of 256 KiB (``Chunk.gap``);
    the result has the command's output all the same.

    Attributes:
        request_id: names the command for ``AsyncClient.cancel``.
    """

    def __init__(self, client: "AsyncClient", connection: Connection, call: Call) -> None:
        self.request_id = call.id
        self._client = client
        self._connection = connection
        self._call = call
        self._reply: Optional[_wire.Message] = None
        self._fault: Optional[errors.CorralError] = None

    async def __aenter__(self) -> "AsyncExecStream":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if not self._ended():
            self._abandon()

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        """The chunks that are still to come, in the order they were written to each stream.

        Raises what ended the command without a result, such as SandboxLost.
        """
        while not self._ended():
            chunk = await self._next()
            if chunk is not None:
                yield chunk
        if self._fault is not None:
            raise self._fault

    async def result(self) -> ExecResult:
        """Waits for the end, dropping the chunks not yet read. Raises what the iteration would."""
        async for _ in self:
            pass
        assert self._reply is not None
        return ExecResult.from_message(self._reply)

    async def cancel(self) -> bool:
        """Cancels the command; True exactly if its result will say ``cancelled``."""
        return not self._ended() and await self._client.cancel(self.request_id)

    async def send_input(self, data: Union[str, bytes], eof: bool = False) -> int:
        """Writes to the command's standard input, which must have been left open (``stdin_open``);
        how many bytes it took. ``eof`` closes it afterwards.

        Raises:
            InvalidRequest: the command has ended, or its input is closed.
        """
        rest = memoryview(_wire.to_bytes(data))
        accepted = 0
        while True:
            piece, rest = rest[:_INPUT_BYTES], rest[_INPUT_BYTES:]
            fields = {"request": self.request_id, **({"eof": True} if eof and not rest else {})}
            parts = [("stdin", bytes(piece))] if piece else []
            reply = await self._client._call("input", fields, parts)
            accepted += int(reply.header.get("bytes", len(piece)))
            if not rest:
                return accepted

    async def close_input(self) -> None:
        """Ends the command's standard input."""
        await self.send_input(b"", eof=True)

    def _ended(self) -> bool:
        return self._reply is not None or self._fault is not None

    async def _next(self) -> Optional[Chunk]:
        try:
            message = await self._call.next()
            event = message.header.get("event")
            if event is None:
                self._reply = _exchange.checked(message)
                return None
        except errors.CorralError as fault:
            self._fault = fault
            return None
        except BaseException:  # KeyboardInterrupt, or the end of the task.
            self._abandon()
            raise
        if event != "chunk":
            return None
        _exchange.acknowledge(self._connection, self._call, message)
        h = message.header
        stream, offset, gap = h.get("stream", "stdout"), h.get("offset", 0), h.get("gap", 0)
        return Chunk(stream, message.payload, offset, gap)

    def _abandon(self) -> None:
        self._fault = errors.closed("the stream was left before its command ended")
        self._connection.abandon(self.request_id)

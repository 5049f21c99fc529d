"""A command whose output is read while it runs."""

from __future__ import annotations

from types import TracebackType
from typing import Iterator, Optional, Type, Union

from ._waiting import iterate, run
from .aio.streaming import AsyncExecStream
from .results import Chunk, ExecResult


class ExecStream:
    """Iterate over the chunks, then ask for the ``result``. One thread reads; any thread may cancel
    or send input. Leaving a ``with`` statement early cancels the command.

    What isn't read in time is dropped by the sandbox beyond a window of 256 KiB (``Chunk.gap``);
    the result has the command's output all the same.

    Attributes:
        request_id: names the command for ``Client.cancel``.
    """

    def __init__(self, core: AsyncExecStream) -> None:
        self._core = core
        self.request_id = core.request_id

    def __enter__(self) -> "ExecStream":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        run(self._core.__aexit__(kind, value, trace))

    def __iter__(self) -> Iterator[Chunk]:
        """The chunks that are still to come, in the order they were written to each stream.

        Raises what ended the command without a result, such as SandboxLost.
        """
        return iterate(self._core.__aiter__())

    def result(self) -> ExecResult:
        """Waits for the end, dropping the chunks not yet read. Raises what the iteration would."""
        return run(self._core.result())

    def cancel(self) -> bool:
        """Cancels the command; True exactly if its result will say ``cancelled``."""
        return run(self._core.cancel())

    def send_input(self, data: Union[str, bytes], eof: bool = False) -> int:
        """Writes to the command's standard input, which must have been left open (``stdin_open``);
        how many bytes it took. ``eof`` closes it afterwards.

        Raises:
            InvalidRequest: the command has ended, or its input is closed.
        """
        return run(self._core.send_input(data, eof))

    def close_input(self) -> None:
        """Ends the command's standard input."""
        run(self._core.close_input())

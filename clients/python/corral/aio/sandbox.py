"""One sandbox: the seven primitives and what belongs to them."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from .. import _exchange, _wire, errors
from .._settling import sandbox_of
from .._transfer import Text
from .._wire import given, milliseconds, to_bytes
from ..results import ExecResult, KeptResult, Lease
from ._files import AsyncFileOperations
from .streaming import AsyncExecStream

if TYPE_CHECKING:
    from .client import AsyncClient


class AsyncSandbox(AsyncFileOperations):
    """A thread's sandbox, as ``corral.Sandbox``, leased (``AsyncClient.acquire``) or borrowed
    (``AsyncClient.sandbox``).

    Arguments, results and errors are those of the method of the same name of ``corral.Sandbox``. In
    ``async with`` the lease is released at the end.

    Attributes:
        origin: how the sandbox was found (active, warm, discovered, created); None if borrowed.
    """

    def __init__(
        self,
        client: "AsyncClient",
        target: Dict[str, Any],
        id: Optional[str],
        lease: Optional[Lease],
    ) -> None:
        super().__init__(client, target)
        self._id = id
        self._lease = lease
        self._leased_in = os.getpid()
        self.origin = lease.origin if lease else None

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            await self.release()
        except (ConnectionError, errors.ClientClosed, errors.SandboxLost, errors.SandboxNotFound):
            pass  # The lease is gone, or goes with the client.
        except errors.InvalidRequest:
            pass  # Likewise, and the thread has a new sandbox of the same id.

    def __repr__(self) -> str:
        kind = "leased" if self._lease else "borrowed"
        return f"<corral.aio.AsyncSandbox {self.id} {kind}>"

    @property
    def id(self) -> str:
        """16 hex digits; of a borrowed sandbox, the ones that its owner's always has."""
        return self._id if self._id is not None else sandbox_of(self._target)

    @property
    def lease(self) -> Optional[Lease]:
        """What the acquire answered; None if borrowed or released."""
        return self._lease

    # Commands.

    async def execute_command(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        queue_timeout: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Text] = None,
        key: Optional[str] = None,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
        request_id: Optional[str] = None,
    ) -> ExecResult:
        """Runs a command in the sandbox's shell and waits for its end. Cancelling the task cancels
        the command."""
        fields = exec_fields(timeout, queue_timeout, env, cwd, key, max_output_chars, want)
        parts = exec_parts(command, stdin)
        client = self._client
        connection = client._connection()
        id = request_id or connection.new_id()
        try:
            target = {**self._target, **fields}
            call = connection.start("exec", target, parts, client._waiting.inbox(), id)
            return ExecResult.from_message(
                await _exchange.finish(connection, call, client._waiting)
            )
        except errors.CorralError:
            raise
        except BaseException:  # KeyboardInterrupt, or the end of the task: nobody waits for it now.
            connection.abandon(id)
            raise

    exec = execute_command

    async def exec_stream(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        queue_timeout: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Text] = None,
        stdin_open: bool = False,
        key: Optional[str] = None,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
        request_id: Optional[str] = None,
    ) -> AsyncExecStream:
        """Starts a command and returns at once: iterate over its output as it comes.

        Args:
            stdin_open: leave the standard input open after `stdin`, for ``send_input``.
        """
        fields = exec_fields(timeout, queue_timeout, env, cwd, key, max_output_chars, want)
        fields["stream"] = True
        if stdin_open:
            fields["stdin_open"] = True
        connection = self._client._connection()
        target, parts = {**self._target, **fields}, exec_parts(command, stdin)
        inbox = self._client._waiting.inbox()
        call = connection.start("exec", target, parts, inbox, request_id)
        return AsyncExecStream(self._client, connection, call)

    async def result(
        self,
        key: str,
        *,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
    ) -> KeptResult:
        """What became of the exec with that key in this sandbox."""
        shown = given(
            max_output_chars=max_output_chars, want=list(want) if want is not None else None
        )
        return KeptResult.from_message(await self._call("result", {"key": key, **shown}))

    async def reset_session(self) -> Optional[int]:
        """Replaces the shell by a new one in its initial state; the new session's number."""
        session = (await self._call("reset_session", {})).header.get("session")
        return session if isinstance(session, int) else None

    async def cancel(self) -> bool:
        """Cancels the command that runs in this sandbox now, whoever sent it."""
        reply = await self._client._call("cancel", {"sandbox": self.id})
        return bool(reply.header.get("cancelled", False))

    # The sandbox itself.

    async def info(self) -> Optional[Dict[str, Any]]:
        """Its state, as ``AsyncClient.get``; None if it isn't there."""
        return await self._client.get(self.id)

    get = info

    async def release(self) -> None:
        """Drops the lease; the last one parks the sandbox. Again, or for a borrowed sandbox, or in
        a child forked since, it does nothing."""
        lease, self._lease = self._lease, None
        if lease is not None and lease.lease is not None and self._leased_in == os.getpid():
            fields = {"sandbox": lease.sandbox, "lease": lease.lease}
            await self._client._call("release", fields, timeout=self._client._timeout)

    async def destroy(self, *, force: bool = False, purge: bool = False) -> bool:
        """Ends the sandbox, as ``AsyncClient.destroy``."""
        destroyed = await self._client.destroy(self.id, force, purge)
        self._lease = None
        return destroyed


def exec_fields(
    timeout: Optional[float],
    queue_timeout: Optional[float],
    env: Optional[Mapping[str, str]],
    cwd: Optional[str],
    key: Optional[str],
    max_output_chars: Optional[int],
    want: Optional[Sequence[str]],
) -> Dict[str, Any]:
    return given(
        timeout_ms=milliseconds(timeout),
        queue_ms=milliseconds(queue_timeout),
        env=dict(env) if env is not None else None,
        cwd=cwd,
        key=key,
        max_output_chars=max_output_chars,
        want=list(want) if want is not None else None,
    )


def exec_parts(command: Text, stdin: Optional[Text]) -> List[Tuple[str, _wire.Bytes]]:
    parts = [("command", to_bytes(command))]
    if stdin is not None:
        parts.append(("stdin", to_bytes(stdin)))
    return parts

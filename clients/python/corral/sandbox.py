"""One sandbox: the seven primitives and what belongs to them."""

from __future__ import annotations

import hashlib
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from . import _exchange, _wire, errors
from ._files import FileOperations
from ._transfer import Text
from ._wire import given, milliseconds, to_bytes
from .results import ExecResult, Lease
from .streaming import ExecStream

if TYPE_CHECKING:
    from .client import Client


class Sandbox(FileOperations):
    """A thread's sandbox, leased (``Client.acquire``) or borrowed (``Client.sandbox``).

    Relative paths start in /mnt/user-data/workspace. Commands run one after the other in one
    persistent shell; file operations run beside them. Every method may raise SandboxLost and the
    other errors of ``corral.errors``. In a ``with`` statement the lease is released at the end.

    Attributes:
        origin: how the sandbox was found (active, warm, discovered, created); None if borrowed.
    """

    def __init__(
        self, client: "Client", target: Dict[str, Any], id: Optional[str], lease: Optional[Lease]
    ) -> None:
        super().__init__(client, target)
        self._id = id
        self._lease = lease
        self._leased_in = os.getpid()
        self.origin = lease.origin if lease else None

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            self.release()
        except (ConnectionError, errors.ClientClosed, errors.SandboxLost, errors.SandboxNotFound):
            pass  # The lease is gone, or goes with the client.
        except errors.InvalidRequest:
            pass  # Likewise, and the thread has a new sandbox of the same id.

    def __repr__(self) -> str:
        kind = "leased" if self._lease else "borrowed"
        return f"<corral.Sandbox {self.id} {kind}>"

    @property
    def id(self) -> str:
        """16 hex digits; of a borrowed sandbox, the ones that its owner's always has."""
        if self._id is not None:
            return self._id
        user, thread = self._target.get("user", "default"), self._target["thread"]
        text = thread if user == "default" else f"{user}:{thread}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def lease(self) -> Optional[Lease]:
        """What the acquire answered; None if borrowed or released."""
        return self._lease

    # Commands.

    def execute_command(
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
        """Runs a command in the sandbox's shell and waits for its end. Ctrl-C cancels it.

        Args:
            command: bash, of any length up to 16 MiB together with `stdin`.
            timeout: seconds it may run, up to 24 h; default 600. What it started is ended then, and
                the result says ``timed_out``.
            queue_timeout: seconds it may wait for earlier commands; default: no limit.
            env: variables for this command only.
            cwd: directory for this command only.
            stdin: its standard input; default: empty.
            key: makes it at most once: a second exec with the key gets the first one's result.
            max_output_chars: limit of ``output`` in characters, 0 for none; default 20000.
            want: which of "output", "stdout", "stderr" to send; default: all.
            request_id: a name for ``Client.cancel``, at most 128 bytes, unique while it runs.

        Raises:
            QueueFull, CommandBlocked, HostBashDisabled, InvalidRequest.
        """
        fields = exec_fields(timeout, queue_timeout, env, cwd, key, max_output_chars, want)
        parts = exec_parts(command, stdin)
        connection = self._client._connection()
        id = request_id or connection.new_id()
        try:
            call = connection.start("exec", {**self._target, **fields}, parts, id)
            return ExecResult.from_message(_exchange.finish(connection, call))
        except errors.CorralError:
            raise
        except BaseException:  # KeyboardInterrupt above all: nobody waits for the command now.
            connection.abandon(id)
            raise

    exec = execute_command

    def exec_stream(
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
    ) -> ExecStream:
        """Starts a command and returns at once: iterate over its output as it comes.

        Takes the arguments of ``execute_command``, and:

        Args:
            stdin_open: leave the standard input open after `stdin`, for ``send_input``.
        """
        fields = exec_fields(timeout, queue_timeout, env, cwd, key, max_output_chars, want)
        fields["stream"] = True
        if stdin_open:
            fields["stdin_open"] = True
        connection = self._client._connection()
        call = connection.start(
            "exec", {**self._target, **fields}, exec_parts(command, stdin), request_id
        )
        return ExecStream(self._client, connection, call)

    def reset_session(self) -> Optional[int]:
        """Replaces the shell by a new one in its initial state; the new session's number."""
        session = self._call("reset_session", {}).header.get("session")
        return session if isinstance(session, int) else None

    def cancel(self) -> bool:
        """Cancels the command that runs in this sandbox now, whoever sent it."""
        reply = self._client._call("cancel", {"sandbox": self.id})
        return bool(reply.header.get("cancelled", False))

    # The sandbox itself.

    def info(self) -> Optional[Dict[str, Any]]:
        """Its state, as ``Client.get``; None if it isn't there."""
        return self._client.get(self.id)

    get = info

    def release(self) -> None:
        """Drops the lease; the last one parks the sandbox. Again, or for a borrowed sandbox, or in
        a child forked since, it does nothing."""
        lease, self._lease = self._lease, None
        if lease is not None and lease.lease is not None and self._leased_in == os.getpid():
            fields = {"sandbox": lease.sandbox, "lease": lease.lease}
            self._client._call("release", fields, timeout=self._client._timeout)

    def destroy(self, *, force: bool = False, purge: bool = False) -> bool:
        """Ends the sandbox, as ``Client.destroy``."""
        destroyed = self._client.destroy(self.id, force, purge)
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

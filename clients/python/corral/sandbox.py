"""One sandbox: the seven primitives and what belongs to them."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Dict, Mapping, Optional, Sequence, Type

from ._files import FileOperations
from ._transfer import Text
from ._waiting import run
from .aio.sandbox import AsyncSandbox
from .results import ExecResult, KeptResult, Lease
from .streaming import ExecStream


class Sandbox(FileOperations):
    """A thread's sandbox, leased (``Client.acquire``) or borrowed (``Client.sandbox``).

    Relative paths start in /mnt/user-data/workspace. Commands run one after the other in one
    persistent shell; file operations run beside them. Every method may raise SandboxLost and the
    other errors of ``corral.errors``. In a ``with`` statement the lease is released at the end.

    Attributes:
        origin: how the sandbox was found (active, warm, discovered, created); None if borrowed.
    """

    _core: AsyncSandbox

    def __init__(self, core: AsyncSandbox) -> None:
        super().__init__(core)
        self.origin = core.origin

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        run(self._core.__aexit__(kind, value, trace))

    def __repr__(self) -> str:
        kind = "leased" if self.lease else "borrowed"
        return f"<corral.Sandbox {self.id} {kind}>"

    @property
    def id(self) -> str:
        """16 hex digits; of a borrowed sandbox, the ones that its owner's always has."""
        return self._core.id

    @property
    def lease(self) -> Optional[Lease]:
        """What the acquire answered; None if borrowed or released."""
        return self._core.lease

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
        return run(
            self._core.execute_command(
                command,
                timeout=timeout,
                queue_timeout=queue_timeout,
                env=env,
                cwd=cwd,
                stdin=stdin,
                key=key,
                max_output_chars=max_output_chars,
                want=want,
                request_id=request_id,
            )
        )

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
        return ExecStream(
            run(
                self._core.exec_stream(
                    command,
                    timeout=timeout,
                    queue_timeout=queue_timeout,
                    env=env,
                    cwd=cwd,
                    stdin=stdin,
                    stdin_open=stdin_open,
                    key=key,
                    max_output_chars=max_output_chars,
                    want=want,
                    request_id=request_id,
                )
            )
        )

    def result(
        self,
        key: str,
        *,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
    ) -> KeptResult:
        """What became of the exec with that key in this sandbox: running, finished with its result,
        or not found. Raises what ``Client.result`` does."""
        return run(self._core.result(key, max_output_chars=max_output_chars, want=want))

    def reset_session(self) -> Optional[int]:
        """Replaces the shell by a new one in its initial state; the new session's number."""
        return run(self._core.reset_session())

    def cancel(self) -> bool:
        """Cancels the command that runs in this sandbox now, whoever sent it."""
        return run(self._core.cancel())

    # The sandbox itself.

    def info(self) -> Optional[Dict[str, Any]]:
        """Its state, as ``Client.get``; None if it isn't there."""
        return run(self._core.info())

    get = info

    def release(self) -> None:
        """Drops the lease; the last one parks the sandbox. Again, or for a borrowed sandbox, or in
        a child forked since, it does nothing."""
        run(self._core.release())

    def destroy(self, *, force: bool = False, purge: bool = False) -> bool:
        """Ends the sandbox, as ``Client.destroy``."""
        return run(self._core.destroy(force=force, purge=purge))

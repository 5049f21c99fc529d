"""The connection to one daemon, shared by any number of threads."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Dict, Generator, Iterable, List, Mapping, Optional, Sequence, Type

from ._transfer import Text
from ._waiting import Blocking, iterate, run
from .aio.client import AsyncClient
from .results import KeptResult, MapResult, ServerInfo
from .sandbox import Sandbox


class _Core(AsyncClient):
    """Does all the work; its coroutines block instead of suspending."""

    _waiting = Blocking()


class Client:
    """A client of one daemon. Threads share it freely; a forked child gets a connection of its own.

    Args:
        endpoint: a ZeroMQ endpoint or the path of a socket; see ``default_endpoint``.
        name: a stable name under which this client is known; only one live client may have it.
            A forked child adds its pid. Default: host, pid and something random.
        heartbeat: seconds between the heartbeats that keep leases; 0 for none, and then nothing is
            leased. The daemon ends the leases of a client after three missed ones.
        timeout: seconds to wait for the daemon where it needs no sandbox to answer: to connect, and
            for ping, get, list, stats, release and cancel.
        key_file: for a tcp:// endpoint, this client's keys as ``corral keygen`` makes them.
            Default: ``$CORRAL_KEY_FILE``.
        server_key: for a tcp:// endpoint, the daemon's public key. Default:
            ``$CORRAL_SERVER_KEY``.

    Raises:
        DaemonUnreachable: no daemon answered within ``timeout``.
        Unauthorized: the daemon doesn't know this client's key.
        Busy: another live client has this name.
        ValueError: the endpoint is none, or the keys are not what it needs.
    """

    def __init__(
        self,
        endpoint: Optional[str] = None,
        *,
        name: Optional[str] = None,
        heartbeat: float = 10.0,
        timeout: float = 30.0,
        key_file: Optional[str] = None,
        server_key: Optional[str] = None,
    ) -> None:
        self._core = _Core(
            endpoint,
            name=name,
            heartbeat=heartbeat,
            timeout=timeout,
            key_file=key_file,
            server_key=server_key,
        )
        run(self._core.__aenter__())
        self.endpoint = self._core.endpoint

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; open requests of other threads raise ClientClosed. The daemon ends
        what this client leased after three missed heartbeats: release first, or use ``with``.
        Closing twice is fine."""
        run(self._core.close())

    @property
    def server(self) -> ServerInfo:
        """What the daemon said when this client last connected."""
        return run(self._core._connected())

    # Sandboxes.

    def acquire(
        self,
        thread: Optional[str] = None,
        user: str = "default",
        pool: Optional[str] = None,
        wait: Optional[float] = None,
    ) -> Sandbox:
        """Leases the thread's sandbox, which is made if need be. Use it in a ``with`` statement, or
        call ``release``.

        Args:
            thread: its name, ``[A-Za-z0-9_-]{1,64}``; None for an anonymous sandbox, which is
                destroyed on release.
            user: whose thread it is.
            pool: where to make it; default: the pool that holds the thread, or the default pool.
            wait: seconds to wait for room; default: the pool's.

        Raises:
            CapacityExceeded, SandboxRuntime, IdentityCollision, DaemonRestarted.
        """
        return Sandbox(run(self._core.acquire(thread, user, pool, wait)))

    def sandbox(
        self, thread: str, user: str = "default", pool: Optional[str] = None
    ) -> Sandbox:
        """Borrows the thread's sandbox: nothing is leased or sent now; each operation acquires it
        on demand, and it is parked again when that ends (with its session as it was)."""
        return Sandbox(self._core.sandbox(thread, user, pool))

    def get(self, id: str) -> Optional[Dict[str, Any]]:
        """The state of a sandbox by id or unique prefix of at least 8 digits: ``state``,
        ``leases``, ``queue``, ``usage`` and more; None if there is none."""
        return run(self._core.get(id))

    def list(
        self,
        *,
        pool: Optional[str] = None,
        state: Optional[str] = None,
        user: Optional[str] = None,
    ) -> List[Dict[str, Any]]:
        """The sandboxes there are, one dictionary each."""
        return run(self._core.list(pool=pool, state=state, user=user))

    def destroy(self, id: str, force: bool = False, purge: bool = False) -> bool:
        """Ends a sandbox and all its processes.

        Args:
            force: even if work runs in it or others hold leases; they get SandboxLost.
            purge: remove its files as well.

        Raises:
            Busy: it is in use and ``force`` isn't set.
            SandboxNotFound: there is none.
        """
        return run(self._core.destroy(id, force, purge))

    def release_all(self) -> int:
        """Drops every lease of this client; how many there were."""
        return run(self._core.release_all())

    def map(
        self,
        commands: Iterable[Text],
        *,
        thread: Optional[str] = None,
        threads: Optional[Sequence[str]] = None,
        concurrency: int = 8,
        stop_on_error: bool = False,
        user: str = "default",
        pool: Optional[str] = None,
        timeout: Optional[float] = None,
        queue_timeout: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Text] = None,
        key: Optional[str] = None,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
    ) -> Generator[MapResult, None, None]:
        """Runs many commands at once and yields how each ended, as it ends: for pools of subagents.

            for index, command, result in client.map(commands, threads=["a", "b", "c"]):
                print(index, result.output if isinstance(result, corral.ExecResult) else result)

        Command i goes to ``threads[i % len(threads)]``, whose sandbox is borrowed as ``sandbox``
        does; the commands of one thread run one after the other, in order, each once the one before
        has ended. One that fails doesn't end the others. Closing the generator, or dropping it,
        cancels what is open.

        Args:
            commands: read whole at the start.
            thread: where all of them run, or
            threads: the threads they are spread over.
            concurrency: how many may be open at once, at least 1.
            stop_on_error: the first one that ends with an error, after it was yielded, ends all:
                the rest is cancelled or never sent. A non-zero exit is no error.
            key: makes each command at most once: its key is this, ``-`` and its index.

        The other arguments are those of ``Sandbox.execute_command``, the same for each command.

        Raises:
            InvalidRequest: not exactly one of `thread` and `threads` is given.
        """
        return iterate(
            self._core.map(
                commands,
                thread=thread,
                threads=threads,
                concurrency=concurrency,
                stop_on_error=stop_on_error,
                user=user,
                pool=pool,
                timeout=timeout,
                queue_timeout=queue_timeout,
                env=env,
                cwd=cwd,
                stdin=stdin,
                key=key,
                max_output_chars=max_output_chars,
                want=want,
            )
        )

    # The daemon.

    def ping(self) -> Dict[str, Any]:
        """``boot``, which changes whenever the daemon starts, and ``now``, its clock."""
        return run(self._core.ping())

    def reload(self) -> Dict[str, Any]:
        """Has the daemon read its configuration anew: ``applied`` and ``restart`` name the options
        that took effect and those that need a restart. Only over the daemon's socket.

        Raises InvalidRequest with all errors, and nothing changed, if the configuration is not
        valid; Forbidden over TCP."""
        return run(self._core.reload())

    def stats(self) -> Dict[str, Any]:
        """Counters, gauges and latency percentiles; tables among them as ``results``."""
        return run(self._core.stats())

    def cancel(self, request_id: str) -> bool:
        """Cancels an exec of this client that runs or waits, by the ``request_id`` it was given;
        True exactly if that exec's result will say ``cancelled``."""
        return run(self._core.cancel(request_id))

    def result(
        self,
        request_id: Optional[str] = None,
        *,
        key: Optional[str] = None,
        sandbox: Optional[str] = None,
        thread: Optional[str] = None,
        user: str = "default",
        pool: Optional[str] = None,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
    ) -> KeptResult:
        """What became of an exec that was sent before: running, finished with its result, or not
        found. This client asks by itself after a lost connection; ask where a process has ended and
        its successor has to know.

        Args:
            request_id: of an exec of this client, or instead
            key: of an exec in the `sandbox` (an id) or `thread` given, of any client.
            max_output_chars, want: as of ``Sandbox.execute_command``.

        Raises:
            SandboxLost: the sandbox ended; ``details["started"]`` says whether the exec had begun.
            InvalidRequest: it is named in neither way or in both.
            CorralError: the error that the exec ended with.
        """
        return run(
            self._core.result(
                request_id,
                key=key,
                sandbox=sandbox,
                thread=thread,
                user=user,
                pool=pool,
                max_output_chars=max_output_chars,
                want=want,
            )
        )

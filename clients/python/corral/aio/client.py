"""The connection to one daemon, for the tasks of an asyncio loop."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import weakref
from types import TracebackType
from typing import Any, AsyncGenerator, Dict, Iterable, List, Mapping, Optional, Sequence, Type

from .. import _exchange, _wire, errors
from .._connection import Connection
from .._endpoint import as_endpoint, default_endpoint, why_unreachable
from .._keys import keys_for
from .._map import Request, Schedule, lanes_of, run_commands
from .._transfer import Incoming, Text
from .._waiting import Asyncio, Quiet, Waiting
from ..results import KeptResult, Lease, MapResult, ServerInfo
from .sandbox import AsyncSandbox, exec_fields, exec_parts

_clients: "weakref.WeakSet[AsyncClient]" = weakref.WeakSet()
_abandoned: List[Connection] = []  # Of a parent process: never used, closed or collected here.


class AsyncClient:
    """A client of one daemon, as ``corral.Client``, shared by any number of tasks of one loop.

    Use it in ``async with``, which waits for the daemon; without, the first request does.

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

    _waiting: Waiting = Asyncio()

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
        self.endpoint = as_endpoint(endpoint or default_endpoint())
        self._keys = keys_for(self.endpoint, key_file, server_key)
        self._name = name
        self._created_in = os.getpid()
        self._heartbeat = heartbeat
        self._timeout = timeout
        self._lock = threading.Lock()
        self._closed = False
        self._current: Optional[Connection] = None
        _clients.add(self)

    async def __aenter__(self) -> "AsyncClient":
        try:
            await self._connected()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection; open requests of other tasks raise ClientClosed. The daemon ends
        what this client leased after three missed heartbeats: release first, or use ``async with``.
        Closing twice is fine."""
        with self._lock:
            self._closed = True
            connection, self._current = self._current, None
        if connection is not None:
            await self._waiting.call(connection.close)

    @property
    def server(self) -> ServerInfo:
        """What the daemon said when this client last connected. Raises DaemonUnreachable before."""
        info = self._connection().info
        if info is None:
            text = "the client is not connected yet: use it in \"async with\", or send a request"
            raise errors.unreachable(text, endpoint=self.endpoint)
        return info

    # Sandboxes.

    async def acquire(
        self,
        thread: Optional[str] = None,
        user: str = "default",
        pool: Optional[str] = None,
        wait: Optional[float] = None,
    ) -> AsyncSandbox:
        """Leases the thread's sandbox, which is made if need be. Use it in ``async with``, or call
        ``release``. Arguments and errors: ``corral.Client.acquire``."""
        fields = _wire.given(thread=thread, user=user, pool=pool, wait_ms=_wire.milliseconds(wait))
        lease = Lease.from_header((await self._call("acquire", fields)).header)
        return AsyncSandbox(self, {"sandbox": lease.sandbox}, lease.sandbox, lease)

    def sandbox(
        self, thread: str, user: str = "default", pool: Optional[str] = None
    ) -> AsyncSandbox:
        """Borrows the thread's sandbox: nothing is leased or sent now; each operation acquires it
        on demand, and it is parked again when that ends (with its session as it was)."""
        return AsyncSandbox(self, _wire.given(thread=thread, user=user, pool=pool), None, None)

    async def get(self, id: str) -> Optional[Dict[str, Any]]:
        """The state of a sandbox by id or unique prefix of at least 8 digits: ``state``,
        ``leases``, ``queue``, ``usage`` and more; None if there is none."""
        row = await self._fields("get", {"sandbox": id})
        return row if row.get("found", True) else None

    async def list(
        self,
        *,
        pool: Optional[str] = None,
        state: Optional[str] = None,
        user: Optional[str] = None,
    ) -> List[Dict[str, Any]]:
        """The sandboxes there are, one dictionary each."""
        fields = _wire.given(pool=pool, state=state, user=user)
        reply = await self._call("list", fields, timeout=self._timeout)
        return _wire.json_lines(reply.parts().get("results", b""))

    async def destroy(self, id: str, force: bool = False, purge: bool = False) -> bool:
        """Ends a sandbox and all its processes. Arguments and errors: ``corral.Client.destroy``."""
        fields = _wire.given(sandbox=id, force=force or None, purge=purge or None)
        return bool((await self._call("destroy", fields)).header.get("destroyed", False))

    async def release_all(self) -> int:
        """Drops every lease of this client; how many there were."""
        reply = await self._call("release", {"all": True}, timeout=self._timeout)
        return int(reply.header.get("released", 0))

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
    ) -> AsyncGenerator[MapResult, None]:
        """Runs many commands at once and yields how each ended, as it ends; closing the generator
        (``aclose``), or cancelling the task that reads, cancels what is open. Arguments and errors:
        ``corral.Client.map``."""
        all = list(commands)
        lanes = lanes_of(thread, threads)
        if concurrency < 1:
            raise errors.invalid(f"concurrency must be at least 1, not {concurrency}")
        schedule = Schedule(len(all), lanes)

        def request_of(index: int) -> Request:
            target = _wire.given(thread=schedule.lane(index), user=user, pool=pool)
            own_key = None if key is None else f"{key}-{index}"
            fields = exec_fields(timeout, queue_timeout, env, cwd, own_key, max_output_chars, want)
            return {**target, **fields}, exec_parts(all[index], stdin)

        return run_commands(self, all, schedule, request_of, concurrency, stop_on_error)

    # The daemon.

    async def ping(self) -> Dict[str, Any]:
        """``boot``, which changes whenever the daemon starts, and ``now``, its clock."""
        return await self._fields("ping", {})

    async def reload(self) -> Dict[str, Any]:
        """Has the daemon read its configuration anew: ``applied`` and ``restart`` name the options
        that took effect and those that need a restart. Only over the daemon's socket.

        Raises InvalidRequest with all errors, and nothing changed, if the configuration is not
        valid; Forbidden over TCP."""
        reply = await self._call("reload", {}, timeout=self._timeout)
        return {name: reply.header.get(name) for name in ("applied", "restart")}

    async def stats(self) -> Dict[str, Any]:
        """Counters, gauges and latency percentiles; tables among them as ``results``."""
        reply = await self._call("stats", {}, timeout=self._timeout)
        results = reply.parts().get("results")
        rows = {"results": _wire.json_lines(results)} if results else {}
        return {**_wire.without_envelope(reply.header), **rows}

    async def cancel(self, request_id: str) -> bool:
        """Cancels an exec of this client that runs or waits, by the ``request_id`` it was given;
        True exactly if that exec's result will say ``cancelled``."""
        fields = {"request": request_id}
        reply = await self._call("cancel", fields, timeout=self._timeout)
        return bool(reply.header.get("cancelled", False))

    async def result(
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
        """The result of an exec that was sent before, by its `request_id` or by its `key` and where
        it ran. Arguments and errors: ``corral.Client.result``."""
        fields = _wire.given(
            request=request_id,
            key=key,
            sandbox=sandbox,
            thread=thread,
            user=user if thread is not None else None,
            pool=pool,
            max_output_chars=max_output_chars,
            want=list(want) if want is not None else None,
        )
        return KeptResult.from_message(await self._call("result", fields))

    # For this package.

    def _connection(self) -> Connection:
        """The connection, which may still be under way: what is sent waits for it."""
        connection = self._current
        if connection is not None:
            return connection
        with self._lock:
            if self._closed:
                raise errors.closed()
            if self._current is None:
                self._current = Connection(
                    self.endpoint,
                    self._hello(),
                    self._heartbeat,
                    self._timeout,
                    self._waiting.inbox(),
                    self._keys,
                )
                weakref.finalize(self, self._current.close)
            return self._current

    async def _connected(self) -> ServerInfo:
        """Waits for the answer to the hello. Raises what was answered instead, or
        DaemonUnreachable."""
        connection = self._connection()
        if connection.info is not None:
            return connection.info
        try:
            answer = await connection.first_answer.get(self._timeout)
        except Quiet:
            text = why_unreachable(self.endpoint, self._timeout)
            raise errors.unreachable(text, endpoint=self.endpoint) from None
        connection.first_answer.put(answer)  # For whoever else waits.
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _hello(self) -> Dict[str, Any]:
        pid = os.getpid()
        name = self._name
        if name is None:
            name = f"{socket.gethostname()[:64]}-{pid}-{secrets.token_hex(4)}"
        elif pid != self._created_in:
            name = f"{name}-{pid}"
        heartbeat_ms = _wire.milliseconds(self._heartbeat)
        return {"client": name, "instance": secrets.token_hex(16), "heartbeat_ms": heartbeat_ms}

    def _after_fork(self) -> None:
        # The parent's connection, and a lock that another thread may have held, are not ours.
        self._lock = threading.Lock()
        if self._current is not None:
            _abandoned.append(self._current)
            self._current = None

    async def _call(
        self,
        op: str,
        fields: Dict[str, Any],
        parts: _wire.Parts = (),
        *,
        timeout: Optional[float] = None,
        into: Optional[Incoming] = None,
    ) -> _wire.Message:
        connection = self._connection()
        call = connection.start(op, fields, parts, self._waiting.inbox())
        return await _exchange.finish(connection, call, self._waiting, into, timeout)

    async def _fields(self, op: str, fields: Dict[str, Any]) -> Dict[str, Any]:
        reply = await self._call(op, fields, timeout=self._timeout)
        return _wire.without_envelope(reply.header)


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client._after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)

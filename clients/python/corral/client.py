"""The connection to one daemon, shared by any number of threads."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import weakref
from types import TracebackType
from typing import Any, Dict, List, Optional, Type

from . import _exchange, _wire, errors
from ._connection import Connection
from ._endpoint import as_endpoint, default_endpoint
from ._keys import keys_for
from .results import Lease, ServerInfo
from .sandbox import Sandbox

_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()
_abandoned: List[Connection] = []  # Of a parent process: never used, closed or collected here.


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
        self.endpoint = as_endpoint(endpoint or default_endpoint())
        self._keys = keys_for(self.endpoint, key_file, server_key)
        self._name = name
        self._created_in = os.getpid()
        self._heartbeat = heartbeat
        self._timeout = timeout
        self._lock = threading.Lock()
        self._closed = False
        self._current: Optional[Connection] = None
        self._connection()
        _clients.add(self)

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
        with self._lock:
            self._closed = True
            connection, self._current = self._current, None
        if connection is not None:
            connection.close()

    @property
    def server(self) -> ServerInfo:
        """What the daemon said when this client last connected."""
        info = self._connection().info
        assert info is not None  # It is there once a connection was ready.
        return info

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
        fields = _wire.given(thread=thread, user=user, pool=pool, wait_ms=_wire.milliseconds(wait))
        lease = Lease.from_header(self._call("acquire", fields).header)
        return Sandbox(self, {"sandbox": lease.sandbox}, lease.sandbox, lease)

    def sandbox(
        self, thread: str, user: str = "default", pool: Optional[str] = None
    ) -> Sandbox:
        """Borrows the thread's sandbox: nothing is leased or sent now; each operation acquires it
        on demand, and it is parked again when that ends (with its session as it was)."""
        return Sandbox(self, _wire.given(thread=thread, user=user, pool=pool), None, None)

    def get(self, id: str) -> Optional[Dict[str, Any]]:
        """The state of a sandbox by id or unique prefix of at least 8 digits: ``state``,
        ``leases``, ``queue``, ``usage`` and more; None if there is none."""
        row = self._fields("get", {"sandbox": id})
        return row if row.get("found", True) else None

    def list(
        self,
        *,
        pool: Optional[str] = None,
        state: Optional[str] = None,
        user: Optional[str] = None,
    ) -> List[Dict[str, Any]]:
        """The sandboxes there are, one dictionary each."""
        fields = _wire.given(pool=pool, state=state, user=user)
        reply = self._call("list", fields, timeout=self._timeout)
        return _wire.json_lines(reply.parts().get("results", b""))

    def destroy(self, id: str, force: bool = False, purge: bool = False) -> bool:
        """Ends a sandbox and all its processes.

        Args:
            force: even if work runs in it or others hold leases; they get SandboxLost.
            purge: remove its files as well.

        Raises:
            Busy: it is in use and ``force`` isn't set.
            SandboxNotFound: there is none.
        """
        fields = _wire.given(sandbox=id, force=force or None, purge=purge or None)
        return bool(self._call("destroy", fields).header.get("destroyed", False))

    def release_all(self) -> int:
        """Drops every lease of this client; how many there were."""
        reply = self._call("release", {"all": True}, timeout=self._timeout)
        return int(reply.header.get("released", 0))

    # The daemon.

    def ping(self) -> Dict[str, Any]:
        """``boot``, which changes whenever the daemon starts, and ``now``, its clock."""
        return self._fields("ping", {})

    def stats(self) -> Dict[str, Any]:
        """Counters, gauges and latency percentiles; tables among them as ``results``."""
        reply = self._call("stats", {}, timeout=self._timeout)
        results = reply.parts().get("results")
        rows = {"results": _wire.json_lines(results)} if results else {}
        return {**_wire.without_envelope(reply.header), **rows}

    def cancel(self, request_id: str) -> bool:
        """Cancels an exec of this client that runs or waits, by the ``request_id`` it was given;
        True exactly if that exec's result will say ``cancelled``."""
        fields = {"request": request_id}
        reply = self._call("cancel", fields, timeout=self._timeout)
        return bool(reply.header.get("cancelled", False))

    # For this package.

    def _connection(self) -> Connection:
        connection = self._current
        if connection is not None:
            return connection
        with self._lock:
            if self._closed:
                raise errors.closed()
            if self._current is None:
                self._current = self._connect()
            return self._current

    def _connect(self) -> Connection:
        connection = Connection(
            self.endpoint, self._hello(), self._heartbeat, self._timeout, self._keys
        )
        try:
            connection.wait_ready()
        except BaseException:
            connection.close()
            raise
        weakref.finalize(self, connection.close)
        return connection

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

    def _call(
        self,
        op: str,
        fields: Dict[str, Any],
        parts: _wire.Parts = (),
        *,
        timeout: Optional[float] = None,
        sink: Optional[_exchange.Sink] = None,
    ) -> _wire.Message:
        connection = self._connection()
        call = connection.start(op, fields, parts)
        return _exchange.finish(connection, call, sink, timeout)

    def _fields(self, op: str, fields: Dict[str, Any]) -> Dict[str, Any]:
        return _wire.without_envelope(self._call(op, fields, timeout=self._timeout).header)


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client._after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)

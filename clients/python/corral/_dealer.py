"""The ZeroMQ socket to the daemon. Only the thread that made it may use it."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

import zmq
from zmq.utils.monitor import recv_monitor_message

from . import _wire
from ._keys import Keys

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  #: seconds between attempts to connect


class Dealer:
    """A DEALER socket that connects in the background and tells when the other side closed.

    Queues are unbounded both ways: how much is under way is bounded by the requests that are open.

    Raises ValueError if the endpoint is none.
    """

    def __init__(
        self, context: zmq.Context, endpoint: str, keys: Optional[Keys] = None
    ) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.sndhwm = self._socket.rcvhwm = 0
        self._socket.reconnect_ivl = int(FIRST_PAUSE * 1000)
        self._socket.reconnect_ivl_max = int(LONGEST_PAUSE * 1000)
        self._monitor = self._socket.get_monitor_socket(
            zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
        )
        self._socket.ipv6 = "[" in endpoint
        try:
            if keys is not None:
                self._socket.curve_publickey = keys.public.encode()
                self._socket.curve_secretkey = keys.secret.encode()
                self._socket.curve_serverkey = keys.server.encode()
            self._socket.connect(endpoint)
        except zmq.ZMQError as fault:
            self.close()
            raise ValueError(f"{endpoint!r} is no usable endpoint: {fault}") from None

    def poller(self, wake: int) -> zmq.Poller:
        """Waits for this socket, its end, and the descriptor `wake`."""
        poller = zmq.Poller()
        for x in (wake, self._socket, self._monitor):
            poller.register(x, zmq.POLLIN)
        return poller

    def send(self, header: bytes, payload: _wire.Bytes = b"") -> None:
        frames: Sequence[_wire.Bytes] = [_wire.VERSION, header]
        self._socket.send_multipart([*frames, payload] if payload else frames)

    def messages(self) -> Iterator[_wire.Message]:
        """What has arrived; frames that are no message are skipped."""
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                message = _wire.decode(frames)
            except ValueError:
                continue
            yield message

    def end(self) -> Optional[str]:
        """What happened, once after the other side closed: ``closed``, or ``refused`` if it doesn't
        know this client's key. What arrived before can still be read."""
        if not self._monitor.poll(0):
            return None
        event = recv_monitor_message(self._monitor)["event"]
        return "refused" if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH else "closed"

    def close(self) -> None:
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(0)

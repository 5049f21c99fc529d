"""One request from its start to its final reply, payloads larger than a message included."""

from __future__ import annotations

from typing import Dict, Optional

from . import _wire, errors
from ._connection import Call, Connection
from ._endpoint import why_unreachable
from ._transfer import Incoming, Outgoing
from ._waiting import Quiet, Waiting


def checked(reply: _wire.Message) -> _wire.Message:
    """A successful final reply; raises the error of another."""
    if reply.header.get("ok") is not True:
        raise errors.from_wire(reply.header.get("error"))
    return reply


def acknowledge(connection: Connection, call: Call, chunk: _wire.Message) -> None:
    """Tells the daemon that a chunk was consumed, so that more may follow."""
    seq = chunk.header.get("seq", 0)
    connection.post({"op": "ack", "re": chunk.header["re"], "seq": seq}, call=call)


class Reply:
    """Puts a reply together that may come in chunks; given an `Incoming`, its content goes there
    instead, piece by piece and in order."""

    def __init__(self, into: Optional[Incoming] = None) -> None:
        self._into = into
        self._pieces: Dict[str, bytearray] = {}
        self._received: Dict[str, int] = {}

    def take(self, message: _wire.Message) -> Optional[_wire.Message]:
        """The whole reply once its last message is taken. Raises the error that it is."""
        event = message.header.get("event")
        if event is None:
            return self._finish(checked(message))
        if event == "chunk":
            self._take_chunk(message)
        elif event == "resent":  # By the link, to the next daemon: it begins anew.
            self._restart()
        return None

    def _restart(self) -> None:
        self._pieces.clear()
        self._received.clear()
        if self._into is not None and not self._into.restart():
            text = "the connection was lost, and the file object can't be set back to its start"
            raise errors.restarted(text, started="unknown")

    def _take_chunk(self, chunk: _wire.Message) -> None:
        stream = str(chunk.header.get("stream"))
        expected = self._received.get(stream, 0)
        if chunk.header.get("offset", expected) != expected:
            raise errors.internal(
                f"a chunk of {stream!r} at {chunk.header['offset']} came where {expected} was due"
            )
        self._received[stream] = expected + len(chunk.payload)
        if self._into is not None and stream == "content":
            self._into.write(chunk.payload)
        else:
            self._pieces.setdefault(stream, bytearray()).extend(chunk.payload)

    def _finish(self, reply: _wire.Message) -> _wire.Message:
        if self._received:
            parts = {**reply.parts(), **self._pieces}
            sizes = [[name, len(data)] for name, data in parts.items()]
            return _wire.Message({**reply.header, "parts": sizes}, b"".join(parts.values()))
        content = reply.parts().get("content", b"") if self._into is not None else b""
        if self._into is not None and content:
            self._into.write(content)
        return reply


async def finish(
    connection: Connection,
    call: Call,
    waiting: Waiting,
    into: Optional[Incoming] = None,
    timeout: Optional[float] = None,
) -> _wire.Message:
    """Waits for the final reply.

    Raises the error of the reply, or DaemonUnreachable after `timeout` seconds without any message.
    """
    reply = Reply(into)
    try:
        while True:
            message = await call.next(timeout)
            if into is None:
                whole = reply.take(message)
            else:
                whole = await waiting.call(reply.take, message)
            if whole is not None:
                return whole
            if message.header["event"] == "chunk":
                acknowledge(connection, call, message)
    except Quiet:
        connection.forget(call)
        text = why_unreachable(connection.endpoint, timeout or 0.0)
        raise errors.unreachable(text, endpoint=connection.endpoint) from None
    except BaseException:
        connection.forget(call)
        raise


async def upload(
    connection: Connection, call: Call, waiting: Waiting, source: Outgoing
) -> _wire.Message:
    """Sends the content of a request that stated its size, as the daemon grants credit, and waits
    for the final reply. Raises its error, or InvalidRequest if the source holds fewer bytes."""
    seq = credit = 0
    final = False
    try:
        while True:
            message = await call.next()
            event = message.header.get("event")
            final = event is None
            if final:
                return checked(message)
            if event != "credit":
                continue
            credit += int(message.header.get("bytes", 0))
            while credit > 0 and not source.done:
                piece = await waiting.call(source.read, min(_wire.DATA_BYTES, credit))
                credit -= len(piece)
                connection.post(_data(call, seq, eof=source.done), piece, call)
                seq += 1
    except BaseException:
        connection.forget(call)
        if not final:  # An early end: the daemon need not wait for what will never come.
            connection.post(_data(call, seq, eof=True))
        raise


def _data(call: Call, seq: int, eof: bool) -> _wire.Header:
    return {"op": "data", "re": call.id, "seq": seq, "eof": eof}

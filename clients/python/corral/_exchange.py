"""One request from its start to its final reply, payloads larger than a message included."""

from __future__ import annotations

import queue
from typing import Any, Callable, Dict, Optional

from . import _wire, errors
from ._connection import Call, Connection
from ._transfer import Outgoing

Sink = Callable[[bytes], Any]


def checked(reply: _wire.Message) -> _wire.Message:
    """A successful final reply; raises the error of another."""
    if reply.header.get("ok") is not True:
        raise errors.from_wire(reply.header.get("error"))
    return reply


def acknowledge(connection: Connection, call: Call, chunk: _wire.Message) -> None:
    """Tells the daemon that a chunk was consumed, so that more may follow."""
    seq = chunk.header.get("seq", 0)
    connection.post({"op": "ack", "re": call.id, "seq": seq}, call=call)


def finish(
    connection: Connection, call: Call, sink: Optional[Sink] = None, timeout: Optional[float] = None
) -> _wire.Message:
    """Waits for the final reply. A reply that came in chunks is put together; with a sink, its
    content goes there instead, piece by piece and in order.

    Raises the error of the reply, or DaemonUnreachable after `timeout` seconds without any message.
    """
    pieces: Dict[str, bytearray] = {}
    received: Dict[str, int] = {}
    try:
        while True:
            message = call.next(timeout)
            event = message.header.get("event")
            if event is None:
                break
            if event == "chunk":
                _take_chunk(message, pieces, received, sink)
                acknowledge(connection, call, message)
    except queue.Empty:
        connection.forget(call)
        raise errors.unreachable(f"the daemon gave no answer within {timeout:g} s") from None
    except BaseException:
        connection.forget(call)
        raise
    reply = checked(message)
    return _with_chunks(reply, pieces) if received else _into(sink, reply)


def _take_chunk(
    chunk: _wire.Message,
    pieces: Dict[str, bytearray],
    received: Dict[str, int],
    sink: Optional[Sink],
) -> None:
    stream = str(chunk.header.get("stream"))
    expected = received.get(stream, 0)
    if chunk.header.get("offset", expected) != expected:
        raise errors.internal(
            f"a chunk of {stream!r} at {chunk.header['offset']} came where {expected} was due"
        )
    received[stream] = expected + len(chunk.payload)
    if sink is not None and stream == "content":
        sink(chunk.payload)
    else:
        pieces.setdefault(stream, bytearray()).extend(chunk.payload)


def _with_chunks(reply: _wire.Message, pieces: Dict[str, bytearray]) -> _wire.Message:
    parts = {**reply.parts(), **pieces}
    sizes = [[name, len(data)] for name, data in parts.items()]
    return _wire.Message({**reply.header, "parts": sizes}, b"".join(parts.values()))


def _into(sink: Optional[Sink], reply: _wire.Message) -> _wire.Message:
    if sink is not None:
        content = reply.parts().get("content", b"")
        if content:
            sink(content)
    return reply


def upload(connection: Connection, call: Call, source: Outgoing) -> _wire.Message:
    """Sends the content of a request that stated its size, as the daemon grants credit, and waits
    for the final reply. Raises its error, or InvalidRequest if the source holds fewer bytes."""
    seq = credit = 0
    final = False
    try:
        while True:
            message = call.next()
            event = message.header.get("event")
            final = event is None
            if final:
                return checked(message)
            if event != "credit":
                continue
            credit += int(message.header.get("bytes", 0))
            while credit > 0 and not source.done:
                piece = source.read(min(_wire.DATA_BYTES, credit))
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

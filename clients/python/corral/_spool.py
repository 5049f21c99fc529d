"""Payloads that wait for their reader, in bounded memory."""

from __future__ import annotations

import os
import tempfile
import threading
from typing import Optional, Union

from ._wire import Message

SPOOL_BYTES = 8 * 1024 * 1024  #: of payloads that wait in memory, for one call


class Spooled:
    """A message whose payload waits in the spool's file."""

    __slots__ = ("header", "offset", "size")

    def __init__(self, message: Message, offset: int) -> None:
        self.header = message.header
        self.offset = offset
        self.size = len(message.payload)


class Spool:
    """What arrives faster than it is read waits in memory up to `limit` bytes and, beyond, in a
    nameless temporary file. One thread puts, another takes, in the same order.

    The daemon sends a file as fast as the socket takes it, so a slow disk would else have all of it
    wait in memory.
    """

    def __init__(self, limit: int = SPOOL_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._in_memory = 0
        self._in_file = 0
        self._end = 0
        self._file: Optional[int] = None

    def put(self, message: Message) -> Union[Message, Spooled]:
        """What to hand to ``take``. Raises OSError if the temporary file can't be written."""
        size = len(message.payload)
        with self._lock:
            if self._in_memory + size <= self._limit:
                self._in_memory += size
                return message
            if self._file is None:
                with tempfile.TemporaryFile(prefix="corral-") as file:
                    self._file = os.dup(file.fileno())
            if self._in_file == 0:
                self._end = 0
            kept = Spooled(message, self._end)
            _write_all(self._file, message.payload, kept.offset)
            self._end += size
            self._in_file += size
            return kept

    def take(self, kept: Union[Message, Spooled]) -> Message:
        """The message that was put."""
        with self._lock:
            if isinstance(kept, Message):
                self._in_memory -= len(kept.payload)
                return kept
            assert self._file is not None  # It holds this payload.
            self._in_file -= kept.size
            return Message(kept.header, _read_all(self._file, kept.size, kept.offset))

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)


def _write_all(file: int, data: bytes, offset: int) -> None:
    rest = memoryview(data)
    while rest:
        count = os.pwrite(file, rest, offset)
        rest, offset = rest[count:], offset + count


def _read_all(file: int, size: int, offset: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.pread(file, size - len(data), offset + len(data))
        if not piece:
            raise OSError("the temporary file of a download became shorter")
        data += piece
    return bytes(data)

"""The local end of a file transfer."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from typing import Any, BinaryIO, Callable, Iterator, Optional, Union

from . import _wire, errors
from ._wire import to_bytes

Text = Union[str, bytes, bytearray, memoryview]
Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[int, Optional[int]], Any]  #: bytes done; of how many, None while not known

STREAMED_BYTES = 1024 * 1024  #: an upload of more is sent in pieces


class Incoming:
    """Takes the bytes of a download: writes and counts them, and knows their checksum.

    Args:
        out: a file object opened for writing bytes.
        progress: called after each piece, and with the total at the end.
    """

    def __init__(self, out: BinaryIO, progress: Optional[Progress] = None) -> None:
        self._out = out
        self._progress = progress
        self._start = _position(out)
        self.count = 0
        self._digest = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        self._digest.update(piece)
        _write_all(self._out, piece)
        self.count += len(piece)
        if self._progress is not None:
            self._progress(self.count, None)

    def restart(self) -> bool:
        """Makes ready for the first byte again; False if the file object can't be set back."""
        if self.count > 0:
            if self._start is None:
                return False
            self._out.seek(self._start)
            self._out.truncate()
        self.count = 0
        self._digest = hashlib.sha256()
        return True

    def check(self, path: str, reply: _wire.Header, whole: bool) -> None:
        """Raises Internal if these are not the bytes that the sandbox has sent.

        Args:
            whole: all of the file was asked for, not a range.
        """
        size, digest = reply.get("size"), reply.get("sha256")
        if whole and size is not None and size != self.count:
            raise errors.internal(f"{path}: {self.count} of {size} bytes were received")
        if whole and digest is not None and digest != self._digest.hexdigest():
            raise errors.internal(f"{path}: the bytes received have another checksum")
        if self._progress is not None:
            self._progress(self.count, self.count)


def _write_all(out: BinaryIO, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        count = out.write(rest)
        if not isinstance(out, io.RawIOBase):
            return  # Only raw file objects may take less than all.
        if count is None:
            raise BlockingIOError("the file object to download to takes no bytes now")
        rest = rest[count:]


def _position(file: BinaryIO) -> Optional[int]:
    """Where a file object stands; None if it can't be set back there."""
    try:
        return file.seek(0, os.SEEK_CUR)
    except (AttributeError, OSError):
        return None


@contextlib.contextmanager
def opened_to_write(to: Union[Path, BinaryIO]) -> Iterator[BinaryIO]:
    """A file object to write to. Where `to` is a path, the file is replaced at the end, and not at
    all after an error."""
    if not isinstance(to, (str, os.PathLike)):
        yield to
        return
    path = os.path.realpath(to)  # A link's target is replaced, not the link.
    out = tempfile.NamedTemporaryFile(
        dir=os.path.dirname(path), prefix=".corral-", delete=False
    )
    try:
        with out:
            yield out  # type: ignore[misc]
        os.chmod(out.name, _mode_for(path))
        os.replace(out.name, path)
    except BaseException:
        os.unlink(out.name)
        raise


def _mode_for(path: str) -> int:
    """The permissions of the file that is there, or those that a new one would get."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


@contextlib.contextmanager
def opened_to_read(content: Union[Path, BinaryIO]) -> Iterator[BinaryIO]:
    """A file object to read from; a path's is closed at the end."""
    if isinstance(content, (str, os.PathLike)):
        with open(content, "rb") as file:
            yield file
    else:
        yield content


class Outgoing:
    """Gives the bytes of an upload.

    Args:
        progress: called after each piece.
    """

    def __init__(
        self, content: Union[Text, BinaryIO], progress: Optional[Progress] = None
    ) -> None:
        """Raises InvalidRequest for a file object that can't be asked how much it holds."""
        if isinstance(content, (str, bytes, bytearray, memoryview)):
            data = to_bytes(content)
            content, self.size = io.BytesIO(data), len(data)
        else:
            self.size = _rest_of(content)
        self._source = content
        self._progress = progress
        self._sent = 0

    def read(self, count: int) -> bytes:
        """Up to `count` bytes. Raises InvalidRequest where fewer are left than there were."""
        piece = self._source.read(min(count, self.size - self._sent))
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise errors.invalid("the source gives text and not bytes: open it in binary mode")
        if not piece and self._sent < self.size:
            raise errors.invalid(f"the source ended after {self._sent} of {self.size} bytes")
        self._sent += len(piece)
        if self._progress is not None:
            self._progress(self._sent, self.size)
        return piece

    def read_all(self) -> bytes:
        """All of it at once, for what fits into one message."""
        pieces = []
        while self._sent < self.size or (self.size == 0 and not pieces):
            pieces.append(self.read(self.size))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def done(self) -> bool:
        return self._sent == self.size


def _rest_of(source: BinaryIO) -> int:
    start = _position(source)
    if start is None:
        raise errors.invalid(
            "the file object to upload can't be rewound, so its size is not known;"
            " read it into bytes or a temporary file first"
        )
    size = source.seek(0, os.SEEK_END) - start
    source.seek(start)
    return max(size, 0)

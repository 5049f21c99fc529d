"""The file operations of a sandbox."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, Optional, Tuple, Union

from . import _exchange, _wire, errors
from ._wire import given, milliseconds, to_bytes
from .results import Entry, GlobResult, GrepResult, Listing, Match, text_of

if TYPE_CHECKING:
    from .client import Client

Text = Union[str, bytes, bytearray, memoryview]
Path = Union[str, "os.PathLike[str]"]


class FileOperations:
    """What ``Sandbox`` does with files. Each takes `timeout`: seconds it may work, default 60."""

    def __init__(self, client: "Client", target: Dict[str, Any]) -> None:
        self._client = client
        self._target = target

    def read_file(
        self,
        path: str,
        *,
        start_line: Optional[int] = None,
        end_line: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """The text of a file, or its lines from start_line to end_line (from 1, both included).

        Raises:
            FileNotFound, IsADirectory, NotText, FileTooLarge, PermissionDenied.
        """
        fields = given(
            path=path, start_line=start_line, end_line=end_line, timeout_ms=milliseconds(timeout)
        )
        return text_of(self._call("read_file", fields))

    def download_file(
        self,
        path: str,
        to: Union[None, Path, BinaryIO] = None,
        *,
        offset: Optional[int] = None,
        length: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Union[bytes, int]:
        """The exact bytes of a file, or of a range of it, of at most the daemon's transfer limit
        (100 MiB by default).

        Args:
            to: where to write them: a path, which is replaced only once all is there, or a file
                object opened for writing bytes; None to return them.

        Returns:
            The bytes; with `to`, how many there were.

        Raises:
            FileNotFound, IsADirectory, FileTooLarge, PermissionDenied; Internal if the checksum of
            a whole file is not the one that the sandbox computed.
        """
        fields = given(
            path=path, offset=offset, length=length, timeout_ms=milliseconds(timeout)
        )
        verify = offset is None and length is None
        if to is None:
            buffer = io.BytesIO()
            self._download(fields, buffer, verify)
            return buffer.getvalue()
        if not isinstance(to, (str, os.PathLike)):
            return self._download(fields, to, verify)
        directory = os.path.dirname(os.path.abspath(to))
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".corral-", delete=False) as out:
            try:
                count = self._download(fields, out, verify)  # type: ignore[arg-type]
                out.close()
                os.replace(out.name, to)
            except BaseException:
                os.unlink(out.name)
                raise
        return count

    def write_file(
        self,
        path: str,
        content: Union[Text, BinaryIO],
        *,
        append: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Writes a file, whole or not at all, making its directories.

        Args:
            content: text (written as UTF-8), bytes, or a seekable file object opened for reading
                bytes, sent from where it stands to its end. Up to the daemon's transfer limit
                (100 MiB by default).
            append: add to the end instead.

        Returns:
            How many bytes were written.

        Raises:
            IsADirectory, PermissionDenied, ReadOnly, NoSpace, FileTooLarge.
        """
        fields = given(path=path, append=append or None, timeout_ms=milliseconds(timeout))
        return self._send_content("write_file", fields, content)

    def update_file(
        self, path: str, content: Union[Text, BinaryIO], *, timeout: Optional[float] = None
    ) -> int:
        """Replaces the content of a file, keeping its mode and owner; makes it if there is none.

        Arguments, result and errors are those of ``write_file``.
        """
        fields = given(path=path, timeout_ms=milliseconds(timeout))
        return self._send_content("update_file", fields, content)

    def str_replace(
        self,
        path: str,
        old: Text,
        new: Text,
        *,
        replace_all: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Replaces `old`, which must stand exactly once in the file unless replace_all is set; how
        many were replaced.

        Raises:
            MatchNotFound, MatchNotUnique, FileNotFound, NotText.
        """
        fields = given(
            path=path, replace_all=replace_all or None, timeout_ms=milliseconds(timeout)
        )
        parts = [("old", to_bytes(old)), ("new", to_bytes(new))]
        return int(self._call("str_replace", fields, parts).header.get("replacements", 0))

    def list_dir(
        self,
        path: str = ".",
        *,
        max_depth: int = 2,
        all: bool = False,
        timeout: Optional[float] = None,
    ) -> Listing:
        """The entries below a directory, max_depth (1 to 64) levels deep: a list that also says
        whether it is ``truncated``.

        Args:
            all: also what is usually of no interest, such as .git and node_modules.

        Raises:
            FileNotFound, NotADirectory, PermissionDenied.
        """
        fields = given(
            path=path, max_depth=max_depth, all=all or None, timeout_ms=milliseconds(timeout)
        )
        header, rows = self._rows("list_dir", fields)
        entries = (Entry(x["path"].rstrip("/"), x["type"], x.get("size")) for x in rows)
        return Listing(entries, is_truncated(header))

    def glob(
        self,
        path: str,
        pattern: str,
        *,
        include_dirs: bool = False,
        max_results: int = 200,
        all: bool = False,
        timeout: Optional[float] = None,
    ) -> GlobResult:
        """The paths below `path` that match a pattern with ``*``, ``?``, ``[]`` and ``**``.

        Args:
            max_results: up to 100,000.

        Raises:
            InvalidPattern, FileNotFound, NotADirectory.
        """
        fields = given(
            path=path,
            pattern=pattern,
            include_dirs=include_dirs or None,
            max_results=max_results,
            all=all or None,
            timeout_ms=milliseconds(timeout),
        )
        header, rows = self._rows("glob", fields)
        return GlobResult([x["path"] for x in rows], is_truncated(header))

    def grep(
        self,
        path: str,
        pattern: str,
        *,
        glob: Optional[str] = None,
        literal: bool = False,
        case_sensitive: bool = False,
        max_results: int = 100,
        all: bool = False,
        timeout: Optional[float] = None,
    ) -> GrepResult:
        """The lines below `path` that match a regular expression (RE2).

        Args:
            glob: only in files whose path matches it.
            literal: `pattern` is plain text.
            max_results: up to 100,000.

        Raises:
            InvalidPattern, FileNotFound.
        """
        fields = given(
            path=path,
            pattern=pattern,
            glob=glob,
            literal=literal or None,
            case_sensitive=case_sensitive or None,
            max_results=max_results,
            all=all or None,
            timeout_ms=milliseconds(timeout),
        )
        header, rows = self._rows("grep", fields)
        return GrepResult(
            [Match(x["path"], x["line_number"], x["line"]) for x in rows],
            is_truncated(header),
            header.get("skipped_files", 0),
            header.get("skipped_lines", 0),
        )

    def _call(self, op: str, fields: Dict[str, Any], parts: _wire.Parts = ()) -> _wire.Message:
        return self._client._call(op, {**self._target, **fields}, parts)

    def _rows(self, op: str, fields: Dict[str, Any]) -> Tuple[_wire.Header, List[_wire.Header]]:
        reply = self._call(op, fields)
        return reply.header, _wire.json_lines(reply.parts().get("results", b""))

    def _download(self, fields: Dict[str, Any], out: BinaryIO, verify: bool) -> int:
        digest = hashlib.sha256()
        count = 0

        def take(piece: bytes) -> None:
            nonlocal count
            count += len(piece)
            digest.update(piece)
            out.write(piece)

        fields = {**self._target, **fields}
        reply = self._client._call("download_file", fields, sink=take)
        stated = reply.header.get("sha256")
        if verify and stated is not None and stated != digest.hexdigest():
            raise errors.internal(f"{fields['path']}: the bytes received have another checksum")
        return count

    def _send_content(
        self, op: str, fields: Dict[str, Any], content: Union[Text, BinaryIO]
    ) -> int:
        source, size = source_of(content)
        fields = {**self._target, **fields}
        if size <= _wire.MAX_PAYLOAD:
            reply = self._client._call(op, fields, [("content", source.read(size))])
        else:
            connection = self._client._connection()
            call = connection.start(op, {**fields, "size": size})
            reply = _exchange.upload(connection, call, source, size)
        return int(reply.header.get("bytes", size))


def is_truncated(header: _wire.Header) -> bool:
    return header.get("truncated") is True


def source_of(content: Union[Text, BinaryIO]) -> Tuple[BinaryIO, int]:
    """Where to read content from, and how many bytes of it there are."""
    if isinstance(content, (str, bytes, bytearray, memoryview)):
        data = to_bytes(content)
        return io.BytesIO(data), len(data)
    start = content.tell()
    size = content.seek(0, os.SEEK_END) - start
    content.seek(start)
    return content, size

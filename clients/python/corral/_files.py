"""The file operations of a sandbox."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, Optional, Tuple, Union

from . import _exchange, _wire
from ._transfer import (
    STREAMED_BYTES,
    Incoming,
    Outgoing,
    Path,
    Progress,
    Text,
    opened_to_read,
    opened_to_write,
)
from ._wire import given, milliseconds, to_bytes
from .results import Entry, GlobResult, GrepResult, Listing, Match, text_of

if TYPE_CHECKING:
    from .client import Client


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
        if to is None:
            buffer = io.BytesIO()
            self._download(fields, buffer)
            return buffer.getvalue()
        with opened_to_write(to) as out:
            return self._download(fields, out)

    def download(
        self,
        path: str,
        to: Union[Path, BinaryIO],
        *,
        progress: Optional[Progress] = None,
        timeout: Optional[float] = None,
    ) -> int:
        """Copies a file of the sandbox to a local one, piece by piece: a few MiB of memory whatever
        its size, up to the daemon's transfer limit (100 MiB by default). Its size and SHA-256 are
        compared with what the sandbox has read.

        Args:
            to: a local path, which is replaced only once all is there and right, or a file object
                opened for writing bytes, which after an error may have got a part.
            progress: called as progress(done, total), in bytes; the total is None until the end.

        Returns:
            How many bytes there were.

        Raises:
            FileNotFound, IsADirectory, FileTooLarge, PermissionDenied; Internal if the bytes are
            not those that were sent; OSError for the local file.
        """
        fields = given(path=path, timeout_ms=milliseconds(timeout))
        with opened_to_write(to) as out:
            return self._download(fields, out, progress)

    def upload(
        self,
        source: Union[Path, BinaryIO],
        path: str,
        *,
        progress: Optional[Progress] = None,
        timeout: Optional[float] = None,
    ) -> int:
        """Copies a local file into the sandbox, piece by piece, whole or not at all, making its
        directories: a few MiB of memory whatever its size, up to the daemon's transfer limit.

        Args:
            source: a local path, or a seekable file object opened for reading bytes, sent from
                where it stands to its end.
            progress: called as progress(done, total), in bytes.

        Returns:
            How many bytes were written.

        Raises:
            IsADirectory, PermissionDenied, ReadOnly, NoSpace, FileTooLarge; OSError for the local
            file.
        """
        fields = given(path=path, timeout_ms=milliseconds(timeout))
        with opened_to_read(source) as file:
            return self._send("write_file", fields, Outgoing(file, progress), STREAMED_BYTES)

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
        return self._send("write_file", fields, Outgoing(content), _wire.MAX_PAYLOAD)

    def update_file(
        self, path: str, content: Union[Text, BinaryIO], *, timeout: Optional[float] = None
    ) -> int:
        """Replaces the content of a file, keeping its mode and owner; makes it if there is none.

        Arguments, result and errors are those of ``write_file``.
        """
        fields = given(path=path, timeout_ms=milliseconds(timeout))
        return self._send("update_file", fields, Outgoing(content), _wire.MAX_PAYLOAD)

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

    def _download(
        self, fields: Dict[str, Any], out: BinaryIO, progress: Optional[Progress] = None
    ) -> int:
        incoming = Incoming(out, progress)
        fields = {**self._target, **fields}
        reply = self._client._call("download_file", fields, sink=incoming.write)
        whole = not fields.keys() & {"offset", "length"}
        incoming.check(fields["path"], reply.header, whole)
        return incoming.count

    def _send(self, op: str, fields: Dict[str, Any], content: Outgoing, at_once: int) -> int:
        """Sends content in one message if it has at most `at_once` bytes, else in pieces."""
        fields = {**self._target, **fields}
        if content.size <= at_once:
            reply = self._client._call(op, fields, [("content", content.read_all())])
        else:
            connection = self._client._connection()
            call = connection.start(op, {**fields, "size": content.size})
            reply = _exchange.upload(connection, call, content)
        return int(reply.header.get("bytes", content.size))


def is_truncated(header: _wire.Header) -> bool:
    return header.get("truncated") is True

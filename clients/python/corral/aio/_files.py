"""The file operations of a sandbox."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, Optional, Tuple, Union

from .. import _exchange, _wire
from .._transfer import (
    STREAMED_BYTES,
    Incoming,
    Outgoing,
    Path,
    Progress,
    Text,
    opened_to_read,
    opened_to_write,
)
from .._wire import given, milliseconds, to_bytes
from ..results import Entry, GlobResult, GrepResult, Listing, Match, text_of

if TYPE_CHECKING:
    from .client import AsyncClient


class AsyncFileOperations:
    """What ``AsyncSandbox`` does with files. Each takes `timeout`: seconds it may work, default 60.

    Arguments, results and errors are those of the method of the same name of ``corral.Sandbox``.
    """

    def __init__(self, client: "AsyncClient", target: Dict[str, Any]) -> None:
        self._client = client
        self._target = target

    async def read_file(
        self,
        path: str,
        *,
        start_line: Optional[int] = None,
        end_line: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """The text of a file, or its lines from start_line to end_line (from 1, both included)."""
        fields = given(
            path=path, start_line=start_line, end_line=end_line, timeout_ms=milliseconds(timeout)
        )
        return text_of(await self._call("read_file", fields))

    async def download_file(
        self,
        path: str,
        to: Union[None, Path, BinaryIO] = None,
        *,
        offset: Optional[int] = None,
        length: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Union[bytes, int]:
        """The exact bytes of a file, or of a range; with `to`, how many were written there."""
        fields = given(
            path=path, offset=offset, length=length, timeout_ms=milliseconds(timeout)
        )
        if to is None:
            buffer = io.BytesIO()
            await self._download(fields, buffer)
            return buffer.getvalue()
        return await self._download(fields, to)

    async def download(
        self,
        path: str,
        to: Union[Path, BinaryIO],
        *,
        progress: Optional[Progress] = None,
        timeout: Optional[float] = None,
    ) -> int:
        """Copies a file of the sandbox to a local path or file object, verified and in a few MiB of
        memory; how many bytes there were. `progress` and the file object are called in another
        thread."""
        return await self._download(
            given(path=path, timeout_ms=milliseconds(timeout)), to, progress
        )

    async def upload(
        self,
        source: Union[Path, BinaryIO],
        path: str,
        *,
        progress: Optional[Progress] = None,
        timeout: Optional[float] = None,
    ) -> int:
        """Copies a local path or file object into the sandbox in a few MiB of memory, whole or not
        at all; how many bytes were written. `progress` and the file object are called in another
        thread."""
        fields = given(path=path, timeout_ms=milliseconds(timeout))
        with opened_to_read(source) as file:
            content = Outgoing(file, progress)
            return await self._send("write_file", fields, content, STREAMED_BYTES)

    async def write_file(
        self,
        path: str,
        content: Union[Text, BinaryIO],
        *,
        append: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Writes a file, whole or not at all, making its directories; how many bytes."""
        fields = given(path=path, append=append or None, timeout_ms=milliseconds(timeout))
        return await self._send("write_file", fields, Outgoing(content), _wire.MAX_PAYLOAD)

    async def update_file(
        self, path: str, content: Union[Text, BinaryIO], *, timeout: Optional[float] = None
    ) -> int:
        """Replaces the content of a file, keeping its mode and owner; makes it if there is none."""
        fields = given(path=path, timeout_ms=milliseconds(timeout))
        return await self._send("update_file", fields, Outgoing(content), _wire.MAX_PAYLOAD)

    async def str_replace(
        self,
        path: str,
        old: Text,
        new: Text,
        *,
        replace_all: bool = False,
        timeout: Optional[float] = None,
    ) -> int:
        """Replaces `old`, which must stand exactly once in the file unless replace_all is set; how
        many were replaced."""
        fields = given(
            path=path, replace_all=replace_all or None, timeout_ms=milliseconds(timeout)
        )
        parts = [("old", to_bytes(old)), ("new", to_bytes(new))]
        reply = await self._call("str_replace", fields, parts)
        return int(reply.header.get("replacements", 0))

    async def list_dir(
        self,
        path: str = ".",
        *,
        max_depth: int = 2,
        all: bool = False,
        timeout: Optional[float] = None,
    ) -> Listing:
        """The entries below a directory, max_depth (1 to 64) levels deep."""
        fields = given(
            path=path, max_depth=max_depth, all=all or None, timeout_ms=milliseconds(timeout)
        )
        header, rows = await self._rows("list_dir", fields)
        entries = (Entry(x["path"].rstrip("/"), x["type"], x.get("size")) for x in rows)
        return Listing(entries, is_truncated(header))

    async def glob(
        self,
        path: str,
        pattern: str,
        *,
        include_dirs: bool = False,
        max_results: int = 200,
        all: bool = False,
        timeout: Optional[float] = None,
    ) -> GlobResult:
        """The paths below `path` that match a pattern with ``*``, ``?``, ``[]`` and ``**``."""
        fields = given(
            path=path,
            pattern=pattern,
            include_dirs=include_dirs or None,
            max_results=max_results,
            all=all or None,
            timeout_ms=milliseconds(timeout),
        )
        header, rows = await self._rows("glob", fields)
        return GlobResult([x["path"] for x in rows], is_truncated(header))

    async def grep(
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
        """The lines below `path` that match a regular expression (RE2)."""
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
        header, rows = await self._rows("grep", fields)
        return GrepResult(
            [Match(x["path"], x["line_number"], x["line"]) for x in rows],
            is_truncated(header),
            header.get("skipped_files", 0),
            header.get("skipped_lines", 0),
        )

    async def _call(
        self, op: str, fields: Dict[str, Any], parts: _wire.Parts = ()
    ) -> _wire.Message:
        return await self._client._call(op, {**self._target, **fields}, parts)

    async def _rows(
        self, op: str, fields: Dict[str, Any]
    ) -> Tuple[_wire.Header, List[_wire.Header]]:
        reply = await self._call(op, fields)
        return reply.header, _wire.json_lines(reply.parts().get("results", b""))

    async def _download(
        self,
        fields: Dict[str, Any],
        to: Union[Path, BinaryIO],
        progress: Optional[Progress] = None,
    ) -> int:
        whole = not fields.keys() & {"offset", "length"}
        with opened_to_write(to) as out:
            incoming = Incoming(out, progress)
            reply = await self._client._call(
                "download_file", {**self._target, **fields}, into=incoming
            )
            incoming.check(fields["path"], reply.header, whole)
        return incoming.count

    async def _send(self, op: str, fields: Dict[str, Any], content: Outgoing, at_once: int) -> int:
        """Sends content in one message if it has at most `at_once` bytes, else in pieces."""
        fields = {**self._target, **fields}
        client = self._client
        if content.size <= at_once:
            data = await client._waiting.call(content.read_all)
            reply = await client._call(op, fields, [("content", data)])
        else:
            connection = client._connection()
            call = connection.start(
                op, {**fields, "size": content.size}, (), client._waiting.inbox()
            )
            reply = await _exchange.upload(connection, call, client._waiting, content)
        return int(reply.header.get("bytes", content.size))


def is_truncated(header: _wire.Header) -> bool:
    return header.get("truncated") is True

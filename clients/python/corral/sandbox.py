"""One sandbox: the seven primitives and what belongs to them."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from types import TracebackType
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union
from typing import TYPE_CHECKING

from . import _exchange, _wire, errors
from ._wire import given, milliseconds, to_bytes
from .results import Entry, ExecResult, GlobResult, GrepResult, Lease, Match, text_of
from .streaming import ExecStream

if TYPE_CHECKING:
    from .client import Client

Text = Union[str, bytes, bytearray, memoryview]
Path = Union[str, "os.PathLike[str]"]


class Sandbox:
    """A thread's sandbox, leased (``Client.acquire``) or borrowed (``Client.sandbox``).

    Relative paths start in /mnt/user-data/workspace. Commands run one after the other in one
    persistent shell; file operations run beside them. Every method may raise SandboxLost and the
    other errors of ``corral.errors``. In a ``with`` statement the lease is released at the end.

    Attributes:
        origin: how the sandbox was found (active, warm, discovered, created); None if borrowed.
    """

    def __init__(
        self, client: "Client", target: Dict[str, Any], id: Optional[str], lease: Optional[Lease]
    ) -> None:
        self._client = client
        self._target = target
        self._id = id
        self._lease = lease
        self._leased_in = os.getpid()
        self.origin = lease.origin if lease else None

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            self.release()
        except (ConnectionError, errors.ClientClosed, errors.SandboxLost, errors.SandboxNotFound):
            pass  # The lease is gone, or goes with the client.
        except errors.InvalidRequest:
            pass  # Likewise, and the thread has a new sandbox of the same id.

    def __repr__(self) -> str:
        kind = "leased" if self._lease else "borrowed"
        return f"<corral.Sandbox {self.id} {kind}>"

    @property
    def id(self) -> str:
        """16 hex digits; of a borrowed sandbox, the ones that its owner's always has."""
        if self._id is not None:
            return self._id
        user, thread = self._target.get("user", "default"), self._target["thread"]
        text = thread if user == "default" else f"{user}:{thread}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def lease(self) -> Optional[Lease]:
        """What the acquire answered; None if borrowed or released."""
        return self._lease

    # Commands.

    def execute_command(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        queue_timeout: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Text] = None,
        key: Optional[str] = None,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
        request_id: Optional[str] = None,
    ) -> ExecResult:
        """Runs a command in the sandbox's shell and waits for its end. Ctrl-C cancels it.

        Args:
            command: bash, of any length up to 16 MiB together with `stdin`.
            timeout: seconds it may run, up to 24 h; default 600. What it started is ended then, and
                the result says ``timed_out``.
            queue_timeout: seconds it may wait for earlier commands; default: no limit.
            env: variables for this command only.
            cwd: directory for this command only.
            stdin: its standard input; default: empty.
            key: makes it at most once: a second exec with the key gets the first one's result.
            max_output_chars: limit of ``output`` in characters, 0 for none; default 20000.
            want: which of "output", "stdout", "stderr" to send; default: all.
            request_id: a name for ``Client.cancel``, at most 128 bytes, unique while it runs.

        Raises:
            QueueFull, CommandBlocked, HostBashDisabled, InvalidRequest.
        """
        fields = exec_fields(timeout, queue_timeout, env, cwd, key, max_output_chars, want)
        parts = exec_parts(command, stdin)
        connection = self._client._connection()
        id = request_id or connection.new_id()
        try:
            call = connection.start("exec", {**self._target, **fields}, parts, id)
            return ExecResult.from_message(_exchange.finish(connection, call))
        except errors.CorralError:
            raise
        except BaseException:  # KeyboardInterrupt above all: nobody waits for the command now.
            connection.abandon(id)
            raise

    exec = execute_command

    def exec_stream(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        queue_timeout: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: Optional[Text] = None,
        stdin_open: bool = False,
        key: Optional[str] = None,
        max_output_chars: Optional[int] = None,
        want: Optional[Sequence[str]] = None,
        request_id: Optional[str] = None,
    ) -> ExecStream:
        """Starts a command and returns at once: iterate over its output as it comes.

        Takes the arguments of ``execute_command``, and:

        Args:
            stdin_open: leave the standard input open after `stdin`, for ``send_input``.
        """
        fields = exec_fields(timeout, queue_timeout, env, cwd, key, max_output_chars, want)
        fields["stream"] = True
        if stdin_open:
            fields["stdin_open"] = True
        connection = self._client._connection()
        call = connection.start(
            "exec", {**self._target, **fields}, exec_parts(command, stdin), request_id
        )
        return ExecStream(self._client, connection, call)

    def reset_session(self) -> Optional[int]:
        """Replaces the shell by a new one in its initial state; the new session's number."""
        session = self._call("reset_session", {}).header.get("session")
        return session if isinstance(session, int) else None

    def cancel(self) -> bool:
        """Cancels the command that runs in this sandbox now, whoever sent it."""
        reply = self._client._call("cancel", {"sandbox": self.id})
        return bool(reply.header.get("cancelled", False))

    # Files.

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
    ) -> List[Entry]:
        """The entries below a directory, max_depth (1 to 64) levels deep.

        Args:
            all: also what is usually of no interest, such as .git and node_modules.

        Raises:
            FileNotFound, NotADirectory, PermissionDenied.
        """
        fields = given(
            path=path, max_depth=max_depth, all=all or None, timeout_ms=milliseconds(timeout)
        )
        rows, _ = self._rows("list_dir", fields)
        return [Entry(x["path"], x.get("type", "file"), x.get("size")) for x in rows]

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
        rows, truncated = self._rows("glob", fields)
        return GlobResult([x["path"] for x in rows], truncated)

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
        rows, truncated = self._rows("grep", fields)
        return GrepResult(
            [Match(x["path"], x.get("line_number", 0), x.get("line", "")) for x in rows], truncated
        )

    # The sandbox itself.

    def info(self) -> Optional[Dict[str, Any]]:
        """Its state, as ``Client.get``; None if it isn't there."""
        return self._client.get(self.id)

    get = info

    def release(self) -> None:
        """Drops the lease; the last one parks the sandbox. Again, or for a borrowed sandbox, or in
        a child forked since, it does nothing."""
        lease, self._lease = self._lease, None
        if lease is not None and lease.lease is not None and self._leased_in == os.getpid():
            fields = {"sandbox": lease.sandbox, "lease": lease.lease}
            self._client._call("release", fields, timeout=self._client._timeout)

    def destroy(self, *, force: bool = False, purge: bool = False) -> bool:
        """Ends the sandbox, as ``Client.destroy``."""
        destroyed = self._client.destroy(self.id, force, purge)
        self._lease = None
        return destroyed

    # For this class.

    def _call(self, op: str, fields: Dict[str, Any], parts: _wire.Parts = ()) -> _wire.Message:
        return self._client._call(op, {**self._target, **fields}, parts)

    def _rows(self, op: str, fields: Dict[str, Any]) -> Tuple[List[Dict[str, Any]], bool]:
        reply = self._call(op, fields)
        rows = _wire.json_lines(reply.parts().get("results", b""))
        return rows, bool(reply.header.get("truncated", False))

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


def exec_fields(
    timeout: Optional[float],
    queue_timeout: Optional[float],
    env: Optional[Mapping[str, str]],
    cwd: Optional[str],
    key: Optional[str],
    max_output_chars: Optional[int],
    want: Optional[Sequence[str]],
) -> Dict[str, Any]:
    return given(
        timeout_ms=milliseconds(timeout),
        queue_ms=milliseconds(queue_timeout),
        env=dict(env) if env is not None else None,
        cwd=cwd,
        key=key,
        max_output_chars=max_output_chars,
        want=list(want) if want is not None else None,
    )


def exec_parts(command: Text, stdin: Optional[Text]) -> List[Tuple[str, _wire.Bytes]]:
    parts = [("command", to_bytes(command))]
    if stdin is not None:
        parts.append(("stdin", to_bytes(stdin)))
    return parts


def source_of(content: Union[Text, BinaryIO]) -> Tuple[BinaryIO, int]:
    """Where to read content from, and how many bytes of it there are."""
    if isinstance(content, (str, bytes, bytearray, memoryview)):
        data = to_bytes(content)
        return io.BytesIO(data), len(data)
    start = content.tell()
    size = content.seek(0, os.SEEK_END) - start
    content.seek(start)
    return content, size

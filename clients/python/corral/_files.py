"""The file operations of a sandbox."""

from __future__ import annotations

from typing import BinaryIO, Optional, Union

from ._transfer import Path, Progress, Text
from ._waiting import run
from .aio._files import AsyncFileOperations
from .results import GlobResult, GrepResult, Listing


class FileOperations:
    """What ``Sandbox`` does with files. Each takes `timeout`: seconds it may work, default 60."""

    def __init__(self, core: AsyncFileOperations) -> None:
        self._core = core

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
        return run(
            self._core.read_file(path, start_line=start_line, end_line=end_line, timeout=timeout)
        )

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
        return run(
            self._core.download_file(path, to, offset=offset, length=length, timeout=timeout)
        )

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
        return run(self._core.download(path, to, progress=progress, timeout=timeout))

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
        return run(self._core.upload(source, path, progress=progress, timeout=timeout))

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
        return run(self._core.write_file(path, content, append=append, timeout=timeout))

    def update_file(
        self, path: str, content: Union[Text, BinaryIO], *, timeout: Optional[float] = None
    ) -> int:
        """Replaces the content of a file, keeping its mode and owner; makes it if there is none.

        Arguments, result and errors are those of ``write_file``.
        """
        return run(self._core.update_file(path, content, timeout=timeout))

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
        return run(self._core.str_replace(path, old, new, replace_all=replace_all, timeout=timeout))

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
        return run(self._core.list_dir(path, max_depth=max_depth, all=all, timeout=timeout))

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
        return run(
            self._core.glob(
                path,
                pattern,
                include_dirs=include_dirs,
                max_results=max_results,
                all=all,
                timeout=timeout,
            )
        )

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
        return run(
            self._core.grep(
                path,
                pattern,
                glob=glob,
                literal=literal,
                case_sensitive=case_sensitive,
                max_results=max_results,
                all=all,
                timeout=timeout,
            )
        )

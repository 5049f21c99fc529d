"""The errors of the wire protocol as exceptions: one class a code.

Every class but the last three mirrors a code of the daemon; those three are raised by this library
alone. Errors of file operations are also the builtin exception that fits, so that
``except FileNotFoundError`` works.
"""

from __future__ import annotations

import errno
from typing import Any, Dict, Mapping, Optional, Type

__all__ = [
    "CorralError",
    "InvalidRequest",
    "Unauthorized",
    "Forbidden",
    "SandboxNotFound",
    "SandboxLost",
    "SandboxRuntime",
    "IdentityCollision",
    "CapacityExceeded",
    "QueueFull",
    "Busy",
    "Moved",
    "HostBashDisabled",
    "CommandBlocked",
    "OutOfMemory",
    "FileNotFound",
    "NotADirectory",
    "IsADirectory",
    "PermissionDenied",
    "ReadOnly",
    "NotText",
    "FileTooLarge",
    "NoSpace",
    "NotRegularFile",
    "InvalidPattern",
    "MatchNotFound",
    "MatchNotUnique",
    "ShuttingDown",
    "Internal",
    "DaemonUnreachable",
    "DaemonRestarted",
    "ClientClosed",
]

_BY_CODE: Dict[str, Type["CorralError"]] = {}
_ERRNO_OF = {
    "file_not_found": errno.ENOENT,
    "not_a_directory": errno.ENOTDIR,
    "is_a_directory": errno.EISDIR,
    "permission_denied": errno.EACCES,
    "read_only": errno.EROFS,
    "file_too_large": errno.EFBIG,
    "no_space": errno.ENOSPC,
    "not_regular_file": errno.EINVAL,
}


class CorralError(Exception):
    """A request that failed.

    Attributes:
        code: the protocol's name of the error, such as ``"sandbox_lost"``.
        message: what went wrong and what to change.
        details: more for a program to act on; which, depends on the code.
        retryable: True if the same request may succeed when sent again.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        details: Optional[Mapping[str, Any]] = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: Dict[str, Any] = dict(details or {})
        self.retryable = retryable
        if isinstance(self, OSError):
            self.errno = _ERRNO_OF.get(code)
            self.strerror = message
            self.filename = self.details.get("path")

    def __init_subclass__(cls, code: Optional[str] = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        if code is not None:
            _BY_CODE[code] = cls

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> Any:
        return type(self), (self.code, self.message, self.details, self.retryable)


class InvalidRequest(CorralError, ValueError, code="invalid_request"):
    """A malformed request: the message names the field, what was expected and what to change."""


class Unauthorized(CorralError, code="unauthorized"):
    """The daemon doesn't know this client's key."""


class Forbidden(CorralError, code="forbidden"):
    """This client may not name that user or sandbox, or use that op."""


class SandboxNotFound(CorralError, code="sandbox_not_found"):
    """No pool holds a sandbox of that id."""


class SandboxLost(CorralError, code="sandbox_lost"):
    """The sandbox died or was destroyed; ``details["started"]`` says whether the work had begun."""


class SandboxRuntime(CorralError, code="sandbox_runtime"):
    """A sandbox could not be created or reached; ``details["step"]`` names the step that failed."""


class IdentityCollision(CorralError, code="identity_collision"):
    """The id belongs to another owner, or the thread lives in another pool."""


class CapacityExceeded(CorralError, code="capacity_exceeded"):
    """No room for another sandbox; ``details["retry_after_ms"]`` may say when to try again."""


class QueueFull(CorralError, code="queue_full"):
    """Too much waits already, for this sandbox or in the daemon."""


class Busy(CorralError, code="busy"):
    """The sandbox is in use, or the client's name is."""


class Moved(CorralError, code="moved"):
    """Another daemon owns it; ``details["endpoint"]`` says which."""


class HostBashDisabled(CorralError, code="host_bash_disabled"):
    """The local provider runs no commands unless it is configured to."""


class CommandBlocked(CorralError, code="command_blocked"):
    """The command policy refused the command; ``details["rule"]`` names the rule."""


class OutOfMemory(CorralError, code="out_of_memory"):
    """A start or a file operation died of the sandbox's memory limit."""


class FileNotFound(CorralError, FileNotFoundError, code="file_not_found"):
    """There is nothing of that path."""


class NotADirectory(CorralError, NotADirectoryError, code="not_a_directory"):
    """A part of the path that should be a directory is none."""


class IsADirectory(CorralError, IsADirectoryError, code="is_a_directory"):
    """The path names a directory where a file is needed."""


class PermissionDenied(CorralError, PermissionError, code="permission_denied"):
    """The sandbox may not do that there, or the path leads out of where it may lead."""


class ReadOnly(CorralError, PermissionError, code="read_only"):
    """The path lies on a read-only mount."""


class NotText(CorralError, ValueError, code="not_text"):
    """The file is no text; ``download_file`` takes any bytes."""


class FileTooLarge(CorralError, OSError, code="file_too_large"):
    """The file, or the transfer, is over its limit."""


class NoSpace(CorralError, OSError, code="no_space"):
    """The disk or the quota is full."""


class NotRegularFile(CorralError, OSError, code="not_regular_file"):
    """A device, socket or pipe: only regular files are read and written."""


class InvalidPattern(CorralError, ValueError, code="invalid_pattern"):
    """The glob or regular expression is malformed."""


class MatchNotFound(CorralError, LookupError, code="match_not_found"):
    """str_replace: the old text isn't in the file."""


class MatchNotUnique(CorralError, LookupError, code="match_not_unique"):
    """str_replace: the old text stands more than once and replace_all isn't set."""


class ShuttingDown(CorralError, code="shutting_down"):
    """The daemon is draining and takes nothing new."""


class Internal(CorralError, code="internal"):
    """A bug of the daemon or of this library; an incident id in the details is also in its log."""


class DaemonUnreachable(CorralError, ConnectionError):
    """No daemon answers at the endpoint; the request was not sent. Raised by this library."""


class DaemonRestarted(CorralError, ConnectionError):
    """The daemon restarted, went silent or closed the connection while the request was open:
    whether it ran is not known. Raised by this library."""


class ClientClosed(CorralError):
    """The client, or the stream, was closed before the answer came. Raised by this library."""


def unreachable(message: str, **details: Any) -> DaemonUnreachable:
    return DaemonUnreachable("daemon_unreachable", message, details, True)


def restarted(message: str, **details: Any) -> DaemonRestarted:
    return DaemonRestarted("daemon_restarted", message, details, False)


def closed(message: str = "the client is closed") -> ClientClosed:
    return ClientClosed("client_closed", message)


def invalid(message: str) -> InvalidRequest:
    return InvalidRequest("invalid_request", message)


def unauthorized(message: str) -> Unauthorized:
    return Unauthorized("unauthorized", message)


def internal(message: str) -> Internal:
    return Internal("internal", message)


def error_classes() -> Dict[str, Type[CorralError]]:
    """The class of each code that a daemon can answer with."""
    return dict(_BY_CODE)


def from_wire(fields: Any) -> CorralError:
    """The exception for the ``error`` of a reply; a code of a newer daemon gives CorralError."""
    fields = fields if isinstance(fields, dict) else {}
    code = fields.get("code")
    code = code if isinstance(code, str) else "internal"
    details = fields.get("details")
    return _BY_CODE.get(code, CorralError)(
        code,
        str(fields.get("message", "")),
        details if isinstance(details, dict) else {},
        fields.get("retryable") is True,
    )

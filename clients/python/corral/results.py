"""What requests return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from ._wire import Bytes, Message, to_text
from .errors import CorralError


@dataclass(frozen=True)
class ServerInfo:
    """What the daemon said of itself when the client connected."""

    server: str  #: its name and version
    boot: str  #: changes whenever the daemon starts
    pools: Tuple[Any, ...]
    limits: Mapping[str, Any]
    events: Optional[str] = None  #: where a SUB socket hears events; None: not for this client

    @classmethod
    def from_header(cls, header: Mapping[str, Any], endpoint: str = "") -> "ServerInfo":
        pools = header.get("pools")
        events = header.get("events")
        if isinstance(events, str) and "://" not in events:  # A socket in the same directory.
            events = endpoint[: endpoint.rfind("/") + 1] + events
        limits = header.get("limits")
        return cls(
            str(header.get("server", "")),
            str(header.get("boot", "")),
            tuple(pools) if isinstance(pools, list) else (),
            limits if isinstance(limits, dict) else {},
            events if isinstance(events, str) else None,
        )


@dataclass(frozen=True)
class ExecResult:
    """How a command ended. A non-zero exit, a timeout and a cancel are results, not errors."""

    exit_code: Optional[int]  #: None if it did not exit: timed out, cancelled, or the shell died
    output: str  #: the text an agent is shown: both streams, exit code and notices, cut to a limit
    stdout: bytes  #: exact bytes, cut in the middle if very long (`truncated`)
    stderr: bytes
    timed_out: bool
    cancelled: bool
    oom: Optional[Mapping[str, Any]]  #: {kills, limit, peak} if the memory limit struck
    duration: float  #: seconds from start to end
    queued: float  #: seconds it waited for its turn
    cwd: str  #: the session's directory afterwards
    truncated: bool
    stdout_bytes: int  #: bytes the command wrote, those that were cut included
    stderr_bytes: int
    origin: Optional[str]  #: how the sandbox was found: active, warm, discovered, created
    session: Optional[int]  #: changes when the shell had to be replaced
    session_reset: Optional[str]  #: "restored" or "initial" if this exec replaced the shell
    signal: Optional[int] = None  #: what the shell died of

    @property
    def ok(self) -> bool:
        """True exactly if the command exited with 0."""
        return self.exit_code == 0

    @classmethod
    def from_message(cls, reply: Message) -> "ExecResult":
        h, parts = reply.header, reply.parts()
        return cls(
            exit_code=h.get("exit_code"),
            output=parts.get("output", b"").decode("utf-8", "replace"),
            stdout=parts.get("stdout", b""),
            stderr=parts.get("stderr", b""),
            timed_out=bool(h.get("timed_out", False)),
            cancelled=bool(h.get("cancelled", False)),
            oom=h.get("oom") or None,
            duration=h.get("duration_ms", 0) / 1000,
            queued=h.get("queued_ms", 0) / 1000,
            cwd=h.get("cwd", ""),
            truncated=bool(h.get("truncated", False)),
            stdout_bytes=h.get("stdout_bytes", 0),
            stderr_bytes=h.get("stderr_bytes", 0),
            origin=h.get("origin"),
            session=h.get("session"),
            session_reset=h.get("session_reset"),
            signal=h.get("signal"),
        )


class KeptResult(NamedTuple):
    """What the daemon knows of an exec that was sent before."""

    state: str  #: "finished", "running" or "not_found"
    result: Optional[ExecResult] = None  #: of a finished one

    @classmethod
    def from_message(cls, reply: Message) -> "KeptResult":
        state = str(reply.header.get("state", ""))
        finished = state == "finished"
        return cls(state, ExecResult.from_message(reply) if finished else None)


class MapResult(NamedTuple):
    """How one command of ``Client.map`` ended."""

    index: int  #: of the command, from 0
    command: Union[str, Bytes]
    result: Union[ExecResult, CorralError]  #: the error that `exec` would have raised, if any

    @property
    def error(self) -> Optional[CorralError]:
        return self.result if isinstance(self.result, CorralError) else None

    @property
    def ok(self) -> bool:
        """True exactly if the command ran and exited with 0."""
        return isinstance(self.result, ExecResult) and self.result.ok


@dataclass(frozen=True)
class Chunk:
    """A piece of a running command's output."""

    stream: str  #: "stdout" or "stderr"
    data: bytes
    offset: int  #: of its first byte in the stream, counting what was dropped
    gap: int = 0  #: bytes dropped just before it, because they were not consumed in time


@dataclass(frozen=True)
class Entry:
    """One line of a directory listing."""

    path: str
    type: str  #: "file", "directory", "symlink" or "other"
    size: Optional[int] = None  #: bytes, of files

    @property
    def is_dir(self) -> bool:
        return self.type == "directory"


class Listing(List[Entry]):
    """The entries of a directory, as any other list."""

    def __init__(self, entries: Iterable[Entry] = (), truncated: bool = False) -> None:
        super().__init__(entries)
        self.truncated = truncated  #: True if there was more than the daemon lists


@dataclass(frozen=True)
class GlobResult:
    paths: List[str]
    truncated: bool  #: True if there was more than max_results


@dataclass(frozen=True)
class Match:
    path: str
    line_number: int  #: from 1
    line: str


@dataclass(frozen=True)
class GrepResult:
    matches: List[Match]
    truncated: bool  #: True if there was more than max_results
    skipped_files: int = 0  #: files not searched: binary, too large or not readable
    skipped_lines: int = 0  #: lines not searched because they are too long


@dataclass(frozen=True)
class Lease:
    """What an acquire answered."""

    sandbox: str
    lease: Optional[str]  #: None if the client announced no heartbeats
    origin: str  #: active, warm, discovered or created
    session: Optional[int] = None
    provider: str = ""
    capabilities: Any = field(default_factory=dict)

    @classmethod
    def from_header(cls, h: Dict[str, Any]) -> "Lease":
        return cls(
            sandbox=h["sandbox"],
            lease=h.get("lease"),
            origin=h.get("origin", ""),
            session=h.get("session"),
            provider=h.get("provider", ""),
            capabilities=h.get("capabilities", {}),
        )


def text_of(reply: Message) -> str:
    """The content of a reply as text."""
    return to_text(reply.parts().get("content", b""))

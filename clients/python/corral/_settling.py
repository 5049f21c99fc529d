"""What becomes of an open request when its connection is gone and another one is there.

A result is never invented, and nothing is done twice: a read is sent again, an exec is asked for,
and of all else the caller is told that it is not known whether it was done.
"""

from __future__ import annotations

import enum
import hashlib
from typing import Any, Dict, Mapping

from . import errors
from ._wire import Header, given

IDEMPOTENT = frozenset(
    "ping get list stats read_file download_file list_dir glob grep result".split()
)
#: Errors that a `result` can end with of itself; they say nothing of the exec it asks for.
_OF_THE_QUESTION = frozenset(
    "invalid_request unauthorized forbidden sandbox_runtime queue_full busy shutting_down"
    " internal".split()
)
_FILE_SECONDS = 60.0  # that a file operation may take if it doesn't say


class Fate(enum.Enum):
    """What to do with a request that was sent on a connection that is gone."""

    RESEND = "send it again"
    ASK_BY_REQUEST = "ask for the exec's result by its request id"
    ASK_BY_KEY = "ask for the exec's result by its key"
    WAIT = "its reply comes to the new connection"
    LOST = "tell that it is not known"


def fate_of(op: str, fields: Mapping[str, Any], same_boot: bool) -> Fate:
    """What to do once the daemon has answered the hello of the new connection.

    Args:
        same_boot: only the connection broke: the daemon has all requests that reached it.
    """
    if op in IDEMPOTENT:
        return Fate.RESEND
    if op == "exec":
        if same_boot:
            return Fate.ASK_BY_REQUEST
        return Fate.ASK_BY_KEY if "key" in fields else Fate.LOST
    if op == "acquire" and not same_boot:
        return Fate.RESEND  # The leases of the daemon before are gone.
    if "size" in fields:
        return Fate.LOST  # An upload, of which pieces or credit may be missing.
    return Fate.WAIT if same_boot else Fate.LOST


def after_question(reply: Header, has_key: bool, by_key: bool, elapsed: float) -> Fate:
    """What to do with an exec after a `result` that told no end of it.

    Args:
        has_key: the exec has one.
        by_key: the question named it, not the request.
        elapsed: seconds since the exec was first sent.
    """
    ok = reply.get("ok") is True
    age_ms = reply.get("age_ms")
    is_younger = isinstance(age_ms, int) and age_ms / 1000 < elapsed
    if by_key and reply.get("state") == "not_found" and is_younger:
        return Fate.LOST  # A later sandbox than the exec was sent to: it can't know the key.
    if ok and reply.get("state") == "running":
        return Fate.RESEND if by_key else Fate.WAIT  # With its key it joins what runs.
    if ok and has_key:
        return Fate.RESEND if by_key else Fate.ASK_BY_KEY
    return Fate.LOST


def goes_on(op: str, fields: Mapping[str, Any], reply: Header) -> bool:
    """True of the reply of a daemon that ends to an exec with a key that goes on without it."""
    error = reply.get("error")
    if op != "exec" or "key" not in fields or not isinstance(error, dict):
        return False
    details = error.get("details")
    started = isinstance(details, dict) and details.get("started") is True
    return error.get("code") == "shutting_down" and started


def tells_the_end(reply: Header) -> bool:
    """True if a `result` answers with the exec's result, or with the error that it ended with."""
    if reply.get("ok") is True:
        return reply.get("state") == "finished"
    error = reply.get("error")
    return isinstance(error, dict) and error.get("code") not in _OF_THE_QUESTION


def end_of(reply: Header) -> Header:
    """The header of the exec's own reply. A sandbox that is not there any more has been lost."""
    error = reply.get("error")
    if isinstance(error, dict) and error.get("code") == "sandbox_not_found":
        lost = {
            "code": "sandbox_lost",
            "message": "the sandbox is gone since the daemon restarted; whether the command ran is"
            " not known",
            "details": {"started": "unknown"},
            "retryable": False,
        }
        return {**reply, "error": lost}
    return {name: x for name, x in reply.items() if name != "state"}


def question_by_request(id: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of a `result` that asks for an exec by its request id."""
    return {"request": id, **_shown(fields)}


def question_by_key(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of a `result` that asks for an exec by its key, in the sandbox it was sent to."""
    return {"sandbox": sandbox_of(fields), "key": fields["key"], **_shown(fields)}


def in_the_same_sandbox(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of an exec, for the sandbox that its thread had: none is made for it."""
    rest = {name: x for name, x in fields.items() if name not in ("thread", "user", "pool")}
    return {**rest, "sandbox": sandbox_of(fields)}


def _shown(fields: Mapping[str, Any]) -> Dict[str, Any]:
    return given(want=fields.get("want"), max_output_chars=fields.get("max_output_chars"))


def sandbox_of(target: Mapping[str, Any]) -> str:
    """The sandbox of a target: for a thread, the id that its sandbox always has."""
    if "sandbox" in target:
        return str(target["sandbox"])
    user, thread = target.get("user", "default"), target["thread"]
    text = thread if user == "default" else f"{user}:{thread}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def patience(fields: Mapping[str, Any], timeout: float) -> float:
    """Seconds to wait on the new connection for a reply that may have been lost with the old one:
    the longest that the request may take by its own limits, and the client's timeout."""
    work = fields.get("timeout_ms", _FILE_SECONDS * 1000 if "path" in fields else 0)
    wait = fields.get("queue_ms", 0) + fields.get("wait_ms", 0)
    return float(timeout + (work + wait) / 1000)


def lost(what: str, endpoint: str) -> errors.DaemonRestarted:
    """The error of a request whose end nobody knows."""
    text = f"{what} while the request was open: whether it ran is not known"
    return errors.restarted(text, endpoint=endpoint, started="unknown")

"""An open request, and where its messages arrive."""

from __future__ import annotations

from typing import Any, Dict, Optional

from . import _wire
from ._spool import Spool
from ._waiting import Inbox


class Call:
    """An open request. What arrives goes to the inbox; an exception in it ends the call too.

    Attributes:
        id: its name on the wire; of anything but an exec another one after it was sent again.
        sent: it was given to the socket of the connection that there is.
        stale: it was sent on one that is gone, and is not settled yet.
        deadline: when to give it up, in seconds of the steady clock; None for never.
    """

    __slots__ = (
        "id", "op", "fields", "parts", "inbox", "since", "sent", "stale", "deadline", "_spool",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        op: str,
        fields: Dict[str, Any],
        parts: _wire.Parts,
        inbox: Inbox,
        since: float,
    ) -> None:
        self.id = id
        self.op = op
        self.fields = fields
        self.parts = parts
        self.inbox = inbox
        self.since = since
        self.sent = False
        self.stale = False
        self.deadline: Optional[float] = None
        self._spool = Spool() if op == "download_file" else None

    def put(self, item: Any) -> None:
        """A message, or an exception that ends the call."""
        if self._spool is not None and isinstance(item, _wire.Message):
            try:
                item = self._spool.put(item)
            except OSError as fault:
                item = fault
        self.inbox.put(item)

    async def next(self, timeout: Optional[float] = None) -> _wire.Message:
        """The next event, or the final reply. Raises what ended the call, or Quiet."""
        return self.open(await self.inbox.get(timeout))

    def open(self, item: Any) -> _wire.Message:
        """What was put into the inbox. Raises what ended the call."""
        if isinstance(item, BaseException):
            raise item
        return item if self._spool is None else self._spool.take(item)

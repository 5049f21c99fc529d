"""When to send a heartbeat, and when the daemon counts as gone. No clock, no socket."""

from __future__ import annotations

import math

MISSED_PINGS = 3


class Heartbeat:
    """Told of every message; times are seconds of any steady clock.

    A ping is due an interval after the last message of the quieter direction: the daemon must hear
    from this client to keep its leases, and this client from the daemon to trust in an answer.
    """

    def __init__(self, interval: float, now: float) -> None:
        """An interval of 0 means no heartbeats at all."""
        self._interval = interval if interval > 0 else math.inf
        self.reset(now)

    def reset(self, now: float) -> None:
        """Starts anew, with another connection."""
        self._last_sent = self._last_received = self._last_ping = now
        self._unanswered = 0

    def sent(self, now: float) -> None:
        self._last_sent = now

    def received(self, now: float) -> None:
        self._last_received = now
        self._unanswered = 0

    def pinged(self, now: float) -> None:
        self._last_sent = self._last_ping = now
        self._unanswered += 1

    def due(self) -> float:
        """When to ping next, or to give up if the daemon is gone."""
        quiet_since = min(self._last_sent, self._last_received)
        return (self._last_ping if self._unanswered else quiet_since) + self._interval

    def is_gone(self, now: float) -> bool:
        """True once three pings in a row have had an interval each to be answered."""
        return self._unanswered >= MISSED_PINGS and now >= self.due()

"""The vocabulary of the link: its times, its states, and what happens to it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class LinkTiming:
    """The times of the link, in seconds. The two sides may differ, as long as dead_after_s spans several heartbeats."""

    heartbeat_s: float = 1.0  # after sending nothing for this long, a side sends an ACK
    dead_after_s: float = 4.0  # no intact frame received for this long: the link is dead
    stall_after_s: float = 10.0  # a packet not acknowledged for this long: dead, even if heartbeats arrive
    ack_delay_s: float = 0.01  # how long an acknowledgement waits for a DATA packet to carry it
    resend_first_s: float = 0.3  # resend time before the first round trip is measured
    resend_min_s: float = 0.05  # well above ack_delay_s and the scheduling delays of a busy machine
    resend_max_s: float = 1.0

    def scaled(self, factor: float) -> LinkTiming:
        """All times multiplied by this factor, for a clock that runs that much faster."""
        return LinkTiming(**{field.name: getattr(self, field.name) * factor for field in fields(self)})


class LossReason(enum.Enum):
    """The ways in which a link ends."""

    NO_ANSWER = "no answer to OPEN"
    SILENT = "nothing received in time"
    STALLED = "a packet was not acknowledged in time"
    PEER_RESET = "the other side ended the session"
    PEER_RESTARTED = "the other side has restarted"
    REPLACED = "the other side opened a new session"
    UNPLUGGED = "the port is gone"
    CLOSED = "closed from this side"
    PROTOCOL = "the other side violated the protocol"


@dataclass(frozen=True, slots=True)
class Opened:
    """The link is up; `boot` is the other side's boot id."""

    session: int
    boot: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The link has ended. `lost_after_s` is how long ago the last intact frame was received."""

    reason: LossReason
    detail: str = ""
    lost_after_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


class LinkState(enum.Enum):
    """Whether messages can be sent."""

    CLOSED = "closed"
    OPENING = "opening"
    OPEN = "open"


class LinkFull(Exception):
    """More messages are waiting than the link can queue."""


Arrival = bytes | Opened | Lost  # a message, or a change of the link

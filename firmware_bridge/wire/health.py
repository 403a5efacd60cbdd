"""The health of a link: counters, round-trip times, and a ring buffer of the last frames."""

# mypyc
from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from firmware_bridge.wire.frame import BadFrame, Flaw
from firmware_bridge.wire.packet import PacketType, parse_packet

RING_FRAMES: Final = 64
ROUND_TRIPS_KEPT: Final = 512


@dataclass(slots=True)
class LinkCounters:
    """Counts since the link object was created."""

    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    resends: int = 0
    crc_errors: int = 0
    cobs_errors: int = 0
    length_errors: int = 0
    resyncs: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    unknown_packets: int = 0
    naks_in: int = 0
    naks_out: int = 0
    resets_in: int = 0
    resets_out: int = 0
    sessions: int = 0
    losses: int = 0

    def count_bad(self, bad: BadFrame) -> None:
        """Count a bad frame by its flaw."""
        if bad.flaw is Flaw.BAD_CRC:
            self.crc_errors += 1
        elif bad.flaw is Flaw.BAD_COBS:
            self.cobs_errors += 1
        else:
            self.length_errors += 1

    @property
    def bad_frames(self) -> int:
        """The number of bad frames of all kinds."""
        return self.crc_errors + self.cobs_errors + self.length_errors


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Round-trip times of the last packets that were acknowledged without a resend, in milliseconds."""

    samples: int
    min_ms: float
    median_ms: float
    p99_ms: float


class RoundTripLog:
    """The last round-trip times, from which `RoundTrip` is computed."""

    __slots__ = ("samples_s",)

    def __init__(self) -> None:
        self.samples_s: deque[float] = deque(maxlen=ROUND_TRIPS_KEPT)

    def summary(self) -> RoundTrip | None:
        """A summary of the samples kept, or None before the first one."""
        if not self.samples_s:
            return None
        ordered = sorted(self.samples_s)
        last = len(ordered) - 1
        return RoundTrip(
            samples=len(ordered),
            min_ms=round(ordered[0] * 1e3, 3),
            median_ms=round(ordered[last // 2] * 1e3, 3),
            p99_ms=round(ordered[min(last, round(last * 0.99))] * 1e3, 3),
        )


Direction = Literal["in", "out"]


@dataclass(slots=True)
class FrameRing:
    """The last frames in both directions, kept as bytes and described only on request."""

    frames: deque[tuple[float, Direction, bytes | BadFrame]] = field(default_factory=lambda: deque(maxlen=RING_FRAMES))

    def lines(self) -> Iterator[str]:
        """One line per frame for a log, oldest first, with times in seconds relative to the newest."""
        newest = self.frames[-1][0] if self.frames else 0.0
        for at, direction, what in self.frames:
            yield f"{at - newest:+9.3f}s {direction:>3} {describe_frame(what)}"


def describe_frame(what: bytes | BadFrame) -> str:
    """A frame in words without the contents of its message: a log must not reveal which cards a device saw."""
    if isinstance(what, BadFrame):
        return f"bad frame of {len(what.encoded)} bytes, {what}"
    packet = parse_packet(what)
    if packet is None:
        return f"not a packet of this version: type {what[0]:02x}, {len(what)} bytes"
    if packet.type is PacketType.DATA:
        return f"{packet} {len(packet.message)} bytes"
    return str(packet)

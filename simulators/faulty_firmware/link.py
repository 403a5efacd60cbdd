"""Defects of the link: its sessions, its order, and its resending."""

from __future__ import annotations

import math

from firmware_bridge.wire.frame import BadFrame
from firmware_bridge.wire.link import NAKS_MAX, WINDOW, Arrival, Link, _Sent
from firmware_bridge.wire.packet import OPENING, SEQUENCED, PacketType
from simulators.faulty_firmware.defect_lists import fails

# --- sessions -------------------------------------------------------------------------------------------------------


@fails("link.open")
class WideWindow(Link):
    """Announces a window in OPENED that is larger than allowed."""

    def _emit(self, body: bytes, now: float) -> None:
        if body[0] == PacketType.OPENED:
            body = body[:7] + b"\xc8" + body[8:]
        super()._emit(body, now)


@fails("link.reopen")
class ReopensAnew(Link):
    """Starts the session again when its OPEN is repeated."""

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        self.peer_boot = 0
        super()._asked_to_open(body, now, arrivals)


@fails("link.new_session")
class NumbersOn(Link):
    """Continues with the old numbers when a session is replaced by another."""

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        numbers, replaced = (self._next_seq, self._expected), self.session
        super()._asked_to_open(body, now, arrivals)
        if self.session != replaced:
            self._next_seq, self._expected = numbers


@fails("link.reset")
class IgnoresStrays(Link):
    """Does not answer a packet of another session."""

    def _stray(self, session: int, now: float) -> None:
        pass


@fails("link.goodbye")
class IgnoresReset(Link):
    """Continues after RESET."""

    def _was_reset(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        pass


@fails("link.heartbeat")
class NoHeartbeat(Link):
    """Sends no heartbeat."""

    def tick(self, now: float) -> list[Arrival]:
        if self._ack_due > now:
            self._last_sent = now
        return super().tick(now)


@fails("link.death")
class NeverDies(Link):
    """Keeps a session open whose host has fallen silent."""

    def tick(self, now: float) -> list[Arrival]:
        self._last_heard = now
        return super().tick(now)


@fails("link.host_boot")
class KnowsTheHostByItsSession(Link):
    """Mistakes another host that chose the same session number for the one it knows."""

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        kind, session, boot, window, security = OPENING.unpack_from(body)
        if session == self.session:
            boot = self.peer_boot
        super()._asked_to_open(OPENING.pack(kind, session, boot, window, security), now, arrivals)


@fails("link.stall")
class NeverStalls(Link):
    """Keeps resending a packet that is never acknowledged."""

    def tick(self, now: float) -> list[Arrival]:
        if self._sent:
            self._sent[0].first_sent = now
        return super().tick(now)


# --- order ----------------------------------------------------------------------------------------------------------


@fails("link.acknowledge")
class AcknowledgesLate(Link):
    """Acknowledges with its next packet, whenever that comes."""

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        super()._data(seq, body, now, arrivals)
        self._ack_due = math.inf


@fails("link.duplicate")
class TakesDuplicates(Link):
    """Acknowledges a repeated packet, and acts on it again."""

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if seq + 1 == self._expected:
            arrivals.append(body[7:])
        super()._data(seq, body, now, arrivals)


@fails("link.order")
class TakesTheFuture(Link):
    """Accepts what comes after a gap."""

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        self._expected = max(seq, self._expected)
        super()._data(seq, body, now, arrivals)


@fails("link.resend")
class NeverResends(Link):
    """Sends again only when asked by a NAK."""

    def tick(self, now: float) -> list[Arrival]:
        self._resend_at = math.inf
        return super().tick(now)


@fails("link.nak")
class IgnoresNak(Link):
    """Treats a NAK as an ACK."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] == PacketType.NAK:
            body = bytes([PacketType.ACK]) + body[1:]
        super()._packet(body, now, arrivals)


@fails("link.window")
class OwnWindow(Link):
    """Observes its own window, not the host's."""

    def _up(self, session: int, boot: int, window: int, now: float, arrivals: list[Arrival]) -> None:
        super()._up(session, boot, WINDOW, now, arrivals)


@fails("link.held")
class HoldsNothing(Link):
    """Announces a window, but holds nothing that comes too early."""

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        super()._data(seq, body, now, arrivals)
        self._held.clear()


@fails("link.too_far")
class HoldsTooMuch(Link):
    """Holds more than its window allows."""

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        window, self._window = self._window, 100
        super()._data(seq, body, now, arrivals)
        self._window = window


@fails("link.nak_again")
class AsksForOneGap(Link):
    """Does not ask for what is still missing once a gap was filled."""

    _delivering = False

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        self._delivering = seq == self._expected
        super()._data(seq, body, now, arrivals)
        self._delivering = False

    def _gap(self, now: float) -> None:
        if not self._delivering:
            super()._gap(now)


@fails("link.nak_damaged")
class IgnoresDamage(Link):
    """Counts a damaged frame, but waits until it is sent again."""

    def _bad(self, bad: BadFrame, now: float) -> None:
        self.counters.count_bad(bad)


@fails("link.nak_ahead")
class IgnoresWhatWasSent(Link):
    """Does not notice from an ACK that more was sent than it received."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] in (PacketType.ACK, PacketType.NAK):
            kind, session, _, ack = SEQUENCED.unpack_from(body)
            body = SEQUENCED.pack(kind, session, self._expected, ack)
        super()._packet(body, now, arrivals)


@fails("link.nak_limit")
class AsksWithoutEnd(Link):
    """Sends a NAK for every damaged frame."""

    def _gap(self, now: float) -> None:
        self._naks_left = NAKS_MAX
        super()._gap(now)


@fails("link.wild_ack")
class DropsWildAcks(Link):
    """Drops a packet whose ack is outside the range it sent."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] == PacketType.DATA and len(body) > SEQUENCED.size:
            _, session, _, ack = SEQUENCED.unpack_from(body)
            if session == self.session and 0 < (ack - self._next_seq) & 0xFFFF < 0x8000:
                return
        super()._packet(body, now, arrivals)


@fails("link.ack_counts")
class WantsAcksInOrder(Link):
    """Uses the ack only if it accepts the DATA."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] == PacketType.DATA and self._sent and len(body) > SEQUENCED.size:
            kind, session, seq, _ = SEQUENCED.unpack_from(body)
            if seq != self._expected:
                body = SEQUENCED.pack(kind, session, seq, self._sent[0].seq) + body[SEQUENCED.size :]
        super()._packet(body, now, arrivals)


# --- resending ------------------------------------------------------------------------------------------------------


@fails("link.resend_next")
class WaitsAgainForEach(Link):
    """After a time-out, waits for another one before it sends the next packet again."""

    def tick(self, now: float) -> list[Arrival]:
        arrivals = super().tick(now)
        self._overdue_to = self._sent[0].seq if self._sent else 0
        return arrivals


@fails("link.resend_zero")
class ResendsWithoutZero(Link):
    """Sends no zero before a packet that it resends."""

    def _resend(self, packet: _Sent, now: float) -> None:
        before = len(self._out)
        super()._resend(packet, now)
        del self._out[before]


@fails("link.resend_early")
class ResendsEarly(Link):
    """Waits 20 ms for the first acknowledgement of a session."""

    def _forget(self) -> None:
        super()._forget()
        self._resend_s = 0.02

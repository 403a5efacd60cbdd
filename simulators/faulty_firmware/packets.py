"""Defects in parsing packets: too trusting, or too strict."""

from __future__ import annotations

from firmware_bridge.wire.link import Arrival, Link
from firmware_bridge.wire.packet import MAX_MESSAGE, OPENING, SEQUENCED, PacketType, ResetReason
from simulators.faulty_firmware.defect_lists import fails


@fails("link.version")
class KnowsOneVersion(Link):
    """Does not answer an OPEN of another version."""

    def _send_reset(self, session: int, reason: ResetReason, now: float) -> None:
        if reason is not ResetReason.OTHER_VERSION:
            super()._send_reset(session, reason, now)


@fails("link.version_zero")
class ResetsAllOnOtherVersion(Link):
    """Answers an OPEN of another version even if it names no session."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        super()._packet(body, now, arrivals)
        if body[0] == 0x20 and not any(body[1:3]):
            self._send_reset(0, ResetReason.OTHER_VERSION, now)


@fails("link.open_zero")
class OpensSessionZero(Link):
    """Treats 0 as a session like any other."""

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        _, session, boot, window, _ = OPENING.unpack_from(body)
        if session == 0:
            self._up(0, boot, window, now, arrivals)
            self._emit(OPENING.pack(PacketType.OPENED, 0, self.boot, self._window, 0), now)
        else:
            super()._asked_to_open(body, now, arrivals)


@fails("link.data_zero")
class ResetsSessionZero(Link):
    """Answers RESET with session 0 to packets with session 0."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] in (PacketType.DATA, PacketType.ACK, PacketType.NAK) and not any(body[1:3]):
            self._send_reset(0, ResetReason.NO_SUCH_SESSION, now)
        else:
            super()._packet(body, now, arrivals)


@fails("link.reset_zero")
class ObeysResetOfAll(Link):
    """Closes its session on a RESET with session 0, as a host does."""

    def _was_reset(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if not any(body[1:3]):
            body = body[:1] + self.session.to_bytes(2, "little") + body[3:]
        super()._was_reset(body, now, arrivals)


@fails("link.malformed")
class TakesEmptyData(Link):
    """Accepts DATA without a message as the packet that it expects."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] == PacketType.DATA and len(body) == SEQUENCED.size:
            body += b"\xc0"
        super()._packet(body, now, arrivals)


@fails("link.long_message")
class TakesLongMessages(Link):
    """Accepts any message that fits into a frame."""

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if body[0] == PacketType.DATA and len(body) > SEQUENCED.size + MAX_MESSAGE:
            _, session, seq, _ = SEQUENCED.unpack_from(body)
            if session == self.session:
                self._data(seq, body, now, arrivals)
        else:
            super()._packet(body, now, arrivals)


@fails("link.spare_bytes")
class WantsExactPackets(Link):
    """Drops an OPEN that is longer than expected."""

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if len(body) == OPENING.size:
            super()._asked_to_open(body, now, arrivals)


@fails("link.security")
class WantsNoSecurity(Link):
    """Drops an OPEN with a security value that it does not know."""

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        if OPENING.unpack_from(body)[4] == 0:
            super()._asked_to_open(body, now, arrivals)

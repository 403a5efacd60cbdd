"""Defects of the lowest layer, the frame."""

from __future__ import annotations

from cobs import cobs

from firmware_bridge.wire.frame import MAX_ENCODED, BadFrame, Flaw, FrameDecoder
from firmware_bridge.wire.link import Link, LinkState
from simulators.faulty_firmware.defect_lists import fails


@fails("frame.crc")
class NoCrcCheck(FrameDecoder):
    """Removes the CRC without checking it."""

    def feed(self, data: bytes) -> list[bytes | BadFrame]:
        return [self._trusting(frame) for frame in super().feed(data)]

    def _trusting(self, frame: bytes | BadFrame) -> bytes | BadFrame:
        if isinstance(frame, BadFrame) and frame.flaw is Flaw.BAD_CRC:
            return bytes(cobs.decode(frame.encoded)[:-4])
        return frame


@fails("frame.resync")
class LosesNextFrame(FrameDecoder):
    """Drops the frame after a bad one too."""

    def __init__(self) -> None:
        super().__init__()
        self._after_bad = False

    def feed(self, data: bytes) -> list[bytes | BadFrame]:
        kept: list[bytes | BadFrame] = []
        for frame in super().feed(data):
            if isinstance(frame, BadFrame) or not self._after_bad:
                kept.append(frame)
            self._after_bad = isinstance(frame, BadFrame) and frame.flaw in (Flaw.BAD_COBS, Flaw.TOO_SHORT)
        return kept


@fails("frame.oversize")
class StartsAnewWhenFull(FrameDecoder):
    """Empties a full buffer and continues in the middle of a frame."""

    def __init__(self) -> None:
        super().__init__()
        self._held = 0

    def feed(self, data: bytes) -> list[bytes | BadFrame]:
        found: list[bytes | BadFrame] = []
        for at in range(len(data)):
            byte = data[at : at + 1]
            self._held = 0 if byte == b"\x00" else self._held + 1
            found += super().feed(byte)
            if self._held > MAX_ENCODED:
                self._held, self._skipping = 0, False
        return found


@fails("frame.empty")
class EmptyIsBad(FrameDecoder):
    """Treats an extra delimiter as a damaged frame."""

    def feed(self, data: bytes) -> list[bytes | BadFrame]:
        empty = b"\x00\x00" in data or (data.startswith(b"\x00") and not self._buffer)
        found = super().feed(data)
        return [*found, BadFrame(Flaw.TOO_SHORT, 5, 0, b"")] if empty else found


@fails("frame.split")
class WantsWholeFrames(FrameDecoder):
    """Expects each read to end at the end of a frame."""

    def feed(self, data: bytes) -> list[bytes | BadFrame]:
        found = super().feed(data)
        self._buffer = b""
        return found


@fails("frame.counted")
class CountsGoodFramesOnly(Link):
    """Requests damaged frames again, but does not count them."""

    def _bad(self, bad: BadFrame, now: float) -> None:
        if self.state is LinkState.OPEN:
            self._gap(now)

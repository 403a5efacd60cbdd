"""The points about the lowest layer, the frame."""

from __future__ import annotations

import zlib

from cobs import cobs

from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import IDENTITY, Failed, number_of
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.frame import DELIMITER, encode_frame
from firmware_bridge.wire.packet import Packet, PacketType, pack

GARBAGE = b"\xfe\x13\x37\xa5\x5a"  # not valid COBS


@point("frame.crc", "Frame", "A frame with a wrong CRC is never acted on.")
def frame_crc(talk: Talk) -> Steps[None]:
    """The frame is valid COBS, so that only the CRC is wrong."""
    yield from talk.greet()
    body = pack(talk.data(talk.probe()))
    crc = zlib.crc32(body)
    wrong = [crc ^ 1, crc ^ 0x80000000, 0]
    talk.write(b"".join(cobs.encode(body + each.to_bytes(4, "little")) + DELIMITER for each in wrong))
    if (yield from talk.acknowledgement(talk.data(b""), QUIET_S)):
        raise Failed(f"a frame with a CRC other than {crc:08x} was acted on: {talk.received()}")


@point("frame.resync", "Frame", "A good frame right after garbage or a partial frame is received.")
def frame_resync(talk: Talk) -> Steps[None]:
    """Both kinds of damage, each ended by a delimiter and followed directly by the good frame."""
    yield from talk.greet()
    half = encode_frame(pack(talk.data(talk.probe())))[:7]
    for damage, name in ((GARBAGE, "garbage"), (half, "a partial frame")):
        probe, good = talk.probe_frame()
        talk.write(damage + DELIMITER + good)
        yield from talk.answer_to(probe, f"a good frame right after {name} was not received")


@point("frame.oversize", "Frame", "After 256 bytes without a zero everything up to the next zero is dropped.")
def frame_oversize(talk: Talk) -> Steps[None]:
    """The flood ends with what would be a good frame on its own; after the zero follows a real one."""
    yield from talk.greet()
    hidden = talk.probe()
    flood = b"\x55" * 256 + encode_frame(pack(talk.data(hidden)))
    probe, good = talk.probe_frame()
    talk.write(flood + good)
    if (yield from talk.message((IDENTITY,), number_of(hidden), QUIET_S)):
        raise Failed("part of a flood of more than 256 bytes was accepted as a frame")
    yield from talk.answer_to(probe, "a good frame after a flood of more than 256 bytes was not received")


@point("frame.empty", "Frame", "A zero byte with nothing before it has no meaning.")
def frame_empty(talk: Talk) -> Steps[None]:
    """Alone, and around a frame."""
    yield from talk.greet()
    talk.write(DELIMITER * 5)
    complaint = yield from talk.packet(PacketType.NAK, PacketType.RESET, within=QUIET_S)
    if complaint:
        raise Failed(f"expected nothing after extra zero bytes, but {talk.received()}")
    probe, frame = talk.probe_frame()
    talk.write(DELIMITER * 2 + frame + DELIMITER * 2)
    yield from talk.answer_to(probe, "a frame between extra zero bytes was not received")


@point("frame.split", "Frame", "A frame that arrives byte by byte is received.")
def frame_split(talk: Talk) -> Steps[None]:
    """With a pause after every byte, so that no driver combines them."""
    yield from talk.greet()
    probe, frame = talk.probe_frame()
    talk.acknowledges = False  # an acknowledgement would be sent in the middle of the frame
    for at in range(len(frame) - 1):
        talk.write(frame[at : at + 1])
        yield from talk.rest(0.003)
    talk.acknowledges = True
    talk.write(frame[-1:])
    yield from talk.answer_to(probe, "a frame that was sent byte by byte was not received")


@point("frame.counted", "Frame", "A damaged frame is counted.")
def frame_counted(talk: Talk) -> Steps[None]:
    """With a good frame after each, which may be lost with it (frame.resync)."""
    yield from talk.greet()
    before = yield from talk.counters()
    good = encode_frame(pack(Packet(PacketType.ACK, talk.session, seq=talk.next_seq, ack=talk.expected)))
    talk.write((GARBAGE + DELIMITER + good) * 3)
    after = yield from talk.counters()
    if after.frames_bad < before.frames_bad + 3:
        raise Failed(f"three damaged frames: frames_bad was {before.frames_bad} before and is {after.frames_bad} now")

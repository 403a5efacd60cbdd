"""The points of the lowest layer: frame."""

from __future__ import annotations

import zlib

from cobs import cobs

from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import IDENTITY, Failed, number_of
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.frame import DELIMITER, encode_frame
from firmware_bridge.wire.messages import AskCounters, Counters
from firmware_bridge.wire.packet import Packet, PacketType, pack

GARBAGE = b"\xfe\x13\x37\xa5\x5a"  # no COBS


@point("frame.crc", "Frame", "A frame with a wrong CRC is never acted on.")
def frame_crc(talk: Talk) -> Steps[None]:
    """The frame is good COBS, so that nothing but the CRC can tell."""
    yield from talk.greet()
    body = pack(talk.data(talk.probe()))
    crc = zlib.crc32(body)
    wrong = [crc ^ 1, crc ^ 0x80000000, 0]
    talk.write(b"".join(cobs.encode(body + each.to_bytes(4, "little")) + DELIMITER for each in wrong))
    if (yield from talk.acknowledgement(talk.data(b""), QUIET_S)):
        raise Failed(f"a frame with a CRC other than {crc:08x} was acted on: {talk.heard()}")


@point("frame.resync", "Frame", "A good frame right after garbage or half a frame is heard.")
def frame_resync(talk: Talk) -> Steps[None]:
    """Both kinds of rubbish, each ended by a delimiter with the good frame directly behind it."""
    yield from talk.greet()
    half = encode_frame(pack(talk.data(talk.probe())))[:7]
    for rubbish, name in ((GARBAGE, "garbage"), (half, "half a frame")):
        probe = talk.probe()
        good = encode_frame(pack(talk.data(probe)))
        talk.next_seq += 1
        talk.write(rubbish + DELIMITER + good)
        yield from talk.answer_to(probe, f"a good frame right after {name} was not heard")


@point("frame.oversize", "Frame", "After 256 bytes without a zero everything up to the next zero is dropped.")
def frame_oversize(talk: Talk) -> Steps[None]:
    """The flood ends in what would be a good frame if it stood alone; behind the zero comes a real one."""
    yield from talk.greet()
    hidden, probe = talk.probe(), talk.probe()
    flood = b"\x55" * 256 + encode_frame(pack(talk.data(hidden)))
    good = encode_frame(pack(talk.data(probe)))
    talk.next_seq += 1
    talk.write(flood + good)
    if (yield from talk.message((IDENTITY,), number_of(hidden), QUIET_S)):
        raise Failed("what stood within a flood of 256 bytes and more was taken for a frame")
    yield from talk.answer_to(probe, "a good frame after a flood of 256 bytes and more was not heard")


@point("frame.empty", "Frame", "A zero byte with nothing before it means nothing.")
def frame_empty(talk: Talk) -> Steps[None]:
    """Alone, and around a frame."""
    yield from talk.greet()
    talk.write(DELIMITER * 5)
    complaint = yield from talk.packet(PacketType.NAK, PacketType.RESET, within=QUIET_S)
    if complaint:
        raise Failed(f"expected nothing after spare zero bytes, but {talk.heard()}")
    probe = talk.probe()
    frame = encode_frame(pack(talk.data(probe)))
    talk.next_seq += 1
    talk.write(DELIMITER * 2 + frame + DELIMITER * 2)
    yield from talk.answer_to(probe, "a frame between spare zero bytes was not heard")


@point("frame.split", "Frame", "A frame that comes byte by byte is heard.")
def frame_split(talk: Talk) -> Steps[None]:
    """With a pause after every byte, so that no driver puts them together again."""
    yield from talk.greet()
    probe = talk.probe()
    frame = encode_frame(pack(talk.data(probe)))
    talk.next_seq += 1
    talk.acknowledges = False  # an acknowledgement would fall into the middle of the frame
    for at in range(len(frame) - 1):
        talk.write(frame[at : at + 1])
        yield from talk.rest(0.003)
    talk.acknowledges = True
    talk.write(frame[-1:])
    yield from talk.answer_to(probe, "a frame that came byte by byte was not heard")


@point("frame.counted", "Frame", "A damaged frame is counted.")
def frame_counted(talk: Talk) -> Steps[None]:
    """With a good frame behind each, so that one which is lost with it (frame.resync) hides nothing."""
    yield from talk.greet()
    before = yield from talk.ask(AskCounters(talk.next_ref()), Counters)
    good = encode_frame(pack(Packet(PacketType.ACK, talk.session, seq=talk.next_seq, ack=talk.expected)))
    talk.write((GARBAGE + DELIMITER + good) * 3)
    after = yield from talk.ask(AskCounters(talk.next_ref()), Counters)
    if after.frames_bad < before.frames_bad + 3:
        raise Failed(f"three damaged frames: frames_bad was {before.frames_bad} and is {after.frames_bad}")

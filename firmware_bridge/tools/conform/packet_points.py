"""The points about packets: what a device must ignore, and where it must not be too strict."""

from __future__ import annotations

from firmware_bridge.tools.conform.link_talk import SOON_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Failed, longer
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.frame import DELIMITER, MAX_BODY, encode_frame
from firmware_bridge.wire.messages import Identify
from firmware_bridge.wire.packet import MAX_MESSAGE, Packet, PacketType, ResetReason, pack

OTHER_VERSION_OPEN = 0x20


@point("link.version", "Packets", "An OPEN of another link version is answered by RESET with reason 2.")
def link_version(talk: Talk) -> Steps[None]:
    """In the middle of a session, which must continue."""
    yield from talk.greet()
    other = talk.other_session()
    talk.write(encode_frame(_other_version(talk, other)))
    yield from talk.reset_of(other, ResetReason.OTHER_VERSION, f"type {OTHER_VERSION_OPEN:#x}")
    yield from talk.answered("the current session did not continue")


@point("link.version_zero", "Packets", "An OPEN of another link version without a session gets no RESET.")
def link_version_zero(talk: Talk) -> Steps[None]:
    """Session 0, and no session at all."""
    yield from talk.greet()
    without_session = _other_version(talk, 0)
    what = f"type {OTHER_VERSION_OPEN:#x} with session 0 or none"
    yield from _ignored(talk, encode_frame(without_session) + encode_frame(without_session[:1]), what)


def _other_version(talk: Talk, session: int) -> bytes:
    opening = pack(Packet(PacketType.OPEN, session, boot=talk.host_boot, window=8))
    return bytes([OTHER_VERSION_OPEN]) + opening[1:]


@point("link.open_zero", "Packets", "An OPEN with session 0 is dropped.")
def link_open_zero(talk: Talk) -> Steps[None]:
    """In the middle of a session, which must continue."""
    yield from talk.greet()
    opening = Packet(PacketType.OPEN, 0, boot=talk.host_boot, window=8)
    yield from _ignored(talk, encode_frame(pack(opening)), "OPEN with session 0")


@point("link.data_zero", "Packets", "DATA, ACK and NAK with session 0 are dropped.")
def link_data_zero(talk: Talk) -> Steps[None]:
    """Answering with a RESET of session 0 would end whatever session the host is in."""
    yield from talk.greet()
    for kind in (PacketType.DATA, PacketType.ACK, PacketType.NAK):
        stray = Packet(kind, 0, seq=3, ack=5, message=talk.probe() if kind is PacketType.DATA else b"")
        yield from _ignored(talk, encode_frame(pack(stray)), f"{kind.name} with session 0")


@point("link.reset_zero", "Reset", "A device ignores RESET with session 0.")
def link_reset_zero(talk: Talk) -> Steps[None]:
    """Only a device that has just started sends it, never a host."""
    yield from talk.greet()
    reset = Packet(PacketType.RESET, 0, boot=talk.host_boot, reason=ResetReason.NO_SUCH_SESSION)
    yield from _ignored(talk, encode_frame(pack(reset)), "RESET with session 0")


@point("link.malformed", "Packets", "A packet that is too short or of unknown type is dropped.")
def link_malformed(talk: Talk) -> Steps[None]:
    """The DATA packet without a message has the number of the question after it, and must not replace it."""
    yield from talk.greet()
    numbered = pack(talk.data(b""))
    opening = pack(Packet(PacketType.OPEN, talk.other_session(), boot=talk.host_boot, window=8))
    unknown = [bytes([kind]) + numbered[1:] for kind in (0x1F, PacketType.SECURE_HANDSHAKE, PacketType.SECURE_DATA)]
    bodies = [numbered, numbered[:-1], opening[:-1], *unknown, bytes([PacketType.RESET])]
    yield from _ignored(talk, b"".join(map(encode_frame, bodies)), "an invalid packet")


def _ignored(talk: Talk, frames: bytes, what: str) -> Steps[None]:
    """Send what must not be answered, directly followed by a question: the session must continue."""
    probe, asked = talk.probe_frame()
    talk.write(frames + asked)
    yield from talk.answer_to(probe, f"after {what} the session did not continue")
    answers = talk.came(PacketType.OPENED) + talk.came(PacketType.RESET)
    if answers:
        raise Failed(f"{what} was answered: {' '.join(str(answers[0]).split())}")


@point("link.long_message", "Packets", "DATA with a message of 224 bytes is accepted, a longer one is dropped.")
def link_long_message(talk: Talk) -> Steps[None]:
    """A question, padded with an element of a later version. Only the acknowledgement is checked."""
    yield from talk.greet()
    if not (yield from talk.acknowledgement(talk.say(_filled(talk.next_ref(), MAX_MESSAGE)), SOON_S)):
        raise Failed(f"a message of {MAX_MESSAGE} bytes: expected its acknowledgement, but {talk.received()}")
    too_long = encode_frame(pack(talk.data(_filled(talk.next_ref(), MAX_MESSAGE + 1))))
    yield from _ignored(talk, too_long, f"a message of {MAX_MESSAGE + 1} bytes")


def _filled(ref: int, size: int) -> bytes:
    overhead = len(longer(Identify(ref), (bytes(100),))) - 100
    return longer(Identify(ref), (bytes(size - overhead),))


@point("link.spare_bytes", "Packets", "Bytes after the layout of a packet are ignored.")
def link_spare_bytes(talk: Talk) -> Steps[None]:
    """One byte, and as many as fit into the longest frame."""
    yield from talk.open(spare=b"\x01")
    body = pack(talk.opening())
    talk.write(DELIMITER + encode_frame(body + bytes(range(1, MAX_BODY - len(body) + 1))))
    if not (yield from talk.packet(PacketType.OPENED)):
        raise Failed(f"OPEN in the longest frame: expected OPENED, but {talk.received()}")


@point("link.security", "Packets", "An OPEN with an unknown security value is answered as if it were 0.")
def link_security(talk: Talk) -> Steps[None]:
    """The host decides whether that is acceptable."""
    yield from talk.open(security=0xEE)
    yield from talk.hello()

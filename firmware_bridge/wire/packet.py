"""Packets: the bodies of frames, which the two ends of a link exchange. docs/protocol.md has their layouts."""

# mypyc
from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Final

from firmware_bridge.wire.frame import MAX_BODY

LINK_VERSION: Final = 1


class PacketType(enum.IntEnum):
    """The first byte of every body: the link version in the high half, the type in the low half."""

    OPEN = 0x10
    OPENED = 0x11
    DATA = 0x12
    ACK = 0x13
    NAK = 0x14
    RESET = 0x15
    # Reserved for the authenticated, encrypted session: its handshake and its sealed messages.
    SECURE_HANDSHAKE = 0x18
    SECURE_DATA = 0x19


class ResetReason(enum.IntEnum):
    """Why a side ends a link session with RESET."""

    GOODBYE = 0
    NO_SUCH_SESSION = 1
    OTHER_VERSION = 2
    PROTOCOL_ERROR = 3


OPENING: Final = struct.Struct("<BHIBB")  # type, session, boot, window, security
SEQUENCED: Final = struct.Struct("<BHHH")  # type, session, sequence number, acknowledged; in DATA a message follows
RESETTING: Final = struct.Struct("<BHIB")  # type, session, boot, reason

# A message is shorter than a DATA packet could carry, which leaves room for a 16-byte seal.
MAX_MESSAGE: Final = MAX_BODY - SEQUENCED.size - 16 - 3
assert MAX_MESSAGE == 224


@dataclass(frozen=True, slots=True)
class Packet:
    """One parsed packet, for people and tools; the link itself reads the bytes directly."""

    type: PacketType
    session: int
    boot: int = 0
    window: int = 0
    security: int = 0
    seq: int = 0
    ack: int = 0
    reason: int = 0
    message: bytes = b""

    def __str__(self) -> str:
        head = f"{self.type.name:<6} session {self.session:04x}"
        if self.type in (PacketType.OPEN, PacketType.OPENED):
            return f"{head} boot {self.boot:08x} window {self.window}"
        if self.type is PacketType.RESET:
            return f"{head} boot {self.boot:08x} {reset_reason(self.reason)}"
        return f"{head} seq {self.seq} ack {self.ack}"


def reset_reason(code: int) -> str:
    """The reason of a RESET in words."""
    try:
        return ResetReason(code).name.lower().replace("_", " ")
    except ValueError:
        return f"reason {code}"


def parse_packet(body: bytes) -> Packet | None:
    """The packet in a frame's body, or None if it is not a packet of this link version."""
    try:
        kind = PacketType(body[0])
        if kind in (PacketType.OPEN, PacketType.OPENED):
            _, session, boot, window, security = OPENING.unpack_from(body)
            return Packet(kind, session, boot=boot, window=window, security=security)
        if kind is PacketType.RESET:
            _, session, boot, reason = RESETTING.unpack_from(body)
            return Packet(kind, session, boot=boot, reason=reason)
        _, session, seq, ack = SEQUENCED.unpack_from(body)
        return Packet(kind, session, seq=seq, ack=ack, message=body[SEQUENCED.size :])
    except (ValueError, IndexError, struct.error):
        return None


def pack(packet: Packet) -> bytes:
    """The frame body for a packet; the inverse of `parse_packet`."""
    if packet.type in (PacketType.OPEN, PacketType.OPENED):
        return OPENING.pack(packet.type, packet.session, packet.boot, packet.window, packet.security)
    if packet.type is PacketType.RESET:
        return RESETTING.pack(packet.type, packet.session, packet.boot, packet.reason)
    return SEQUENCED.pack(packet.type, packet.session, packet.seq, packet.ack) + packet.message

"""The lists of defects: of the protocol by the point that finds them, and of the mechanics by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from firmware_bridge.wire.frame import FrameDecoder
from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import Capability, DeviceRole, Done, Reason, Refused, message_number
from simulators.devices.firmware import Firmware

DEFECTS: dict[str, type[Firmware]] = {}

Part = TypeVar("Part", bound=type[Firmware] | type[Link] | type[FrameDecoder])


def fails(point: str) -> Callable[[Part], Part]:
    """Book the part that follows as the defect which fails this point, in a firmware that has it in its place."""

    def book(part: Part) -> Part:
        build: Any = part
        if issubclass(build, FrameDecoder):
            build = type(build.__name__, (Link,), {"decoder_type": build})
        if issubclass(build, Link):
            build = type(build.__name__, (Firmware,), {"link_type": build})
        DEFECTS[point] = build
        return part

    return book


def done_instead(message: bytes, of: Reason) -> bytes:
    """Done in the place of a refusal for this reason; every other message as it is."""
    number, *fields = msgspec.msgpack.decode(message)
    return Done(fields[0]).encode() if number == message_number(Refused) and fields[1] == of else message


@dataclass(frozen=True, slots=True)
class MechanicalDefect:
    """A defect in what a device does with cards, or says about them. `found_by` is the point that checks for it in
    an interactive run; empty: nothing that a device reports can show it."""

    build: type[Firmware]
    role: DeviceRole
    found_by: str
    gains: frozenset[Capability]
    lacks: frozenset[Capability]

    @property
    def text(self) -> str:
        """What the device does, in words."""
        return " ".join((self.build.__doc__ or "").split())


MECHANICAL: dict[str, MechanicalDefect] = {}


def mechanical(
    role: DeviceRole, found_by: str, *, gains: Collection[Capability] = (), lacks: Collection[Capability] = ()
) -> Callable[[type[Firmware]], type[Firmware]]:
    """Book the firmware that follows as a mechanical defect of a device with these capabilities."""

    def book(build: type[Firmware]) -> type[Firmware]:
        MECHANICAL[build.__name__] = MechanicalDefect(build, role, found_by, frozenset(gains), frozenset(lacks))
        return build

    return book

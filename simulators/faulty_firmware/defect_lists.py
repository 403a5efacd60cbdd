"""The lists of defects: protocol defects by the point that finds them, mechanical ones by name."""

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
    """Register the decorated part as the defect that fails this point, in a firmware that uses it."""

    def register(part: Part) -> Part:
        build: Any = part
        if issubclass(build, FrameDecoder):
            build = type(build.__name__, (Link,), {"decoder_type": build})
        if issubclass(build, Link):
            build = type(build.__name__, (Firmware,), {"link_type": build})
        DEFECTS[point] = build
        return part

    return register


def done_instead(message: bytes, of: Reason) -> bytes:
    """Replace a refusal for this reason with Done; leave every other message as it is."""
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
    """Register the decorated firmware as a mechanical defect of a device with these capabilities."""

    def register(build: type[Firmware]) -> type[Firmware]:
        MECHANICAL[build.__name__] = MechanicalDefect(build, role, found_by, frozenset(gains), frozenset(lacks))
        return build

    return register

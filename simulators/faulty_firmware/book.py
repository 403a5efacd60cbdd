"""The list of defects, by the point that finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from firmware_bridge.wire.frame import FrameDecoder
from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import Done, Reason, Refused, message_number
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

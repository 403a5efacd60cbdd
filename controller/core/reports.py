"""What devices and time tell the table, typed. What people tell it is in actions.py."""

from __future__ import annotations

import msgspec

from controller.core.actions import AnyAction
from firmware_bridge.messages import AnyEvent, Done, Refused


class DeviceReady(msgspec.Struct, frozen=True):
    """A device has been greeted. `restarted`: what it knew before is gone."""

    device: str
    boot: int
    capabilities: tuple[int, ...] = ()
    restarted: bool = False
    last_command: int = 0


class DeviceLost(msgspec.Struct, frozen=True):
    """The link to a device is gone."""

    device: str
    detail: str = ""


class DeviceEvent(msgspec.Struct, frozen=True):
    """An event of a device."""

    device: str
    boot: int
    event: AnyEvent


class CommandAnswered(msgspec.Struct, frozen=True):
    """A device has answered a command: done, refused, or it does not know (None)."""

    device: str
    id: int
    answer: Done | Refused | None


class Tick(msgspec.Struct, frozen=True):
    """Time has passed."""


Report = AnyAction | DeviceReady | DeviceLost | DeviceEvent | CommandAnswered | Tick

"""What devices and time tell the table, typed. What people tell it is in actions.py."""

from __future__ import annotations

import msgspec

from controller.core.actions import AnyAction
from firmware_bridge.wire.messages import AnyEvent, Done, Refused


class DeviceReady(msgspec.Struct, frozen=True):
    """A device has been greeted. `restarted`: what it knew before is gone."""

    device: str
    boot: int
    capabilities: tuple[int, ...] = ()
    restarted: bool = False
    last_command: int = 0


class DeviceAhead(msgspec.Struct, frozen=True):
    """A device no longer has events that the journal does not have; `told` is the number of the last of them."""

    device: str
    boot: int
    told: int


class LinkLost(msgspec.Struct, frozen=True):
    """The link to a device is gone."""

    device: str
    detail: str = ""


class DeviceEvent(msgspec.Struct, frozen=True):
    """An event of a device."""

    device: str
    boot: int
    event: AnyEvent


class CommandReply(msgspec.Struct, frozen=True):
    """A device has answered a command: done, refused, or it does not know (None)."""

    device: str
    id: int
    answer: Done | Refused | None


class HostBoot(msgspec.Struct, frozen=True):
    """The daemon has come up. `boot_id` and `up_ms` are the computer's life and how long it has lasted.

    `away_ms` is how much later it is than the last event, by the best clock there was.
    """

    boot_id: str
    up_ms: int
    away_ms: int
    software: str = ""


class SignIn(msgspec.Struct, frozen=True):
    """Somebody gave a name and a PIN. `known`: there is such a person; `right`: it was their PIN."""

    who: str
    roles: tuple[str, ...]
    known: bool
    right: bool
    via: str = "screen"


class Tick(msgspec.Struct, frozen=True):
    """Time has passed."""


Report = AnyAction | DeviceReady | DeviceAhead | LinkLost | DeviceEvent | CommandReply | HostBoot | SignIn | Tick

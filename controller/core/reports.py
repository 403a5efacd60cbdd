"""The inputs of the core: what devices, the host and the clock report. Actions of people are in actions.py."""

from __future__ import annotations

import msgspec

from controller.core.actions import AnyAction
from firmware_bridge.wire.messages import AnyEvent, Done, Refused


class DeviceReady(msgspec.Struct, frozen=True):
    """A device has connected. `restarted`: it has lost its memory."""

    device: str
    boot: int
    capabilities: tuple[int, ...] = ()
    restarted: bool = False
    last_command: int = 0
    maker: str = ""
    model: str = ""
    serial: str = ""
    firmware: str = ""
    firmware_digest: str = ""
    longest_ms: tuple[int, ...] = ()  # how long each cycle may take, in the order of their numbers


class DeviceAhead(msgspec.Struct, frozen=True):
    """A device has dropped events that are missing from the journal; `told` is the number of the last of them."""

    device: str
    boot: int
    told: int


class DeviceUnusable(msgspec.Struct, frozen=True):
    """A device answers, but no session with it is possible; `reason` follows "the shoe cannot be used here:"."""

    device: str
    reason: str


class DeviceFlooding(msgspec.Struct, frozen=True):
    """A device sends more events than it should."""

    device: str
    detail: str


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
    """A device has answered a command: done, refused, or outcome unknown (None)."""

    device: str
    id: int
    answer: Done | Refused | None


class CardsRecognised(msgspec.Struct, frozen=True):
    """A device has answered which cards it put out with a command."""

    device: str
    command: int
    kinds: tuple[int, ...]


class HostBoot(msgspec.Struct, frozen=True):
    """The daemon has started. `boot_id` identifies the computer's current boot, `up_ms` is the time since then.

    `away_ms` is the time since the last event, by the best clock available; `wall_ms` is the wall clock's time.
    `replaces` is the id of the journal that this one takes the place of, if a person has decided that it does.
    """

    boot_id: str
    up_ms: int
    away_ms: int
    software: str = ""
    wall_ms: int = -1
    replaces: str = ""


class StateSaved(msgspec.Struct, frozen=True):
    """The daemon is about to save the state after an event; `digest` is that of the saved bytes."""

    of_event: int
    digest: str


class SignIn(msgspec.Struct, frozen=True):
    """Somebody entered a name and a PIN. `known`: there is such a person; `right`: it was their PIN.

    `action`: the PIN was entered for this action alone, and nobody was signed in by it.
    """

    who: str
    roles: tuple[str, ...]
    known: bool
    right: bool
    via: str = "screen"
    action: str = ""


class SignOut(msgspec.Struct, frozen=True):
    """A person is no longer signed in, in these roles; `reason` is empty if they signed out themselves."""

    who: str
    roles: tuple[str, ...]
    reason: str = ""
    via: str = "screen"


class Tick(msgspec.Struct, frozen=True):
    """Time has passed."""


Report = (
    AnyAction
    | DeviceReady
    | DeviceAhead
    | DeviceUnusable
    | DeviceFlooding
    | LinkLost
    | DeviceEvent
    | CommandReply
    | CardsRecognised
    | HostBoot
    | StateSaved
    | SignIn
    | SignOut
    | Tick
)

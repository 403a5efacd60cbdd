"""The handshake, and what the host says about the events that it has stored."""

from __future__ import annotations

import msgspec

from firmware_bridge.wire.messages.base import Message
from firmware_bridge.wire.messages.enums import DeviceRole
from firmware_bridge.wire.messages.fields import (
    Boot,
    Digest,
    Durations,
    EventNumber,
    Id,
    Name,
    Numbers,
    Text,
    Version,
    check_digest,
)


class Hello(Message, tag=1):
    """Host: the first message of a link session. It says which events the host has stored, and from which boot."""

    version_min: Version
    version_max: Version
    events_boot: Boot = 0
    events_stored: Id = 0
    software: Name = ""


class Welcome(Message, tag=2):
    """Device: the version both sides support, its identity, and what it remembers."""

    version: Version
    boot: Boot
    role: DeviceRole
    maker: Name
    model: Name
    serial: Name
    firmware: Name
    firmware_digest: Digest
    capabilities: Numbers
    first_event: EventNumber = 1  # the oldest event still kept, or the number the next one will have
    last_command: Id = 0  # the highest command id seen since this boot, 0 for none
    longest_ms: Durations = msgspec.field(default_factory=list)  # of each Cycle; 0 or missing: the host's default

    def __post_init__(self) -> None:
        check_digest(self.firmware_digest)


class Unwelcome(Message, tag=3):
    """Device: no session. Either there is no common version, or the host claims events that never existed."""

    version_min: Version
    version_max: Version
    text: Text = ""


class EventsStored(Message, tag=4):
    """Host: all events up to this number are stored; the device may forget them."""

    number: Id

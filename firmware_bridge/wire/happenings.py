"""What a session reports to its owner besides answers and events, and who a device says it is."""

# mypyc
from __future__ import annotations

from dataclasses import dataclass

import msgspec

from firmware_bridge.wire.link_types import Lost
from firmware_bridge.wire.messages import VERSION, AnyAnswer, AnyEvent, Capability, DeviceRole, Identity, Welcome


class EventMark(msgspec.Struct, frozen=True, gc=False):
    """A position in the events of a device: its boot, and the number of the last event."""

    boot: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """Who a device says it is."""

    role: DeviceRole
    maker: str
    model: str
    serial: str
    firmware: str
    firmware_digest: str
    capabilities: frozenset[Capability]

    @classmethod
    def of(cls, message: Welcome | Identity) -> DeviceIdentity:
        """From a message of the device; capabilities of a later version are ignored."""
        known = frozenset(capability for capability in Capability if capability in message.capabilities)
        return cls(
            message.role,
            message.maker,
            message.model,
            message.serial,
            message.firmware,
            message.firmware_digest.hex(),
            known,
        )

    def __str__(self) -> str:
        return f"{self.role.name.lower()} {self.maker} {self.model} serial {self.serial} firmware {self.firmware}"


@dataclass(frozen=True, slots=True)
class Ready:
    """The handshake is done. `restarted` means that the device has a new boot and has lost its earlier memory.

    `first_event` is more than 1 if another host has stored the events before it; this host will not receive them.
    """

    identity: DeviceIdentity
    version: int
    boot: int
    restarted: bool
    last_command: int
    first_event: int = 1
    longest_ms: tuple[int, ...] = ()  # how long each cycle may take, in the order of their numbers


@dataclass(frozen=True, slots=True)
class Rejected:
    """The device refuses a session with this host."""

    text: str
    version_min: int
    version_max: int

    def __str__(self) -> str:
        if self.version_min > VERSION or self.version_max < VERSION:
            return f"the device speaks protocol versions {self.version_min} to {self.version_max}, this host {VERSION}"
        return f"the device refused the session: {self.text}"


@dataclass(frozen=True, slots=True)
class WrongRole:
    """Another kind of device answered. Nothing was sent to it, and the state of the expected device is unchanged."""

    expected: DeviceRole
    identity: DeviceIdentity

    def __str__(self) -> str:
        return f"expected a {self.expected.name.lower()}, found a {self.identity}"


@dataclass(frozen=True, slots=True)
class Ahead:
    """The device no longer has events that are not stored here: most likely this host's disk has lost them.

    The host does not know what the device did in them. Once the owner has given these events up, `stored` with their
    last number lets the next greeting succeed.
    """

    boot: int
    stored: int
    last_forgotten: int  # the number of the last event that the device has deleted

    def __str__(self) -> str:
        first = self.stored + 1
        which = f"events {first} to {self.last_forgotten}" if first < self.last_forgotten else f"event {first}"
        return f"the device no longer has its {which}, which this host has not stored"


@dataclass(frozen=True, slots=True)
class Untrusted:
    """The link was ended because the device keeps violating the protocol. It should not be tried again soon."""

    detail: str

    def __str__(self) -> str:
        return f"it does not follow the protocol: {self.detail}"


@dataclass(frozen=True, slots=True)
class Flooding:
    """The device sends more events than it should; if that continues, it will be `Untrusted`."""

    events_per_s: float

    def __str__(self) -> str:
        return f"it keeps sending more than {self.events_per_s:g} events per second"


Happening = AnyAnswer | AnyEvent | Ready | Rejected | WrongRole | Ahead | Untrusted | Flooding | Lost

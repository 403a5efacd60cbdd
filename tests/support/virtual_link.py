"""Two ends of a link, or a host and a simulated device, connected by a virtual cable in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from firmware_bridge.wire.frame import BadFrame, FrameDecoder
from firmware_bridge.wire.link import Arrival, Link, LinkTiming, Lost, Opened
from firmware_bridge.wire.messages import EventMessage
from firmware_bridge.wire.packet import Packet, parse_packet
from firmware_bridge.wire.session import EventMark, HostSession, Ready
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SimulatedDevice, SimulatedTable
from simulators.devices.firmware import Firmware
from simulators.pipes.wires import VirtualLine, WireQuality

HOST_BOOT, DEVICE_BOOT = 0x0A0B0C0D, 0x5EED0001
CLEAN = WireQuality()
AT_9600 = WireQuality(baud=9600)
RED, BLUE = Spot(CardPlace.TABLE, 0), Spot(CardPlace.TABLE, 1)
HAND = Spot(CardPlace.HAND, 1)


class LinkEnd:
    """A link and its owner, which keeps what arrives."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.arrivals: list[Arrival] = []
        self.on_message: Callable[[bytes, float], None] = lambda message, now: None

    @property
    def deadline(self) -> float:
        return self.link.deadline

    def tick(self, now: float) -> list[Arrival]:
        return self._keep(self.link.tick(now), now)

    def receive(self, data: bytes, now: float) -> list[Arrival]:
        return self._keep(self.link.receive(data, now), now)

    def take_output(self) -> bytes:
        return self.link.take_output()

    @property
    def messages(self) -> list[bytes]:
        return [arrival for arrival in self.arrivals if isinstance(arrival, bytes)]

    @property
    def losses(self) -> list[Lost]:
        return [arrival for arrival in self.arrivals if isinstance(arrival, Lost)]

    def _keep(self, arrivals: list[Arrival], now: float) -> list[Arrival]:
        self.arrivals += arrivals
        for arrival in arrivals:
            if isinstance(arrival, bytes):
                self.on_message(arrival, now)
        return arrivals


class LinkPair:
    """A host's and a device's link on a virtual cable."""

    def __init__(
        self, quality: WireQuality = CLEAN, *, seed: int = 0, device_window: int = 8, timing: LinkTiming | None = None
    ) -> None:
        self.host = LinkEnd(Link(opens=True, boot=HOST_BOOT, timing=timing))
        self.device = LinkEnd(Link(opens=False, boot=DEVICE_BOOT, timing=timing, window=device_window))
        self.line = VirtualLine(
            self.host, self.device, to_device=quality, to_host=quality, rng=random.Random(seed), now=100.0
        )

    def opened(self, session: int = 7) -> LinkPair:
        """Open the link, which must work."""
        self.host.link.open(session, self.line.now)
        assert self.line.run(lambda: any(isinstance(a, Opened) for a in self.host.arrivals), limit_s=5)
        self.line.rest(0.05)
        return self


def packets(data: bytes) -> list[Packet]:
    """The packets in bytes that one side has sent, which must all be intact."""
    found = []
    for body in FrameDecoder().feed(data):
        assert not isinstance(body, BadFrame)
        packet = parse_packet(body)
        assert packet is not None
        found.append(packet)
    return found


class HostAtDevice:
    """A host that stores every event and reconnects after every loss, and the simulated device it talks to."""

    def __init__(
        self,
        table: SimulatedTable,
        device: SimulatedDevice,
        quality: WireQuality = CLEAN,
        *,
        seed: int = 0,
        reconnect: bool = True,
    ) -> None:
        self.table = table
        self.device = device
        self.host_boot = HOST_BOOT
        self.session = HostSession(host_boot=self.host_boot)
        self.line = VirtualLine(
            self.session, device, to_device=quality, to_host=quality, rng=random.Random(f"{seed}/wire")
        )
        self.line.on_happening = self._happened
        self.reconnect = reconnect
        self.store = True
        self.mark = EventMark()
        self.events: list[tuple[int, EventMessage]] = []  # boot and event, in order of arrival
        self.readies: list[Ready] = []
        self.losses: list[Lost] = []
        self.answers: list[Any] = []

    @property
    def firmware(self) -> Firmware:
        """The device's firmware, which must have power."""
        assert self.device.firmware is not None
        return self.device.firmware

    def connect(self, limit_s: float = 60) -> HostAtDevice:
        """Connect, which must work within this time."""
        before = len(self.readies)
        self.session.connect(self.line.now)
        assert self.line.run(lambda: len(self.readies) > before, limit_s=limit_s), "the host never became ready"
        return self

    def restart_host(self) -> None:
        """Start a new host process with what the old one had stored; the cable stays connected."""
        self.host_boot += 1
        self.line.cut()
        pending = self.session.unanswered
        self.session = HostSession(host_boot=self.host_boot, stored=self.mark)
        self.line.host = self.session
        for command in pending:
            self.session.send(command, self.line.now)
        self.session.connect(self.line.now)

    def answered(self, number: int, limit_s: float = 60) -> Any:
        """The answer to a command or question, which must arrive."""
        found: list[Any] = []

        def here() -> bool:
            found.extend(a for a in self.answers if getattr(a, "id", getattr(a, "ref", None)) == number)
            return bool(found)

        assert self.line.run(here, limit_s=limit_s), f"no answer to {number}"
        return found[-1]

    def numbers(self, boot: int) -> list[int]:
        """The numbers of the events of one boot, in order of arrival."""
        return [event.number for its_boot, event in self.events if its_boot == boot]

    def _happened(self, happening: Any, now: float) -> None:
        if isinstance(happening, EventMessage):
            self.events.append((self.session.boot, happening))
            if self.store:
                self.mark = EventMark(self.session.boot, happening.number)
                self.session.stored(self.mark, now)
        elif isinstance(happening, Ready):
            self.readies.append(happening)
        elif isinstance(happening, Lost):
            self.losses.append(happening)
            if self.reconnect:
                self.session.connect(now)
        else:
            self.answers.append(happening)


def host_at_shoe(quality: WireQuality = CLEAN, *, seed: int = 0, reconnect: bool = True, **table: Any) -> HostAtDevice:
    """A host and a shoe; other arguments go to the table."""
    made = SimulatedTable(seed, **table)
    return HostAtDevice(made, made.shoe, quality, seed=seed, reconnect=reconnect)


def host_at_shuffler(**table: Any) -> HostAtDevice:
    """A host and a shuffler; arguments go to the table."""
    made = SimulatedTable(**table)
    return HostAtDevice(made, made.shuffler)

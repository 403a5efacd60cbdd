"""Finds out, within a time limit, what is connected to a port.

A probe opens a link, greets the device, asks questions and closes the link. It gives no command, so no card can move,
and stores no event, so the controller still gets everything that the device has to report. If nothing of this protocol
answers, it asks in the other protocols for which there is a driver, again with nothing that could be carried out.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import Literal

from cobs import cobs

from firmware_bridge.drivers.angel_eye.recognise import BAUD, QUESTION, AngelEyeRecogniser
from firmware_bridge.ports.transport import (
    DEFAULT_SETTINGS,
    PortAbsent,
    PortError,
    PortLost,
    PortSettings,
    Transport,
    UsbAddress,
    open_port,
    parse_address,
)
from firmware_bridge.tools.observer import observer_session
from firmware_bridge.wire.frame import BadFrame, Flaw, FrameDecoder
from firmware_bridge.wire.health import RoundTrip
from firmware_bridge.wire.link import LinkState, LossReason, Lost
from firmware_bridge.wire.messages import VERSION, AskCounters, AskStatus, Counters, EventMessage, Status
from firmware_bridge.wire.packet import LINK_VERSION, Packet, PacketType, ResetReason, parse_packet, reset_reason
from firmware_bridge.wire.session import DeviceIdentity, Happening, Ready, Rejected

WITHIN_S = 3.0
SAMPLE = 4096  # bytes kept for the guess
TEXT_SHOWN = 32
RESTARTS = 3  # tolerated, because on many boards opening the port is a reset
STATUS_REF, COUNTERS_REF = 1, 2


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """A device that speaks this protocol."""

    identity: DeviceIdentity
    boot: int
    version: int
    first_event: int | None  # the oldest event that the controller has not stored yet
    status: Status
    counters: Counters
    round_trip: RoundTrip | None

    def __str__(self) -> str:
        return f"a {self.identity}"


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """A device with another version of this protocol; `speaks` is None if it did not say which."""

    of: Literal["link", "messages"]
    speaks: tuple[int, int] | None
    ours: int

    def __str__(self) -> str:
        which = "another version" if self.speaks is None else f"version {_span(self.speaks)}"
        return f"a device that speaks {which} of the {self.of}, this shoectl speaks {self.ours}"


@dataclass(frozen=True, slots=True)
class Unruly:
    """A device that speaks this protocol and violates it."""

    what: str

    def __str__(self) -> str:
        return f"a device that violates the protocol: {self.what}"


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Something sends, but not this protocol."""

    bytes: int
    bad_frames: int
    guess: str

    def __str__(self) -> str:
        return f"not a Dragonshoe device: {self.bytes} bytes received, but no frame for us; {self.guess}"


@dataclass(frozen=True, slots=True)
class Mute:
    """Nothing was received."""

    within_s: float

    def __str__(self) -> str:
        return f"nothing received within {self.within_s:g} s: not a Dragonshoe device, no power, or another baud rate"


@dataclass(frozen=True, slots=True)
class FoundForeign:
    """A device of another maker, with a protocol of its own for which there is a driver."""

    driver: str
    baud: int
    evidence: str

    def __str__(self) -> str:
        return f"an {self.driver} at {self.baud} baud: {self.evidence}"


Probed = FoundDevice | FoundForeign | OtherVersion | Unruly | NotOurs | Mute | PortError


def _span(versions: tuple[int, int]) -> str:
    return str(versions[0]) if versions[0] == versions[1] else f"{versions[0]} to {versions[1]}"


async def probe(address: str, settings: PortSettings = DEFAULT_SETTINGS, within_s: float = WITHIN_S) -> Probed:
    """Find out what is at this address. Opening has its own time limit; each conversation takes at most `within_s`."""
    inbox: asyncio.Queue[bytes | PortLost] = asyncio.Queue()
    try:
        port = await open_port(address, inbox.put_nowait, inbox.put_nowait, settings)
    except PortError as error:
        return error
    try:
        found = await _Probe(port, inbox, within_s).run()
    finally:
        port.close()
    if isinstance(found, Mute | NotOurs) and not isinstance(parse_address(address), UsbAddress):
        return await _probe_angel_eye(address, settings, within_s) or found
    return found


async def _probe_angel_eye(address: str, settings: PortSettings, within_s: float) -> FoundForeign | None:
    """Whether an Angel Eye is at this address; it has a baud rate of its own."""
    inbox: asyncio.Queue[bytes | PortLost] = asyncio.Queue()
    recogniser = AngelEyeRecogniser()
    try:
        port = await open_port(address, inbox.put_nowait, inbox.put_nowait, replace(settings, baud=BAUD))
    except PortError:
        return None
    try:
        async with asyncio.timeout(within_s):
            port.write(QUESTION)
            while isinstance(arrived := await inbox.get(), bytes):
                evidence = recogniser.feed(arrived)
                if evidence:
                    return FoundForeign("Angel Eye II-EX", BAUD, evidence)
                if recogniser.ask_again:
                    recogniser.asked()
                    port.write(QUESTION)
    except TimeoutError:
        pass
    finally:
        port.close()
    return None


class _Probe:
    """One conversation with whatever is connected."""

    def __init__(self, port: Transport, inbox: asyncio.Queue[bytes | PortLost], within_s: float) -> None:
        self._port = port
        self._inbox = inbox
        self._within_s = within_s
        self._session = observer_session("shoectl probe")
        self._received = ReceivedBytes()
        self._ready: Ready | None = None
        self._first_event: int | None = None
        self._status: Status | None = None
        self._counters: Counters | None = None
        self._restarts = 0

    async def run(self) -> Probed:
        loop = asyncio.get_running_loop()
        session, give_up_at = self._session, loop.time() + self._within_s
        session.connect(loop.time())
        try:
            while True:
                self._flush()
                if loop.time() >= give_up_at:
                    return self._timed_out()
                try:
                    async with asyncio.timeout_at(min(session.deadline, give_up_at)):
                        arrived = await self._inbox.get()
                except TimeoutError:
                    happenings = session.tick(loop.time())
                else:
                    if isinstance(arrived, PortLost):
                        return PortAbsent(f"{arrived.detail} while being probed")
                    self._received.add(arrived)
                    happenings = session.receive(arrived, loop.time())
                for happening in happenings:
                    result = self._judge(happening, loop.time())
                    if result is not None:
                        return result
        finally:
            session.close(loop.time())
            self._flush()

    def _flush(self) -> None:
        data = self._session.take_output()
        if data:
            self._received.sent += data
            self._port.write(data)

    def _judge(self, happening: Happening, now: float) -> Probed | None:
        if isinstance(happening, Ready):
            self._ready = happening
            self._session.ask(AskStatus(STATUS_REF), now)
            self._session.ask(AskCounters(COUNTERS_REF), now)
        elif isinstance(happening, Status):
            self._status = happening
        elif isinstance(happening, Counters):
            self._counters = happening
        elif isinstance(happening, EventMessage):
            # A device sends its stored events right after Welcome, so the first one arrives before any answer.
            self._first_event = self._first_event or happening.number
        elif isinstance(happening, Rejected):
            if not happening.version_min <= VERSION <= happening.version_max:
                return OtherVersion("messages", (happening.version_min, happening.version_max), VERSION)
            return Unruly(str(happening))
        elif isinstance(happening, Lost):
            return self._lost(happening, now)
        if self._ready and self._status and self._counters:
            return FoundDevice(
                self._ready.identity,
                self._ready.boot,
                self._ready.version,
                self._first_event,
                self._status,
                self._counters,
                self._session.link.round_trips.summary(),
            )
        return None

    def _lost(self, lost: Lost, now: float) -> Probed | None:
        if lost.reason is LossReason.PEER_RESTARTED:
            self._restarts += 1
            if self._restarts > RESTARTS:
                return Unruly(f"it restarted {self._restarts} times while being probed")
            self._ready = self._first_event = self._status = self._counters = None
            self._session.connect(now)
            return None
        if lost.reason is LossReason.NO_ANSWER and not self._received.opened:
            return self._received.verdict(self._within_s)
        if lost.reason is LossReason.PEER_RESET and lost.detail == reset_reason(ResetReason.OTHER_VERSION):
            return OtherVersion("link", None, LINK_VERSION)
        return Unruly(str(lost))

    def _timed_out(self) -> Probed:
        if self._session.link.state is not LinkState.OPEN:
            return self._received.verdict(self._within_s)
        did, did_not = ("greeted us", "answer our questions") if self._ready else ("opened a link", "greet us")
        return Unruly(f"it {did}, but did not {did_not} within {self._within_s:g} s")


@dataclass(slots=True)
class ReceivedBytes:
    """What a port received, for a guess at what is connected. Pure."""

    sent: bytes = b""  # what we sent, to recognise an echo
    count: int = 0
    sample: bytes = b""
    packets: list[Packet] = field(default_factory=list)
    unknown_frames: list[bytes] = field(default_factory=list)  # intact frames that are not packets
    bad: list[BadFrame] = field(default_factory=list)
    _decoder: FrameDecoder = field(default_factory=FrameDecoder)

    @property
    def opened(self) -> bool:
        """Whether a device has answered our OPEN."""
        return any(packet.type is PacketType.OPENED for packet in self.packets)

    def add(self, data: bytes) -> None:
        """Add received bytes."""
        self.count += len(data)
        self.sample += data[: SAMPLE - len(self.sample)]
        for body in self._decoder.feed(data):
            if isinstance(body, BadFrame):
                self.bad.append(body)
                continue
            packet = parse_packet(body)
            if packet is None:
                self.unknown_frames.append(body)
            else:
                self.packets.append(packet)

    def verdict(self, within_s: float) -> Probed:
        """The result if no link was established."""
        if not self.count:
            return Mute(within_s)
        for body in self.unknown_frames:
            if body[0] >> 4 != LINK_VERSION:
                return OtherVersion("link", (body[0] >> 4, body[0] >> 4), LINK_VERSION)
        return NotOurs(self.count, len(self.bad), self._guess())

    def _guess(self) -> str:
        if self.packets or self.unknown_frames:
            types = {packet.type for packet in self.packets}
            if PacketType.OPEN in types:
                if self.sent and self.sample[:16] in self.sent:
                    return "our own bytes come back: a loopback plug, or an adapter that echoes"
                return "another host is opening a link: two computers are wired to each other"
            return "it sends valid frames, but does not answer OPEN"
        return guess(self.sample, self.bad)


def guess(sample: bytes, bad: list[BadFrame] | None = None) -> str:
    """What bytes without a single intact frame look like, in words."""
    text = sum(byte in b"\t\r\n" or 32 <= byte < 127 for byte in sample)
    if text >= 0.95 * len(sample):
        return f"looks like lines of text: {_first_text(sample)}"
    if any(_damaged_packet(one) for one in bad or ()):
        return "looks like damaged frames of this protocol: noise, a bad cable, or a slightly wrong baud rate"
    # A receiver that samples at the wrong rate sees bytes with long runs of equal bits.
    if sum(_changes(byte) <= 1 for byte in sample) >= 0.5 * len(sample):
        return "looks like the wrong baud rate"
    return "looks like another protocol, noise, or the wrong baud rate"


def _first_text(sample: bytes) -> str:
    lines = [line for line in re.split(r"[\r\n]+", sample.decode("latin-1")) if line.strip()]
    # The first line is probably incomplete, because the port was opened in its middle.
    line = lines[1] if len(lines) > 2 else lines[0] if lines else ""
    return repr(line[:TEXT_SHOWN] + ("…" if len(line) > TEXT_SHOWN else ""))


def _damaged_packet(bad: BadFrame) -> bool:
    if bad.flaw is not Flaw.BAD_CRC:
        return False
    decoded: bytes = cobs.decode(bad.encoded)
    return decoded[0] in frozenset(PacketType)


def _changes(byte: int) -> int:
    """How often neighbouring bits differ."""
    return ((byte ^ byte >> 1) & 0x7F).bit_count()

"""Virtual wires and virtual time: a host's session and a simulated device in memory, over a good or a hostile wire.

Nothing here reads a clock: time jumps from one moment at which something happens to the next, so a minute of
play takes as long as its arithmetic.
"""

# mypyc
from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from simulators.devices.device import flip_bits

LONGEST_PIECE: Final = 32  # bytes that a hostile wire carries, loses or repeats as one


class WireEnd(Protocol):
    """What a wire can be attached to: a host session or a simulated device."""

    @property
    def deadline(self) -> float: ...

    def tick(self, now: float) -> Any: ...

    def receive(self, data: bytes, now: float) -> Any: ...

    def take_output(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class WireQuality:
    """What a wire does to what is sent over it. Chances are for each piece, `flip` for each bit."""

    latency_s: float = 0.0005
    baud: int = 0  # 0: no limit
    bytewise: bool = False
    lose: float = 0.0
    flip: float = 0.0
    repeat: float = 0.0
    reorder: float = 0.0
    delay: float = 0.0
    delay_s: float = 0.05  # the most that a delayed or reordered piece is late
    direct: bool = field(init=False)  # delivers what was sent unchanged, in one piece

    def __post_init__(self) -> None:
        spoilt = self.bytewise or self.lose or self.flip or self.repeat or self.reorder or self.delay
        object.__setattr__(self, "direct", not spoilt and not self.baud)  # a slow wire delivers the first bytes early


class Wire:
    """One direction."""

    def __init__(self, quality: WireQuality, rng: random.Random) -> None:
        self.quality = quality
        self._rng = rng
        self._free_at = 0.0  # when the last byte sent so far has left
        self._arrived_at = 0.0  # pieces keep their order, unless reordered

    def carry(self, data: bytes, now: float) -> list[tuple[float, bytes]]:
        """Which bytes arrive when."""
        quality = self.quality
        if quality.direct:
            return [(now + quality.latency_s, data)]
        arrivals = []
        for piece in self._pieces(data):
            left = self._leave(len(piece), now) + quality.latency_s
            if self._happens(quality.lose):
                continue
            piece = flip_bits(piece, quality.flip, self._rng)
            if self._happens(quality.delay):
                left += self._rng.uniform(0, quality.delay_s)
            if self._happens(quality.reorder):
                arrivals.append((left + self._rng.uniform(0, quality.delay_s), piece))
                continue
            self._arrived_at = max(self._arrived_at, left)
            arrivals.append((self._arrived_at, piece))
            if self._happens(quality.repeat):
                arrivals.append((self._arrived_at, piece))
        return arrivals

    def _leave(self, size: int, now: float) -> float:
        self._free_at = max(self._free_at, now)
        if self.quality.baud:
            self._free_at += size * 10 / self.quality.baud
        return self._free_at

    def _pieces(self, data: bytes) -> list[bytes]:
        pieces, at = [], 0
        while at < len(data):
            size = 1 if self.quality.bytewise else self._rng.randint(1, LONGEST_PIECE)
            pieces.append(data[at : at + size])
            at += size
        return pieces

    def _happens(self, chance: float) -> bool:
        return chance > 0 and self._rng.random() < chance


class VirtualLine:
    """A host and a device on a virtual cable. What the host's end returns goes to `on_happening`, or is collected."""

    def __init__(
        self,
        host: WireEnd,
        device: WireEnd,
        *,
        to_device: WireQuality = WireQuality(),
        to_host: WireQuality = WireQuality(),
        rng: random.Random | None = None,
        now: float = 0.0,
    ) -> None:
        rng = rng or random.Random(0)
        self.host = host
        self.device = device
        self.now = now
        self.happenings: list[Any] = []
        self.on_happening: Callable[[Any, float], None] = lambda happening, now: self.happenings.append(happening)
        self.wires = (Wire(to_device, rng), Wire(to_host, rng))
        self.flying: list[tuple[float, int, bool, bytes]] = []  # a heap: arrival, order of sending, whether to the host
        self._order = 0

    def cut(self) -> None:
        """Everything on its way is lost, as when a plug is pulled."""
        self.flying.clear()

    def flush(self) -> None:
        """Put on the wire whatever the two ends have to send."""
        data = self.host.take_output()
        if data:
            self.put(data, to_host=False)
        data = self.device.take_output()
        if data:
            self.put(data, to_host=True)

    def put(self, data: bytes, *, to_host: bool) -> None:
        """Put bytes on the wire that one of the ends has sent."""
        wire = self.wires[to_host]
        if wire.quality.direct:
            self._order += 1
            heapq.heappush(self.flying, (self.now + wire.quality.latency_s, self._order, to_host, data))
            return
        for at, piece in wire.carry(data, self.now):
            self._order += 1
            heapq.heappush(self.flying, (at, self._order, to_host, piece))

    @property
    def next_at(self) -> float:
        """The next moment at which something happens."""
        at: float = self.host.deadline
        due = self.device.deadline
        if due < at:
            at = due
        if self.flying and self.flying[0][0] < at:
            at = self.flying[0][0]
        return at if at > self.now else self.now

    def step(self) -> None:
        """Go to the next moment and process what happens there."""
        self.go_to(self.next_at)

    def go_to(self, at: float) -> None:
        """Process what happens at this moment, which is the next one: what arrives, or else what is due."""
        self.now = at
        flying = self.flying
        if flying and flying[0][0] <= at:
            while flying and flying[0][0] <= at:
                _, _, to_host, piece = heapq.heappop(flying)
                if not to_host:
                    self.device.receive(piece, at)
                    continue
                for happening in self.host.receive(piece, at) or ():
                    self.on_happening(happening, at)
        else:
            if self.host.deadline <= at:
                for happening in self.host.tick(at) or ():
                    self.on_happening(happening, at)
            if self.device.deadline <= at:
                self.device.tick(at)
        self.flush()

    def run(self, until: Callable[[], bool], *, limit_s: float) -> bool:
        """Step until the condition holds; False if it does not within this much virtual time."""
        end = self.now + limit_s
        self.flush()
        while not until():
            at = self.next_at
            if at > end:
                self.now = end
                return False
            self.go_to(at)
        return True

    def rest(self, for_s: float) -> None:
        """Let this much virtual time pass."""
        self.run(lambda: False, limit_s=for_s)

"""What the window gains on a slow wire. Virtual time: this is arithmetic, the same on every machine."""

from __future__ import annotations

import math

from firmware_bridge.wire.link import Link, Opened
from simulators.pipes.wires import VirtualLine, WireQuality
from tests.bench.measure import Row

MESSAGES = 500
MESSAGE = bytes(24)


class _End:
    """A bare link that counts what arrives."""

    def __init__(self, *, opens: bool, window: int) -> None:
        self.link = Link(opens=opens, boot=1, window=window)
        self.arrived = 0
        self.take_output = self.link.take_output

    @property
    def deadline(self) -> float:
        return self.link.deadline

    def tick(self, now: float) -> None:
        self.link.tick(now)

    def receive(self, data: bytes, now: float) -> None:
        for arrival in self.link.receive(data, now):
            self.arrived += not isinstance(arrival, Opened)


def messages_per_s(window: int, flip: float) -> float:
    """Messages from the device to the host over 115,200 baud."""
    host, device = _End(opens=True, window=window), _End(opens=False, window=window)
    quality = WireQuality(latency_s=0.001, baud=115_200, flip=flip)
    line = VirtualLine(host, device, to_device=quality, to_host=quality)
    host.link.open(1, 0.0)
    line.run(lambda: device.link.session == 1, limit_s=10)
    begun, given = line.now, 0
    while host.arrived < MESSAGES:
        while given < MESSAGES and given - host.arrived < 2 * window:
            device.link.send(MESSAGE, line.now)
            given += 1
        line.flush()
        if line.next_at == math.inf:
            raise RuntimeError("the link died")
        line.step()
    return MESSAGES / (line.now - begun)


def rows() -> list[Row]:
    """Clean and noisy."""
    return [
        Row(f"messages over 115,200 baud, {name}, window of 8", "/s", messages_per_s(8, flip), messages_per_s(1, flip),
            "window of 1")
        for name, flip in (("clean", 0.0), ("1 bit in 10,000 wrong", 1e-4), ("1 bit in 1,000 wrong", 1e-3))
    ]  # fmt: skip

"""A simulated device that can be made to violate the protocol."""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_bridge.wire.messages import Hello, Unwelcome
from simulators.devices.firmware import Firmware

ANSWERS = (5, 6, 7, 8, 9, 10)


class HostileFirmware(Firmware):
    """A firmware that can be made to violate the protocol."""

    unwelcoming = False
    answers = True
    acknowledges = True
    delay_s = 0.0  # of every answer
    delayed: list[tuple[float, bytes]] = []  # noqa: RUF012 - replaced, never changed

    def raw_event(self, *fields: Any, number: int | None = None) -> None:
        """Send an event as it is, with its own number in the second place, and keep it until it is stored."""
        own = self._next_event
        data = msgspec.msgpack.encode([fields[0], own if number is None else number, *fields[2:]])
        self._events.append((own, data))
        self._next_event += 1
        if self._greeted:
            self._send_event(own, data)

    @property
    def has_room(self) -> bool:
        """Whether another event fits into the memory."""
        return self._room > 0

    def say(self, data: bytes) -> None:
        """Send these bytes as a message."""
        self._send(data)

    def _send(self, message: bytes) -> None:
        if msgspec.msgpack.decode(message)[0] not in ANSWERS:
            super()._send(message)
        elif self.delay_s:
            self.delayed = [*self.delayed, (self.now + self.delay_s, message)]
        elif self.answers:
            super()._send(message)

    @property
    def deadline(self) -> float:
        return min(super().deadline, *(at for at, _ in self.delayed)) if self.delayed else super().deadline

    def tick(self, now: float) -> None:
        super().tick(now)
        while self.delayed and self.delayed[0][0] <= now:
            (_, message), *self.delayed = self.delayed
            if self._greeted:
                super()._send(message)

    def _greet(self, hello: Hello) -> None:
        if self.unwelcoming:
            self._send(Unwelcome(1, 1, "this host knows another device").encode())
        else:
            super()._greet(hello)

    def receive(self, data: bytes, now: float) -> None:
        if self.acknowledges:
            super().receive(data, now)
            return
        self.now, expected = now, self.link._expected
        self.link.receive(data, now)
        self.link._expected = expected


def press(shoe: HostileFirmware) -> None:
    """A button is pressed."""
    shoe.raw_event(72, 0, 9, 1)

"""Defects of events."""

from __future__ import annotations

from typing import Any

from firmware_bridge.wire.messages import (
    AnyCommand,
    BadMessage,
    Done,
    EventMessage,
    EventsStored,
    Hello,
    PowerUp,
    decode_from_host,
)
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import fails


@fails("event.replay")
class ForgetsWhatItSent(Firmware):
    """Keeps an event until the link ends over which it was sent, not until it is stored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._newest_sent = 0

    def _send_event(self, number: int, event: bytes) -> None:
        super()._send_event(number, event)
        self._newest_sent = number

    def _greet(self, hello: Hello) -> None:
        if self._sent_event == 0:
            self._forget_events(self._newest_sent)
        super()._greet(hello)


@fails("event.stored")
class ForgetsOneLess(Firmware):
    """Forgets the events before the one that is stored, and keeps that one."""

    def _forget_events(self, number: int) -> None:
        super()._forget_events(number - 1)


@fails("event.order")
class LeavesGaps(Firmware):
    """Numbers its events in steps of two."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        super().report(what, **fields)
        self._next_event += 1


@fails("event.once")
class TellsTwice(Firmware):
    """Sends every new event in two packets."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        super().report(what, **fields)
        if self._greeted:
            self._send(self._events[-1][1])


@fails("event.power_up")
class StartsInSilence(Firmware):
    """Does not report that it has started."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is not PowerUp:
            super().report(what, **fields)


@fails("event.stored_beyond")
class WantsExactNumbers(Firmware):
    """Ignores EventsStored with a number that no event has yet."""

    def _message(self, data: bytes) -> None:
        try:
            message = decode_from_host(data)
        except BadMessage:
            message = None
        if not isinstance(message, EventsStored) or message.number < self._next_event:
            super()._message(data)


@fails("event.hello_again")
class TellsAllToEveryHello(Firmware):
    """Sends all events again after a second Hello."""

    def _greet(self, hello: Hello) -> None:
        self._sent_event = 0
        super()._greet(hello)


@fails("event.after_answer")
class AnswersLast(Firmware):
    """Acts on a command before it answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._late: list[bytes] | None = None  # answers that wait while it acts

    def _send(self, message: bytes) -> None:
        if self._late is not None and message[1] == Done(0).encode()[1]:
            self._late.append(message)
        else:
            super()._send(message)

    def _command(self, command: AnyCommand, data: bytes) -> None:
        self._late = []
        super()._command(command, data)
        late, self._late = self._late, None
        for message in late:
            self._send(message)


@fails("event.room")
class LittleRoom(Firmware):
    """Has room for 16 events."""

    events_kept = 16


@fails("event.dropped")
class NumbersWhatItDrops(Firmware):
    """Gives a number to an event that it drops."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        kept = len(self._events)
        super().report(what, **fields)
        if len(self._events) == kept:
            self._next_event += 1

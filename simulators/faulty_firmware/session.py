"""Defects of greeting, messages and questions."""

from __future__ import annotations

import msgspec

from firmware_bridge.wire.messages import (
    MAX_ID,
    QUESTIONS,
    AnyQuestion,
    BadMessage,
    Counters,
    Hello,
    Identity,
    Message,
    NoAnswer,
    Reason,
    Status,
    decode_from_host,
)
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import fails

# --- greeting -------------------------------------------------------------------------------------------------------


@fails("session.welcome")
class ChoosesAnotherVersion(Firmware):
    """Welcomes with a version that was not offered."""

    def _send(self, message: bytes) -> None:
        fields = msgspec.msgpack.decode(message)
        if fields[0] == 2:
            fields[1] += 1
            message = msgspec.msgpack.encode(fields)
        super()._send(message)


@fails("session.bad_hello")
class WelcomesAnyHello(Firmware):
    """Answers Hello without reading its fields."""

    def _message(self, data: bytes) -> None:
        try:
            decode_from_host(data)
        except BadMessage as bad:
            if bad.number == 1:
                data = Hello(*self.plate.versions).encode()
        super()._message(data)


@fails("session.version")
class WelcomesEveryVersion(Firmware):
    """Does not check which versions the host speaks."""

    def _greet(self, hello: Hello) -> None:
        hello.version_min, hello.version_max = self.plate.versions
        super()._greet(hello)


@fails("session.future_events")
class BelievesTheHost(Firmware):
    """Welcomes a host that claims events that never existed."""

    def _greet(self, hello: Hello) -> None:
        hello.events_stored = min(hello.events_stored, self._next_event - 1)
        super()._greet(hello)


@fails("session.greeting_first")
class NeedsNoGreeting(Firmware):
    """Answers before the greeting."""

    def _message(self, data: bytes) -> None:
        self._greeted = True
        super()._message(data)


@fails("session.unknown_field")
class WantsExactFields(Firmware):
    """Drops a message that is longer than expected."""

    def _message(self, data: bytes) -> None:
        try:
            known = len(decode_from_host(data).__struct_fields__)
        except BadMessage:
            super()._message(data)
            return
        if len(msgspec.msgpack.decode(data)) <= known + 1:
            super()._message(data)


@fails("session.later_host")
class WantsExactVersion(Firmware):
    """Rejects a host that also speaks another version."""

    def _greet(self, hello: Hello) -> None:
        hello.version_min = max(hello.version_min, hello.version_max)
        super()._greet(hello)


@fails("session.other_events")
class CountsForeignEvents(Firmware):
    """Mistakes the events of another boot for its own."""

    def _greet(self, hello: Hello) -> None:
        if hello.events_stored == MAX_ID:
            hello.events_boot = self.boot
        super()._greet(hello)


@fails("session.unwelcome")
class TalksToEverybody(Firmware):
    """Continues with a host that it has rejected."""

    def _greet(self, hello: Hello) -> None:
        super()._greet(hello)
        self._greeted = True


# --- messages -------------------------------------------------------------------------------------------------------


@fails("session.optional")
class WantsAllFields(Firmware):
    """Drops a message that lacks an optional field."""

    def _message(self, data: bytes) -> None:
        try:
            wanted = len(decode_from_host(data).__struct_fields__) + 1
        except BadMessage:
            wanted = 0
        if not wanted or len(msgspec.msgpack.decode(data)) >= wanted:
            super()._message(data)


@fails("session.integers")
class ReadsShortestIntegers(Firmware):
    """Drops a message whose integers could be shorter."""

    def _message(self, data: bytes) -> None:
        try:
            shortest = msgspec.msgpack.encode(msgspec.msgpack.decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError):
            shortest = data
        if data == shortest:
            super()._message(data)


@fails("session.malformed")
class ReadsTheBeginning(Firmware):
    """Reads a message without noticing the extra bytes after it."""

    def _message(self, data: bytes) -> None:
        try:
            msgspec.msgpack.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if "trailing" in str(error):
                data = data[:-1]
        super()._message(data)


@fails("session.no_id")
class AnswersNobody(Firmware):
    """Answers a question without a ref with ref 0."""

    def _unreadable(self, bad: BadMessage) -> None:
        if not bad.has_id and bad.number in QUESTIONS:
            self._send(NoAnswer(0, Reason.BAD_ARGUMENT).encode())
        super()._unreadable(bad)


# --- questions ------------------------------------------------------------------------------------------------------


@fails("question.identity")
class OtherSerial(Firmware):
    """Has one serial number in Welcome and another in Identity."""

    def _answer(self, question: AnyQuestion) -> Message:
        answer = super()._answer(question)
        if isinstance(answer, Identity):
            answer.serial = "0000"
        return answer


@fails("question.status")
class KnowsNoLastCommand(Firmware):
    """Does not say in Status which command it saw last."""

    def _answer(self, question: AnyQuestion) -> Message:
        answer = super()._answer(question)
        if isinstance(answer, Status):
            answer.last_command = 0
        return answer


@fails("question.counters")
class ClearsWhenRead(Firmware):
    """Has a frame counter that starts again whenever it is read."""

    def _answer(self, question: AnyQuestion) -> Message:
        answer = super()._answer(question)
        if isinstance(answer, Counters):
            self.link.counters.frames_in = 0
        return answer


@fails("question.unknown")
class SilentOnUnknownQuestions(Firmware):
    """Does not answer a question that it does not know."""

    def _unreadable(self, bad: BadMessage) -> None:
        if bad.number not in QUESTIONS:
            super()._unreadable(bad)

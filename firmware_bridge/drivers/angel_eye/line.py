"""The host's end of the line to an Angel Eye II-EX: each report once, and commands with their answers.

The shoe sends each report up to three times, under the same sequence byte, and keeps nothing: what is lost on the line,
or while nobody listens, is gone. Commands have no numbers: whether one without an answer was carried out is unknown.

Pure: bytes and time in, bytes and happenings out.
"""

from __future__ import annotations

import enum
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.drivers.angel_eye.reports import REFUSALS, ShoeReport, Started, read_report
from firmware_bridge.drivers.angel_eye.telegram import (
    Acknowledged,
    BadBytes,
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    TelegramFlaw,
    TelegramReader,
    encode,
)

ANSWER_WITHIN_S: Final = 2.0
DIGITS: Final = "0123456789"


class ShoeCommand(enum.Enum):
    """A command without a value of its own."""

    LOCK = CommandTelegram("LK", "02")
    UNLOCK = CommandTelegram("LK", "01")
    CONFIRM = CommandTelegram("GP", "00")


def cancel_error(code: int) -> CommandTelegram:
    """The command that cancels an error."""
    if not 0 <= code <= 99:
        raise ValueError(f"an error's code has two digits, {code} has not")
    return CommandTelegram("EC", f"{code:02}")


@dataclass(frozen=True, slots=True)
class Reported:
    """A report, once. `missed` is how many before it were lost; None if that cannot be known."""

    report: ShoeReport
    sequence: int
    missed: int | None


@dataclass(frozen=True, slots=True)
class Contradicted:
    """Two reports with the same sequence byte differ: one of them is not what the shoe has sent."""

    first: ShoeReport
    second: ShoeReport
    sequence: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The shoe has answered a command; `refused` says why it was not accepted, and is empty if it was."""

    command: CommandTelegram
    refused: str = ""


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """The shoe has not answered a command in time: whether it was carried out is not known."""

    command: CommandTelegram


LineHappening = Reported | Contradicted | Answered | NotAnswered


@dataclass(slots=True)
class LineCounters:
    """Counts since the line was made."""

    reports: int = 0
    repeated: int = 0
    contradicted: int = 0
    missed: int = 0
    bad_telegrams: int = 0
    bad_bytes: int = 0  # of bad telegrams, and between telegrams
    unexpected: int = 0  # telegrams that only a host sends, and answers to nothing


@dataclass(slots=True)
class _Given:
    telegram: CommandTelegram
    sent_at: float = field(default=math.inf)


class AngelEyeLine:
    """One line. Call `take_output` after every other call, and `tick` at `deadline`.

    `sequence` has the sequence bytes in their order. Where it is empty, or a shoe uses others, lost reports cannot be
    noticed by their number.
    """

    def __init__(self, sequence: str = "") -> None:
        self.counters = LineCounters()
        self._order = sequence.encode("latin-1")
        self._reader = TelegramReader()
        self._last: tuple[int, bytes] | None = None
        self._commands: deque[_Given] = deque()
        self._quiet_until = -math.inf
        self._output = bytearray()

    def connect(self) -> None:
        """The line was opened: nothing that came before it counts."""
        self._lose()

    def disconnect(self) -> list[LineHappening]:
        """The line was closed. Commands without an answer are given up: their effect is not known."""
        self._lose()
        given_up, self._commands = list(self._commands), deque()
        return [NotAnswered(given.telegram) for given in given_up]

    def _lose(self) -> None:
        self.counters.bad_bytes += self._reader.reset()
        self._last = None
        self._output.clear()

    def give(self, telegram: CommandTelegram, now: float) -> None:
        """Send a command once the one before it is answered: an answer does not say which command it is to."""
        self._commands.append(_Given(telegram))
        self._send_next(now)

    @property
    def deadline(self) -> float:
        """When `tick` must be called."""
        if not self._commands:
            return math.inf
        first = self._commands[0]
        return self._quiet_until if first.sent_at == math.inf else first.sent_at + ANSWER_WITHIN_S

    def tick(self, now: float) -> list[LineHappening]:
        """Give up a command that was not answered in time. The next one waits until a late answer would have come."""
        if now < self.deadline:
            return []
        if self._commands[0].sent_at == math.inf:
            self._send_next(now)
            return []
        self._quiet_until = now + ANSWER_WITHIN_S
        return [NotAnswered(self._commands.popleft().telegram)]

    def take_output(self) -> bytes:
        """The bytes to send."""
        data, self._output = bytes(self._output), bytearray()
        return data

    def receive(self, data: bytes, now: float) -> list[LineHappening]:
        """Process received bytes."""
        found: list[LineHappening] = []
        for one in self._reader.feed(data):
            match one:
                case BadBytes():
                    self.counters.bad_telegrams += one.flaw is not TelegramFlaw.STRAY
                    self.counters.bad_bytes += len(one.bytes)
                case ReportTelegram():
                    found += self._report(one)
                case Acknowledged() | NotAcknowledged():
                    found += self._answer(one, now)
                case CommandTelegram():
                    self.counters.unexpected += 1
        return found

    # --- reports ------------------------------------------------------------------------------------------------------

    def _report(self, telegram: ReportTelegram) -> list[LineHappening]:
        last, self._last = self._last, (telegram.sequence, telegram.data)
        report = read_report(telegram.data)
        if last is None or not _is_repeated(last[0], telegram.sequence):
            missed = 0 if isinstance(report, Started) else self._missed(last, telegram.sequence)
            self.counters.reports += 1
            self.counters.missed += missed or 0
            return [Reported(report, telegram.sequence, missed)]
        if last == self._last:
            self.counters.repeated += 1
            return []
        self.counters.contradicted += 1
        return [Contradicted(read_report(last[1]), report, telegram.sequence)]

    def _missed(self, last: tuple[int, bytes] | None, sequence: int) -> int | None:
        order = self._order
        if last is None or last[0] not in order or sequence not in order:
            return None
        return (order.index(sequence) - order.index(last[0]) - 1) % len(order)

    # --- commands -----------------------------------------------------------------------------------------------------

    def _send_next(self, now: float) -> None:
        if self._commands and self._commands[0].sent_at == math.inf and now >= self._quiet_until:
            self._commands[0].sent_at = now
            self._output += encode(self._commands[0].telegram)

    def _answer(self, answer: Acknowledged | NotAcknowledged, now: float) -> list[LineHappening]:
        if not self._commands or self._commands[0].sent_at == math.inf:
            self.counters.unexpected += 1
            return []
        telegram = self._commands.popleft().telegram
        self._send_next(now)
        if isinstance(answer, Acknowledged):
            return [Answered(telegram)]
        return [Answered(telegram, REFUSALS.get(answer.code, f"code {answer.code:02X}"))]


def _is_repeated(last: int, sequence: int) -> bool:
    """Whether a report with this sequence byte is the one before it, sent again."""
    return last == sequence

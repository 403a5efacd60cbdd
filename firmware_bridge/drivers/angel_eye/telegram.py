"""Telegrams of the Angel Eye II-EX, from bytes and back.

The shoe reports: ENQ, a sequence byte, data, ETX, checksum. The host commands: STX, "OP", a type of two letters, two
digits, ETX, checksum. The shoe answers a command with ACK, or with NAK and a code. A checksum is the exclusive or of
all bytes from the sequence byte to ETX, in a command from STX to ETX, as two hexadecimal digits.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Final

ENQ, STX, ETX, ACK, NAK = 0x05, 0x02, 0x03, 0x06, 0x15
MOST_DATA: Final = 64  # bytes in one telegram; the longest known report has 7
CHECKSUM_BYTES: Final = 2
COMMAND_DATA: Final = 6

# How much data follows the first byte of a report. A content byte can have the value of ETX, so that a report with a
# known first byte ends where its data does. One that is not known ends at the first ETX.
_LENGTHS: Final = {"SPC": 0, "GEeL": 1, "DdR": 2, "M": 6}
DATA_AFTER: Final = {ord(code): length for codes, length in _LENGTHS.items() for code in codes}
_STARTS: Final = frozenset({ENQ, STX})


class TelegramFlaw(enum.StrEnum):
    """What is wrong with bytes that are not a telegram."""

    STRAY = "outside of a telegram"
    CHECKSUM = "wrong checksum"
    NO_END = "no end where it is due"
    TOO_LONG = "too long"
    NOT_A_COMMAND = "not a command"


@dataclass(frozen=True, slots=True)
class ReportTelegram:
    """A report of the shoe. It is sent up to three times with the same sequence byte."""

    sequence: int
    data: bytes


@dataclass(frozen=True, slots=True)
class CommandTelegram:
    """A command of the host: a type such as LK, and two digits."""

    type: str
    digits: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The shoe has accepted a command."""


@dataclass(frozen=True, slots=True)
class NotAcknowledged:
    """The shoe has not accepted a command."""

    code: int


@dataclass(frozen=True, slots=True)
class BadBytes:
    """Bytes that are not a telegram."""

    flaw: TelegramFlaw
    bytes: bytes

    def __str__(self) -> str:
        return f"{len(self.bytes)} {'byte' if len(self.bytes) == 1 else 'bytes'}: {self.flaw}"


Telegram = ReportTelegram | CommandTelegram | Acknowledged | NotAcknowledged


def checksum(covered: bytes) -> bytes:
    """The checksum of these bytes."""
    return b"%02X" % reduce(xor, covered, 0)


def is_whole(covered: bytes, sent: bytes) -> bool:
    """Whether this is the checksum that was sent with these bytes."""
    return checksum(covered) == sent


def encode(telegram: Telegram) -> bytes:
    """The bytes of a telegram."""
    match telegram:
        case ReportTelegram(sequence, data):
            covered = bytes((sequence, *data, ETX))
            return bytes((ENQ,)) + covered + checksum(covered)
        case CommandTelegram(type, digits):
            covered = bytes((STX,)) + f"OP{type}{digits}".encode("ascii") + bytes((ETX,))
            return covered + checksum(covered)
        case Acknowledged():
            return bytes((ACK,))
        case NotAcknowledged(code):
            return bytes((NAK, code))


class TelegramReader:
    """Finds telegrams in a stream of bytes, in either direction. It keeps no more than one telegram's bytes.

    After a bad telegram it goes on with the next ENQ or STX: a byte in the middle is never taken for an answer.
    """

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, data: bytes) -> list[Telegram | BadBytes]:
        """The telegrams that are complete with these bytes, and what lay between them."""
        found: list[Telegram | BadBytes] = []
        for byte in data:
            self._kept.append(byte)
            while self._kept and (one := self._first()) is not None:
                found.append(one)
        return found

    @property
    def kept(self) -> int:
        """How many bytes of an unfinished telegram are kept."""
        return len(self._kept)

    def reset(self) -> int:
        """Forget an unfinished telegram, as when the line is opened again; returns how many bytes it had."""
        number = len(self._kept)
        self._kept.clear()
        return number

    def _first(self) -> Telegram | BadBytes | None:
        """What the kept bytes begin with; None if that is not certain yet."""
        kept = self._kept
        if kept[0] == ACK:
            return self._taken(1, Acknowledged())
        if kept[0] == NAK:
            return self._taken(2, NotAcknowledged(kept[1])) if len(kept) > 1 else None
        if kept[0] not in _STARTS:
            return self._bad(TelegramFlaw.STRAY, 1)
        end = _end_of(kept)
        if end is None:
            return None if len(kept) <= MOST_DATA + 2 else self._bad(TelegramFlaw.TOO_LONG, len(kept))
        if kept[end] != ETX:
            return self._bad(TelegramFlaw.NO_END, end + 1)
        size = end + 1 + CHECKSUM_BYTES
        if len(kept) < size:
            return None
        covered = bytes(kept[1 if kept[0] == ENQ else 0 : end + 1])
        if not is_whole(covered, bytes(kept[end + 1 : size])):
            return self._bad(TelegramFlaw.CHECKSUM, size)
        if kept[0] == ENQ:
            return self._taken(size, ReportTelegram(covered[0], covered[1:-1]))
        if covered[1:3] != b"OP" or not covered[1:-1].isascii():
            return self._bad(TelegramFlaw.NOT_A_COMMAND, size)
        return self._taken(size, CommandTelegram(covered[3:5].decode(), covered[5:7].decode()))

    def _taken(self, size: int, telegram: Telegram) -> Telegram:
        del self._kept[:size]
        return telegram

    def _bad(self, flaw: TelegramFlaw, size: int) -> BadBytes:
        """Drop these bytes, or fewer if another telegram may begin among them."""
        begun = [at for at in range(1, size) if self._kept[at] in _STARTS]
        bad = BadBytes(flaw, bytes(self._kept[: min([size, *begun])]))
        del self._kept[: len(bad.bytes)]
        return bad


def _end_of(kept: bytearray) -> int | None:
    """Where ETX must be; None if that is not known yet, or has not arrived."""
    if kept[0] == STX:
        end = 1 + COMMAND_DATA
    elif len(kept) < 4:  # a sequence byte, one byte of data, and ETX at least
        return None
    elif (after := DATA_AFTER.get(kept[2])) is not None:
        end = 3 + after
    else:
        end = kept.find(ETX, 3)
    return end if 0 <= end < len(kept) else None

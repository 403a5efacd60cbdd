"""Recognises an Angel Eye II-EX on a line, without sending anything that it could carry out.

The question is a command of a type that does not exist, with a wrong checksum. Whatever follows the protocol refuses it
with NAK and the code for a wrong checksum. Two such refusals, or one report, identify the shoe.
"""

from __future__ import annotations

from typing import Final

from firmware_bridge.drivers.angel_eye.reports import UnknownReport, read_report
from firmware_bridge.drivers.angel_eye.telegram import (
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    TelegramReader,
    encode,
)

BAUD: Final = 4800
WRONG_CHECKSUM: Final = 0x02
REFUSALS_WANTED: Final = 2


def _damaged(command: CommandTelegram) -> bytes:
    whole = encode(command)
    return whole[:-1] + bytes((whole[-1] ^ 1,))


QUESTION: Final = _damaged(CommandTelegram("ZZ", "00"))


class AngelEyeRecogniser:
    """Feed it what arrives. It wants the question to be asked again while `ask_again` is true."""

    def __init__(self) -> None:
        self._reader = TelegramReader()
        self._refusals = 0
        self._asked = 1

    @property
    def ask_again(self) -> bool:
        """Whether the last question was refused as it should be, and one more refusal is wanted."""
        return self._asked <= self._refusals < REFUSALS_WANTED

    def asked(self) -> None:
        """The question was asked once more."""
        self._asked += 1

    def feed(self, data: bytes) -> str:
        """By what the shoe is recognised; empty as long as it is not."""
        for one in self._reader.feed(data):
            if one == NotAcknowledged(WRONG_CHECKSUM):
                self._refusals += 1
            elif isinstance(one, ReportTelegram) and not isinstance(read_report(one.data), UnknownReport):
                return "it sends reports that only such a shoe sends"
        return "it refuses damaged commands because of their checksum" if self._refusals >= REFUSALS_WANTED else ""

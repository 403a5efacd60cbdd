"""Decodes what is heard on the line of an Angel Eye II-EX, as capture.py does for our own protocol."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from firmware_bridge.drivers.angel_eye.reports import (
    REFUSALS,
    CardDrawn,
    CardDrawnOutside,
    CutCardDrawn,
    ErrorCancelled,
    ErrorOccurred,
    GameResult,
    LockChanged,
    PresetChanged,
    ShoeReport,
    StandBy,
    Started,
    UnknownReport,
    read_report,
)
from firmware_bridge.drivers.angel_eye.telegram import (
    Acknowledged,
    BadBytes,
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    Telegram,
    TelegramReader,
    encode,
)
from firmware_bridge.tools.capture import LineEvent, LineTraffic, Record, Remark, Tally
from firmware_bridge.wire.health import Direction

COMMANDS = {"LK02": "lock", "LK01": "unlock", "GP00": "confirm the progress of the game"}


@dataclass(frozen=True, slots=True)
class AngelEyeTrafficLine:
    """A telegram, bytes that are not a telegram, or a remark."""

    at_s: float
    direction: Direction | None  # None for a remark
    what: Telegram | BadBytes | Remark
    notes: tuple[str, ...] = ()

    @property
    def bad(self) -> bool:
        """Whether these bytes are not a telegram, or their meaning is not known."""
        if isinstance(self.what, ReportTelegram):
            return isinstance(read_report(self.what.data), UnknownReport)
        return isinstance(self.what, BadBytes)

    @property
    def raw(self) -> bytes:
        """Its bytes."""
        if isinstance(self.what, Remark):
            return b""
        return self.what.bytes if isinstance(self.what, BadBytes) else encode(self.what)

    def __str__(self) -> str:
        """One line for people: time, direction, meaning."""
        if isinstance(self.what, Remark):
            return f"{self.at_s:9.3f}  --   {self.what.text}"
        notes = f"  [{', '.join(self.notes)}]" if self.notes else ""
        return f"{self.at_s:9.3f}  {self.direction or '':<3}  {self._words()}{notes}"

    def _words(self) -> str:
        match self.what:
            case ReportTelegram(sequence, data):
                return f"REPORT {_printable(sequence)}  {describe_report(read_report(data))}"
            case CommandTelegram(type, digits):
                error = f"cancel error {int(digits)}" if type == "EC" and digits.isdecimal() else "unknown"
                return f"COMMAND   {type} {digits}: {COMMANDS.get(type + digits, error)}"
            case Acknowledged():
                return "ACK"
            case NotAcknowledged(code):
                return f"NAK       {code:02X}: {REFUSALS.get(code, 'unknown')}"
            case BadBytes():
                return f"BAD       {self.what}: {self.what.bytes[:16].hex(' ')}"
        raise AssertionError(self.what)

    def plain(self) -> dict[str, Any]:
        """The same for programs."""
        if isinstance(self.what, Remark):
            return {"t": self.at_s, "event": str(self.what.event), "text": self.what.text}
        plain: dict[str, Any] = {"t": self.at_s, "dir": self.direction, "text": self._words(), "hex": self.raw.hex()}
        if isinstance(self.what, ReportTelegram):
            report = read_report(self.what.data)
            fields = {
                name: value.hex() if isinstance(value, bytes) else value
                for name, value in dataclasses.asdict(report).items()
            }
            plain["report"] = {"name": type(report).__name__, "sequence": _printable(self.what.sequence), **fields}
        return {**plain, **({"notes": list(self.notes)} if self.notes else {})}


def _printable(sequence: int) -> str:
    return chr(sequence) if 0x21 <= sequence <= 0x7E else f"{sequence:02X}"


def describe_report(report: ShoeReport) -> str:
    """A report in a few words."""
    match report:
        case CardDrawn() | CardDrawnOutside():
            card = f"{report.rank} of {report.suit}" if report.rank else "a card that is not named"
            if isinstance(report, CardDrawnOutside):
                return f"{card}, drawn outside of a game (mode {report.mode}, number {report.index})"
            return f"{card} to {report.to} {report.index}{' (sent again)' if report.again else ''}"
        case GameResult(winner, player_pair, banker_pair):
            pairs = [name for name, paired in (("player", player_pair), ("banker", banker_pair)) if paired]
            return f"result: {winner}{''.join(f', {name} pair' for name in pairs)}"
        case ErrorOccurred(code, error_mode):
            return f"error {code}: {report}{', waits until it is cancelled' if error_mode else ''}"
        case ErrorCancelled(code):
            return f"error {code} is over"
        case LockChanged(locked):
            return "locked" if locked else "unlocked"
        case PresetChanged(address, value):
            return f"preset {address} is {value} now"
        case Started():
            return "starts to communicate"
        case StandBy():
            return "stands by"
        case CutCardDrawn():
            return "the cut card has come out"
        case UnknownReport(data):
            return f"not known: {data[:16].hex(' ')}"
    raise AssertionError(report)


@dataclass(slots=True)
class AngelEyeTraffic(LineTraffic):
    """Decodes records one by one, and keeps counts."""

    round_trip: None = None
    _readers: dict[Direction, TelegramReader] = field(default_factory=dict)
    _last: ReportTelegram | None = None

    def __post_init__(self) -> None:
        self._restart()

    def feed(self, record: Record) -> list[AngelEyeTrafficLine]:
        """The lines that this record completes."""
        self.seconds = record.at_s
        if isinstance(record, Remark):
            if record.event in (LineEvent.OPENED, LineEvent.PORT_LOST):
                self._restart()
            return [AngelEyeTrafficLine(record.at_s, None, record)]
        tally = self.keep(record)
        reader = self._readers[record.direction]
        found = reader.feed(record.data)
        tally.unfinished = reader.kept
        return [AngelEyeTrafficLine(record.at_s, record.direction, one, self._count(tally, one)) for one in found]

    def _restart(self) -> None:
        self._readers = {"in": TelegramReader(), "out": TelegramReader()}
        self._last = None

    def _count(self, tally: Tally, one: Telegram | BadBytes) -> tuple[str, ...]:
        """Count a telegram; returns notes on what is unusual about it."""
        if isinstance(one, BadBytes):
            tally.bad += 1
            return ()
        tally.frames += 1
        if not isinstance(one, ReportTelegram):
            return ()
        last, self._last = self._last, one
        if last is None or last.sequence != one.sequence:
            tally.messages += 1
            return ()
        tally.resends += 1
        if last != one:
            return ("differs from the report before it, which has the same number",)
        tally.duplicates += 1
        return ("again",)

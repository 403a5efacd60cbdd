"""What the reports of an Angel Eye II-EX mean. Whatever is not known is kept as it came, and never guessed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class CardFor(enum.StrEnum):
    """Whose a card is that was drawn in a game."""

    PLAYER = "player"
    BANKER = "banker"
    BURN = "burn"
    FIRST = "first card, which says how many are burnt"
    BURN_COUNT = "burn count"


class Winner(enum.StrEnum):
    """The result of a game as the shoe has worked it out."""

    PLAYER = "player"
    TIE = "tie"
    BANKER = "banker"
    FORCED_QUIT = "forced quit"


@dataclass(frozen=True, slots=True)
class Started:
    """The shoe starts to communicate: it was switched on, or restarted."""


@dataclass(frozen=True, slots=True)
class StandBy:
    """The shoe is ready for the next game."""


@dataclass(frozen=True, slots=True)
class CutCardDrawn:
    """The cutting card has come out."""


@dataclass(frozen=True, slots=True)
class CardDrawn:
    """A card was drawn in a game. `suit` and `rank` are empty if the shoe does not say which card it is."""

    to: CardFor
    index: int
    suit: str
    rank: str
    again: bool = False  # a retransmission


@dataclass(frozen=True, slots=True)
class CardDrawnOutside:
    """A card was drawn while no game was on: the shoe was locked, in error, or being set."""

    mode: int
    index: int
    suit: str
    rank: str


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of a game."""

    winner: Winner
    player_pair: bool
    banker_pair: bool


@dataclass(frozen=True, slots=True)
class ErrorOccurred:
    """An error; in error mode the shoe waits until it is cancelled."""

    code: int
    error_mode: bool

    def __str__(self) -> str:
        return ERRORS.get(self.code, f"error {self.code}")


@dataclass(frozen=True, slots=True)
class ErrorCancelled:
    """An error is over."""

    code: int


@dataclass(frozen=True, slots=True)
class LockChanged:
    """The shoe was locked or unlocked."""

    locked: bool


@dataclass(frozen=True, slots=True)
class PresetChanged:
    """A setting was changed at the shoe."""

    address: str
    value: str


@dataclass(frozen=True, slots=True)
class UnknownReport:
    """A report with a code or a value that this driver does not know."""

    data: bytes


ShoeReport = (
    Started
    | StandBy
    | CutCardDrawn
    | CardDrawn
    | CardDrawnOutside
    | GameResult
    | ErrorOccurred
    | ErrorCancelled
    | LockChanged
    | PresetChanged
    | UnknownReport
)

ERRORS: Final = {
    1: "a card cannot be read",
    2: "too many cards were drawn",
    3: "a button was misused",
    4: "a card was pushed back at the exit",
    5: "a card was pulled back midway",
    6: "the code of a card is wrong",
    7: "drawing a card took too long",
}
REFUSALS: Final = {
    0x01: "overrun, framing or parity error",
    0x02: "wrong checksum",
    0x03: "no end",
    0x11: "wrong format or length",
    0x12: "wrong address",
    0x13: "unknown command",
    0x14: "unknown type",
    0x21: "busy",
    0x22: "writing",
    0xFF: "another error",
}
SUITS: Final = {1: "diamonds", 2: "clubs", 3: "spades", 4: "hearts"}
RANKS: Final = dict(
    enumerate(
        ["ace", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king"], 1
    )
)
_FOR: Final = {
    0b000: CardFor.PLAYER,
    0b001: CardFor.BANKER,
    0b010: CardFor.BURN,
    0b100: CardFor.FIRST,
    0b101: CardFor.BURN_COUNT,
}
_WINNERS: Final = {0b001: Winner.PLAYER, 0b010: Winner.TIE, 0b100: Winner.BANKER, 0b111: Winner.FORCED_QUIT}
_MOST_INDEX: Final = 10
_PLAIN: Final[dict[bytes, ShoeReport]] = {b"S": Started(), b"P": StandBy(), b"C": CutCardDrawn()}


def read_report(data: bytes) -> ShoeReport:
    """What a report says."""
    return _PLAIN.get(data) or _read(data) or UnknownReport(data)


def _read(data: bytes) -> ShoeReport | None:
    code, content = data[:1], data[1:]
    match code, len(content):
        case b"G", 1:
            winner = _WINNERS.get(_high(content[0]))
            return GameResult(winner, bool(content[0] & 1), bool(content[0] & 2)) if winner else None
        case ((b"D" | b"R"), 2):
            to, index = _FOR.get(_high(content[0])), content[0] & 0xF
            card = _card(content[1])
            return CardDrawn(to, index, *card, again=code == b"R") if to and card and index <= _MOST_INDEX else None
        case b"d", 2:
            card = _card(content[1])
            return CardDrawnOutside(_high(content[0]), content[0] & 0xF, *card) if card else None
        case b"E", 1:
            return ErrorOccurred(content[0] & 0x3F, bool(content[0] & 0x40))
        case b"e", 1:
            return ErrorCancelled(content[0] & 0x3F)
        case b"L", 1:
            return LockChanged(bool(content[0] & 1))
        case b"M", 6 if content.isascii():
            return PresetChanged(content[:2].decode(), content[2:].decode())
    return None


def _high(byte: int) -> int:
    """Bits 6 to 4; bit 7 has no meaning."""
    return byte >> 4 & 0b111


def _card(byte: int) -> tuple[str, str] | None:
    """Suit and rank: both empty if the shoe did not read the card, None if the byte does not stand for a card."""
    suit, rank = SUITS.get(_high(byte), ""), RANKS.get(byte & 0xF, "")
    if bool(suit) != bool(rank) or (not suit and byte & 0x7F):
        return None
    return suit, rank

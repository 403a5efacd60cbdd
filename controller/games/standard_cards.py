"""The standard pack: 52 kinds of cards in four suits, by names such as "ace of spades"."""

from __future__ import annotations

from typing import Final

RANKS: Final = (
    "ace", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king",
)  # fmt: skip
SUITS: Final = ("spades", "hearts", "diamonds", "clubs")
KINDS: Final = tuple(f"{rank} of {suit}" for suit in SUITS for rank in RANKS)

_RANK_CODES: Final = dict(zip("a23456789tjqk", RANKS, strict=True)) | {"10": "ten"}
_SUIT_CODES: Final = {suit[0]: suit for suit in SUITS}


def rank_of(kind: str) -> str:
    """The rank of a card: "ace" of "ace of spades"."""
    return kind.partition(" of ")[0]


def suit_of(kind: str) -> str:
    """The suit of a card: "spades" of "ace of spades"."""
    return kind.partition(" of ")[2]


def kind_of_code(code: str) -> str:
    """The card that a person means by a short code such as `Ah`, `10s` or `td`; empty if it is not one."""
    code = code.strip().lower()
    rank, suit = _RANK_CODES.get(code[:-1]), _SUIT_CODES.get(code[-1:])
    return f"{rank} of {suit}" if rank and suit else ""

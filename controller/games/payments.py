"""What a settlement consists of, in every game."""

from __future__ import annotations

import msgspec


class Fee(msgspec.Struct, frozen=True):
    """What the house takes from a player, whatever the outcome of a round."""

    hand: str  # "seat3"
    cents: int  # the amount
    why: str  # in a few words


class Payment(msgspec.Struct, frozen=True):
    """One step of a settlement: what a hand wins or loses with one bet. Steps are listed in the order of payment."""

    hand: str  # the place of the hand: "seat3"
    bet: str  # which bet is settled
    outcome: str  # such as the line of the paytable, or "lost"
    net: int  # in the units of the wagers: more than 0 is won, less is lost, 0 is returned
    other: str = ""  # the hand at whose cost it is; empty for the house


class HandResult(msgspec.Struct, frozen=True):
    """How a hand has ended, in words. Results are listed in the order of settlement."""

    hand: str  # "seat3", "dealer"
    text: str  # in words

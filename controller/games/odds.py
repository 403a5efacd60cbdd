"""Exact odds of a bet: how often each line of its paytable comes up, and what the house keeps.

Every figure is a whole number of deals out of all deals, counted and never sampled.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec


class OddsLine(msgspec.Struct, frozen=True):
    """One outcome of a bet: in `ways` of `of` equally likely deals, and what it pays to one unit staked."""

    outcome: str
    ways: int
    of: int
    pays: int  # the net result: -1 if the stake is lost, 0 if it is returned

    @property
    def p(self) -> Fraction:
        """Its probability."""
        return Fraction(self.ways, self.of)


class BetOdds(msgspec.Struct, frozen=True):
    """The odds of a bet by one of its paytables. The lines cover all deals."""

    bet: str
    paytable: str
    lines: tuple[OddsLine, ...]
    unit: str = "the wager"  # what the edge is a part of

    @property
    def edge(self) -> Fraction:
        """What the player loses on average of one unit staked; negative if the player wins."""
        return -sum((line.p * line.pays for line in self.lines), Fraction())


def bet_odds(bet: str, paytable: str, ways: dict[str, int], pays: dict[str, int], unit: str = "the wager") -> BetOdds:
    """The odds from the number of deals with each outcome; outcomes that `pays` does not name lose the stake."""
    of = sum(ways.values())
    lines = tuple(OddsLine(outcome, number, of, pays.get(outcome, -1)) for outcome, number in ways.items())
    return BetOdds(bet, paytable, lines, unit)

"""Exact odds of a bet: how often each line of its paytable comes up, and what the house keeps.

Every figure is a whole number of deals out of all deals, counted and never sampled.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from fractions import Fraction

import msgspec


class OddsChoice(msgspec.Struct, frozen=True):
    """What a person may choose where odds depend on it: a parameter of the game's function."""

    name: str
    usual: int | str
    text: str  # what it is, from `decks: Annotated[int, "number of decks"] = 8`


def odds_choices(odds: Callable[..., object]) -> list[OddsChoice]:
    """The numbers and texts among the parameters of a game's function. ValueError: one has no usual value."""
    hints, found = typing.get_type_hints(odds, include_extras=True), []
    for name, parameter in inspect.signature(odds).parameters.items():
        if parameter.default is parameter.empty:
            raise ValueError(f"the parameter {name} needs a usual value")
        texts = [one for one in getattr(hints.get(name), "__metadata__", ()) if isinstance(one, str)]
        if isinstance(parameter.default, int | str):
            found.append(OddsChoice(name, parameter.default, texts[0] if texts else name.replace("_", " ")))
    return found


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

"""Dragon Poker with the Chinese deck: which hands win, what the winner collects, exchanges, and the exact odds.

The players play against each other: every payment to the winner comes from the pot or from another player.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from controller.games.chinese_deck.pack import (
    CLASS_NAMES,
    EXAMPLE_PACK,
    FEWEST_PLAYERS,
    HAND_SIZE,
    KINDS,
    MOST_EXCHANGED,
    MOST_PLAYERS,
    WinningClass,
    pack_fault,
    pack_size,
    winning_hands,
    winning_ways,
)
from controller.games.odds import BetOdds, OddsLine
from controller.games.payments import Payment

# --- winning hands ----------------------------------------------------------------------------------------------------


def winning_class(kinds: Sequence[str]) -> WinningClass | None:
    """The highest class that these six cards form; None if they do not win.

    ValueError: not six cards, or not cards of this game.
    """
    if len(kinds) != HAND_SIZE:
        raise ValueError(f"a hand has {HAND_SIZE} cards, not {len(kinds)}")
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise ValueError(f"unknown kinds of cards: {', '.join(unknown)}")
    return winning_hands().get(tuple(sorted(kinds)))


def deal_winner(hands: Mapping[str, Sequence[str]]) -> tuple[str, WinningClass] | None:
    """The hand that wins in the deal, and its class; None if none does. `hands` are in the order of the deal.

    The higher class wins. Of equal classes, the hand that was dealt to first wins: it got its sixth card first, and
    the rules let the first to have a winning hand win ("sudden death") wherever the class does not decide.
    """
    found = [(hand, winning) for hand, kinds in hands.items() if (winning := winning_class(kinds)) is not None]
    return max(found, key=lambda one: one[1], default=None)  # the first of equals


# --- exchanges --------------------------------------------------------------------------------------------------------

ANTE: Final = 1  # units that each player puts into the pot before the deal
EXCHANGE_COST: Final = 1  # units for each card exchanged
EXCHANGES: Final = range(1, MOST_EXCHANGED + 1)  # how many cards one exchange can have


def exchange_cost(cards: int) -> int:
    """The units that an exchange of this many cards puts into the pot. ValueError: not 1 to 3 cards."""
    if cards not in EXCHANGES:
        raise ValueError(f"{cards} cards cannot be exchanged: enter {EXCHANGES[0]} to {EXCHANGES[-1]}")
    return cards * EXCHANGE_COST


def reshuffle_due(stock: int) -> bool:
    """Whether so few cards are left after an exchange that stock and discards are shuffled into a new stock."""
    return stock < MOST_EXCHANGED


def may_exchange(cards: int, stock: int) -> bool:
    """Whether the player in turn may exchange this many cards: not too many, and not before a reshuffle that is due."""
    return cards in EXCHANGES and not reshuffle_due(stock)


# --- the tally --------------------------------------------------------------------------------------------------------


class WhenWon(StrEnum):
    """When the winner got the winning hand."""

    IN_THE_DEAL = "in the deal"
    FIRST_EXCHANGES = "first round of exchanges"
    LATER = "later"


EARLY_WIN: Final = {WhenWon.IN_THE_DEAL: 100, WhenWon.FIRST_EXCHANGES: 50, WhenWon.LATER: 0}  # units from each player
CLASS_UNITS: Final = {  # units from each player
    WinningClass.HONOURS: 0,
    WinningClass.TRIPLET_AND_SEQUENCE: 0,
    WinningClass.TWO_ALIKE: 0,
    WinningClass.ONE_SUIT: 100,
    WinningClass.SIX_IN_A_ROW: 200,
    WinningClass.ALL_FENG_SHUI: 400,
}
POT_SHARE: Final = {  # of the pot's value, from each player
    WinningClass.TRIPLET_AND_SEQUENCE: Fraction(1, 2),
    WinningClass.TWO_ALIKE: Fraction(1),
}
POT: Final = "pot"


def when_won(turns: int, players: int) -> WhenWon:
    """When a hand wins that is complete after this many turns to exchange, counting those in which a player passed.

    The first round of exchanges ends with the turn of the last player.
    """
    if not turns:
        return WhenWon.IN_THE_DEAL
    return WhenWon.FIRST_EXCHANGES if turns <= players else WhenWon.LATER


def class_bonus(winning: WinningClass, pot: int) -> int:
    """The units that each of the other players pays for the class of the winning hand.

    Half of an odd pot is rounded down: units are not divided, and nobody pays more than the half that is due.
    """
    return CLASS_UNITS[winning] + math.floor(POT_SHARE.get(winning, 0) * pot)


def tally(winner: str, others: Sequence[str], winning: WinningClass, pot: int, when: WhenWon) -> list[Payment]:
    """What the winner collects: first the pot, then from each of the others for an early win and for the class.

    An early win is paid in addition to the bonus for the class: the rules call that bonus additional, and grant it to
    any winner. If an early win replaced it, five feng shui cards would earn less in the deal than later.

    Units in the pot no longer belong to the players who put them there. The whole pot therefore counts as won, the
    winner's own units included, and `other` names the pot as the place that it comes from.

    ValueError: the wrong number of players, a player named twice, or a pot that is less than the antes.
    """
    players = (winner, *others)
    if not FEWEST_PLAYERS <= len(players) <= MOST_PLAYERS:
        raise ValueError(f"the game is played by {FEWEST_PLAYERS} to {MOST_PLAYERS} players, not {len(players)}")
    if len(set(players)) < len(players):
        raise ValueError(f"a player is named twice: {', '.join(players)}")
    if pot < ANTE * len(players):
        raise ValueError(f"a pot of {pot} is less than the antes of {len(players)} players")
    payments = [Payment(winner, POT, CLASS_NAMES[winning], pot, other=POT)]
    bonus = class_bonus(winning, pot)
    for other in others:
        payments.append(Payment(winner, "early win", str(when), EARLY_WIN[when], other=other))
        payments.append(Payment(winner, "class bonus", CLASS_NAMES[winning], bonus, other=other))
    return [payment for payment in payments if payment.net]


# --- odds -------------------------------------------------------------------------------------------------------------

NO_WIN: Final = "no winning hand"


class OddsAmongPlayers(BetOdds, frozen=True):
    """The odds of a game in which the players pay each other and the house neither wins nor loses."""

    @property
    def edge(self) -> Fraction:
        """Always 0: whatever one hand collects, other hands pay, so that the average of all hands is 0.

        The lines cannot be added up to it, since they contain what a hand collects and not what it pays to others.
        """
        return Fraction()


def odds(pack: Mapping[str, int] = EXAMPLE_PACK, players: int = MOST_PLAYERS) -> list[BetOdds]:
    """How many of all hands dealt from a pack win in the deal, by class, and what such a hand wins.

    What it wins is the antes and payments of the other players, unless one of them has a hand that wins against it.
    With any other hand the game continues: nothing is won or lost yet. The house keeps nothing, so the edge is 0.

    ValueError: the game cannot be played with this pack, or not by so many players.
    """
    if fault := pack_fault(pack):
        raise ValueError(fault)
    if not FEWEST_PLAYERS <= players <= MOST_PLAYERS:
        raise ValueError(f"the game is played by {FEWEST_PLAYERS} to {MOST_PLAYERS} players, not {players}")
    of = math.comb(pack_size(pack), HAND_SIZE)
    ways = winning_ways(pack)
    lines = [OddsLine(CLASS_NAMES[one], ways[one], of, _wins_in_the_deal(one, players)) for one in reversed(ways)]
    lines.append(OddsLine(NO_WIN, of - sum(ways.values()), of, 0))
    what = "the example pack of " if pack == EXAMPLE_PACK else ""
    name = f"{what}{pack_size(pack)} cards, {players} players"
    return [OddsAmongPlayers("winning hand in the deal", name, tuple(lines), "the ante")]


def _wins_in_the_deal(winning: WinningClass, players: int) -> int:
    """What the winner has gained after the tally; the winner's own ante was part of the pot."""
    others = [f"player {number}" for number in range(2, players + 1)]
    payments = tally("player 1", others, winning, ANTE * players, WhenWon.IN_THE_DEAL)
    return sum(payment.net for payment in payments) - ANTE

"""The exact odds of Dragon Poker's bets, by every paytable that the house may choose."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.dragon_poker.pay import (
    ANTE_BONUS,
    DRAGON_WAGER,
    HAND_SIZE,
    THREE_CARD_BONUS,
    Paytable,
    RankedHand,
    best_hand,
    dragons,
    pay_line,
)
from controller.games.odds import BetOdds, bet_odds

Copies = tuple[int, ...]  # how many cards there are of each kind
FOLD, LOSE, TIE = "fold", "lose", "tie"
FORFEITED, LOST = -2, -3  # antes: ante and ante bonus; these and the play wager
EVEN_MONEY = 2  # ante and play wager both pay 1 to 1


def odds() -> list[BetOdds]:
    """The odds of every bet by every paytable. The main bet is played as well as possible."""
    main = [_main_bet(name, paytable) for name, paytable in ANTE_BONUS.items()]
    bonus = [_three_card_odds(name, paytable) for name, paytable in THREE_CARD_BONUS.items()]
    return [*main, *bonus, *(_dragon_odds(name, pays) for name, pays in DRAGON_WAGER.items())]


def _hands(copies: Copies) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every hand by its kinds, and in how many ways these cards give it."""
    for found in itertools.combinations_with_replacement(range(len(copies)), HAND_SIZE):
        ways = math.prod(math.comb(copies[kind], found.count(kind)) for kind in set(found))
        if ways:
            yield tuple(DRAGON_POKER.kinds[kind] for kind in found), ways


@functools.cache
def _against_dealer() -> list[tuple[RankedHand, int, int, int, int]]:
    """For every hand: its rank, its ways, and how many of the dealer's hands it beats, ties and loses to."""
    found = []
    ranked = functools.cache(best_hand)
    for mine, ways in _hands(DRAGON_POKER.copies):
        left = [number - mine.count(kind) for kind, number in zip(DRAGON_POKER.kinds, DRAGON_POKER.copies, strict=True)]
        results = [0, 0, 0]
        for theirs, number in _hands(tuple(left)):
            results[_sign(ranked(mine), ranked(theirs))] += number
        found.append((ranked(mine), ways, results[1], results[0], results[-1]))
    return found


def _sign(mine: RankedHand, theirs: RankedHand) -> int:
    return (mine > theirs) - (mine < theirs)


def _main_bet(name: str, paytable: Paytable) -> BetOdds:
    """Ante, ante bonus and play wager. A hand is played if that loses less on average than folding it."""
    wins = {line.outcome: line.pays + EVEN_MONEY for line in paytable}
    ways = dict.fromkeys([*wins, TIE, LOSE, FOLD], 0)
    for hand, number, beaten, tied, lost in _against_dealer():
        line = pay_line(paytable, hand)
        assert line is not None  # the last line is for any winning hand
        deals = beaten + tied + lost
        if Fraction(beaten * wins[line.outcome] + lost * LOST, deals) <= FORFEITED:
            ways[FOLD] += number * deals
            continue
        ways[line.outcome] += number * beaten
        ways[TIE] += number * tied
        ways[LOSE] += number * lost
    return bet_odds("ante, ante bonus and play", name, ways, wins | {TIE: 0, LOSE: LOST, FOLD: FORFEITED}, "the ante")


def _three_card_odds(name: str, paytable: Paytable) -> BetOdds:
    ways = dict.fromkeys([*(line.outcome for line in paytable), LOSE], 0)
    for kinds, number in _hands(DRAGON_POKER.copies):
        line = pay_line(paytable, best_hand(kinds))
        ways[line.outcome if line else LOSE] += number
    return bet_odds("three card bonus", name, ways, {line.outcome: line.pays for line in paytable})


def _dragon_odds(name: str, pays: dict[str, int]) -> BetOdds:
    ways = dict.fromkeys([*pays, LOSE], 0)
    for kinds, number in _hands(DRAGON_POKER.copies):
        ways[dragons(kinds) or LOSE] += number
    return bet_odds("dragon wager", name, ways, pays)

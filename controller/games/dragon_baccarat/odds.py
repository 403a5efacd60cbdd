"""Dragon Baccarat Tournament: the exact odds of every bet, for four to ten decks and any session."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from controller.games.dragon_baccarat.hands import (
    FEWEST_DECKS,
    MOST_DECKS,
    Result,
    banker_draws,
    player_draws,
    points_of,
    result,
    total,
)
from controller.games.dragon_baccarat.pay import DRAGON_PAYS, PAYS, STREAKS, Dragon
from controller.games.odds import BetOdds, bet_odds
from controller.games.standard_cards import KINDS, RANKS, SUITS

LOSE, RETURNED = "lose", "tie, returned"
LONGEST_SESSION = 200  # rounds; more than a pack of ten decks lasts


def odds(
    decks: Annotated[int, "number of decks in the pack"] = 8,
    session: Annotated[int, "rounds of a session, for its dragon bets"] = 0,
) -> list[BetOdds]:
    """The odds with a full pack of this many decks, and of the dragon bets for a session of this many rounds.

    For the dragon bets every round of the session is dealt from a full pack, and the longest streak is paid.
    ValueError: the game is not played with that many decks, or a session is not that long.
    """
    if not FEWEST_DECKS <= decks <= MOST_DECKS:
        raise ValueError(f"{decks} decks: the game is played with {FEWEST_DECKS} to {MOST_DECKS} (2.1)")
    if not 0 <= session <= LONGEST_SESSION:
        raise ValueError(f"a session of {session} rounds: enter 1 to {LONGEST_SESSION}")
    results = round_results(decks)
    name = f"{decks} decks"
    bets = [_round_odds(side, name, results) for side in Result]
    bets += [_pair_odds(side, name, decks) for side in (Result.PLAYER, Result.BANKER)]
    if session:
        bets += [_dragon_odds(side, name, results, session) for side in (Result.PLAYER, Result.BANKER, None)]
    return bets


def round_results(decks: int) -> Counter[Result]:
    """In how many of all ordered deals of six cards from a full pack a round ends with each result."""
    cards = decks * len(KINDS)
    copies = Counter(points_of(rank) for rank in RANKS for _ in range(len(SUITS) * decks))
    found: Counter[Result] = Counter()
    pairs = list(itertools.combinations_with_replacement(range(10), 2))
    for mine, theirs in itertools.product(pairs, pairs):
        orders = (1 + (mine[0] != mine[1])) * (1 + (theirs[0] != theirs[1]))
        ways = orders * _ordered(copies, (*mine, *theirs))
        left = copies - Counter(mine) - Counter(theirs)
        for outcome, number in _third_cards(total(mine), total(theirs), left, cards - 4).items():
            found[outcome] += ways * number
    return found


def _ordered(copies: Counter[int], drawn: Sequence[int]) -> int:
    """In how many ways cards with these points can be drawn in this order."""
    return math.prod(math.perm(copies[points], number) for points, number in Counter(drawn).items())


def _third_cards(player: int, banker: int, left: Counter[int], cards: int) -> Counter[Result]:
    """The results in all ordered deals of two more cards. One that is not drawn can be any."""
    found: Counter[Result] = Counter()
    if not player_draws(player, banker):
        for points, number in _drawn(left, banker_draws(player, banker, None), cards).items():
            found[result(player, total((banker, points)))] += number * (cards - 1)
        return found
    for third, number in left.items():
        after = left - Counter((third,))
        for points, more in _drawn(after, banker_draws(player, banker, third), cards - 1).items():
            found[result(total((player, third)), total((banker, points)))] += number * more
    return found


def _drawn(left: Counter[int], draws: bool, cards: int) -> dict[int, int]:
    """The points of the next card and its ways; 0 points if it is not drawn, whatever it is."""
    return left if draws else {0: cards}


def _round_odds(side: Result, name: str, results: Counter[Result]) -> BetOdds:
    returned = results[Result.TIE] if side is not Result.TIE else 0
    won = results[side]
    ways = {str(side): won, LOSE: results.total() - won - returned}
    if returned:
        ways[RETURNED] = returned
    return bet_odds(str(side), name, ways, {str(side): PAYS[side], RETURNED: 0})


def _pair_odds(side: Result, name: str, decks: int) -> BetOdds:
    cards = decks * len(KINDS)
    pairs = len(RANKS) * math.perm(len(SUITS) * decks, 2)
    ways = {"pair": pairs, LOSE: math.perm(cards, 2) - pairs}
    return bet_odds(f"{side} pair", name, ways, {"pair": PAYS[f"{side} pair"]})


def _dragon_odds(side: Result | None, name: str, results: Counter[Result], session: int) -> BetOdds:
    """A dragon bet: on one side, or on any. Streaks are counted round by round; ties do not interrupt them."""
    most = STREAKS[Dragon.ROYAL]
    states = Counter({(Result.TIE, 0, 0): 1})  # the last winner, its wins in a row, and the longest that counts
    for _ in range(session):
        after: Counter[tuple[Result, int, int]] = Counter()
        for ((last, run, longest), ways), (outcome, number) in itertools.product(states.items(), results.items()):
            if outcome is Result.TIE:
                after[last, run, longest] += ways * number
                continue
            streak = min(run + 1, most) if outcome is last else 1
            counts = side in (None, outcome)
            after[outcome, streak, max(longest, streak) if counts else longest] += ways * number
        states = after
    ended: Counter[int] = Counter()  # the deals by their longest streak
    for (_, _, longest), ways in states.items():
        ended[longest] += ways
    dragons = {str(dragon): ended[streak] for dragon, streak in STREAKS.items()}
    dragons[LOSE] = ended.total() - sum(dragons.values())
    bet = f"{side or 'any'} dragon"
    pays = {str(dragon): number for dragon, number in DRAGON_PAYS[bet].items()}
    return bet_odds(f"{bet}, {session} rounds", name, dragons, pays)

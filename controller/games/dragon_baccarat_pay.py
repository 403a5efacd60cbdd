"""Dragon Baccarat Tournament: points, the table of play, payouts, and the exact odds of every bet.

Rule 3.9's table of play is data here: who draws a third card follows from the points alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from controller.games.odds import BetOdds, bet_odds

FEWEST_DECKS, MOST_DECKS = 4, 10
DECK_SIZE = 52
RANKS = ("ace", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king")
SUITS = 4

PLAYER_DRAWS = range(6)  # on these points, unless either hand has a natural
BANKER_DRAWS_ALONE = range(6)  # if the player stands
BANKER_DRAWS: dict[int, frozenset[int]] = {  # the banker's points, and the points of the player's third card
    0: frozenset(range(10)),
    1: frozenset(range(10)),
    2: frozenset(range(10)),
    3: frozenset(range(10)) - {8},
    4: frozenset(range(2, 8)),
    5: frozenset(range(4, 8)),
    6: frozenset((6, 7)),
}
NATURAL = 8  # points of the first two cards, or more


class Result(StrEnum):
    """How a round ends."""

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class Dragon(StrEnum):
    """The longest streak of a session, as the dragon bets name it."""

    RUBY = "ruby dragon"
    GOLDEN = "golden dragon"
    ROYAL = "royal dragon"


STREAKS: dict[Dragon, int] = {Dragon.RUBY: 5, Dragon.GOLDEN: 6, Dragon.ROYAL: 7}  # wins in a row, at least
PAYS = {Result.PLAYER: 1, Result.BANKER: 1, Result.TIE: 8}
PAIR_PAYS = 11
DRAGON_PAYS = {Dragon.RUBY: 2, Dragon.GOLDEN: 4, Dragon.ROYAL: 10}
ANY_DRAGON_PAYS = {Dragon.RUBY: 1, Dragon.GOLDEN: 2, Dragon.ROYAL: 5}


def points_of(rank: str) -> int:
    """The points of a card: an ace is 1, ten and pictures are 0."""
    points = RANKS.index(rank) + 1
    return points if points < 10 else 0


def total(points: Sequence[int]) -> int:
    """The points of a hand: the last digit of the sum."""
    return sum(points) % 10


def has_natural(player: int, banker: int) -> bool:
    """Whether the points of the first two cards of either hand end the round."""
    return max(player, banker) >= NATURAL


def player_draws(player: int, banker: int) -> bool:
    """Whether the player gets a third card, by the points of the first two cards of each hand."""
    return not has_natural(player, banker) and player in PLAYER_DRAWS


def banker_draws(player: int, banker: int, third: int | None) -> bool:
    """Whether the banker gets a third card; `third` has the points of the player's third card, if there is one."""
    if has_natural(player, banker):
        return False
    return banker in BANKER_DRAWS_ALONE if third is None else third in BANKER_DRAWS.get(banker, ())


def result(player: int, banker: int) -> Result:
    """Who wins with these points."""
    if player == banker:
        return Result.TIE
    return Result.PLAYER if player > banker else Result.BANKER


# --- odds -------------------------------------------------------------------------------------------------------------

LOSE, RETURNED = "lose", "tie, returned"
LONGEST_SESSION = 200  # rounds; more than a pack of ten decks lasts


def odds(decks: int = 8, session: int = 0) -> list[BetOdds]:
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
    cards = decks * DECK_SIZE
    copies = Counter(points_of(rank) for rank in RANKS for _ in range(SUITS * decks))
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
    cards = decks * DECK_SIZE
    pairs = len(RANKS) * math.perm(SUITS * decks, 2)
    ways = {"pair": pairs, LOSE: math.perm(cards, 2) - pairs}
    return bet_odds(f"{side} pair", name, ways, {"pair": PAIR_PAYS})


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
    pays = DRAGON_PAYS if side else ANY_DRAGON_PAYS
    bet = f"{side or 'any'} dragon, {session} rounds"
    return bet_odds(bet, name, dragons, {str(dragon): number for dragon, number in pays.items()})

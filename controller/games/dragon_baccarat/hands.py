"""Dragon Baccarat Tournament: points, the table of play, and which hand the next card belongs to.

Rule 3.9's table of play is data here: who draws a third card follows from the points alone. Cards are kinds of the
standard pack, such as "ace of spades".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from controller.games.standard_cards import KINDS, RANKS, rank_of

FEWEST_DECKS, MOST_DECKS = 4, 10

BaccaratHand = Literal["player", "banker"]

INITIAL_DEAL: tuple[tuple[BaccaratHand, str], ...] = (  # 3.7: the hand of each of the first four cards
    ("player", "the player's first card is due"),
    ("banker", "the banker's first card is due"),
    ("player", "the player's second card is due"),
    ("banker", "the banker's second card is due"),
)
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


class BaccaratResult(msgspec.Struct, frozen=True):
    """What the dealer announces at the end of a round: the winner, and the pairs in the first two cards."""

    result: Result
    player_pair: bool = False
    banker_pair: bool = False


BaccaratRounds = Sequence[BaccaratResult | None]  # in order; None for a void round


# --- points -----------------------------------------------------------------------------------------------------------


def points_of(rank: str) -> int:
    """The points of a rank: an ace is 1, ten and pictures are 0."""
    points = RANKS.index(rank) + 1
    return points if points < 10 else 0


POINTS = {kind: points_of(rank_of(kind)) for kind in KINDS}


def points_of_kind(kind: str) -> int:
    """The points of a card. ValueError: the standard pack does not have it."""
    if kind not in POINTS:
        raise ValueError(f'unknown card {kind!r}; expected a name such as "ace of spades"')
    return POINTS[kind]


def total(points: Iterable[int]) -> int:
    """The points of a hand: the last digit of the sum."""
    return sum(points) % 10


def hand_points(cards: Iterable[str]) -> int:
    """The points of these cards."""
    return total(points_of_kind(kind) for kind in cards)


# --- the table of play ------------------------------------------------------------------------------------------------


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


def due_card(player: Sequence[str], banker: Sequence[str]) -> BaccaratHand | None:
    """The hand that the next card belongs to; None if the round needs no more cards.

    ValueError: the cards do not agree with the table of play so far.
    """
    return _due(player, banker)[0]


def due_card_reason(player: Sequence[str], banker: Sequence[str]) -> str:
    """Why the next card belongs to the hand that `due_card` names, or why the round needs no more cards."""
    return _due(player, banker)[1]


def check_round(player: Sequence[str], banker: Sequence[str]) -> str:
    """How the cards of a round that has ended disagree with the table of play; empty if they agree."""
    hand, reason, wrong = _follow(player, banker)
    if wrong:
        return f"the {wrong}'s cards do not fit: {reason}"
    return f"a card is missing: {reason}" if hand else ""


def reconstruct(drawn: Sequence[str]) -> list[BaccaratHand | None]:
    """The hand of each card, in the order in which they were drawn, wherever they were put (5.2 to 5.4).

    None: the round does not need the card.
    """
    hands: dict[BaccaratHand, list[str]] = {"player": [], "banker": []}
    found: list[BaccaratHand | None] = []
    for kind in drawn:
        hand, _ = _next_card(hands["player"], hands["banker"])
        found.append(hand)
        if hand:
            hands[hand].append(kind)
    return found


def _due(player: Sequence[str], banker: Sequence[str]) -> tuple[BaccaratHand | None, str]:
    hand, reason, wrong = _follow(player, banker)
    if wrong:
        raise ValueError(f"the {wrong}'s cards do not fit: {reason}")
    return hand, reason


def _follow(player: Sequence[str], banker: Sequence[str]) -> tuple[BaccaratHand | None, str, BaccaratHand | None]:
    """Deal the round again: the hand that is due after it and why, and a hand with cards that it should not have."""
    rest: dict[BaccaratHand, list[str]] = {"player": list(player), "banker": list(banker)}
    hands: dict[BaccaratHand, list[str]] = {"player": [], "banker": []}
    while True:
        hand, reason = _next_card(hands["player"], hands["banker"])
        if hand is None or not rest[hand]:
            return hand, reason, next((name for name, cards in rest.items() if cards), None)
        hands[hand].append(rest[hand].pop(0))


def _next_card(player: Sequence[str], banker: Sequence[str]) -> tuple[BaccaratHand | None, str]:
    """The hand that the next card belongs to, and why. The cards so far are those that the table of play calls for."""
    dealt = len(player) + len(banker)
    if dealt < len(INITIAL_DEAL):
        return INITIAL_DEAL[dealt]
    mine, theirs = hand_points(player[:2]), hand_points(banker[:2])
    if has_natural(mine, theirs):
        points = {"player": mine, "banker": theirs}
        return None, " and ".join(f"the {name} has a natural {n}" for name, n in points.items() if n >= NATURAL)
    third = points_of_kind(player[2]) if len(player) > 2 else None
    if third is None and player_draws(mine, theirs):
        return "player", f"the player has {mine} and draws"
    if len(banker) > 2:
        return None, "the banker's third card ends the round"
    draws = banker_draws(mine, theirs, third)
    before = f"the player stands on {mine}, and " if third is None else ""
    after = "" if third is None else f" on the player's third card of {third}"
    reason = f"{before}the banker has {theirs} and {'draws' if draws else 'stands'}{after}"
    return ("banker" if draws else None), reason


# --- results ----------------------------------------------------------------------------------------------------------


def result(player: int, banker: int) -> Result:
    """Who wins with these points."""
    if player == banker:
        return Result.TIE
    return Result.PLAYER if player > banker else Result.BANKER


def is_pair(cards: Sequence[str]) -> bool:
    """Whether the first two cards of a hand are of the same rank (1.1.8)."""
    return len(cards) > 1 and rank_of(cards[0]) == rank_of(cards[1])


def baccarat_result(player: Sequence[str], banker: Sequence[str]) -> BaccaratResult:
    """The result of a round that has ended with these cards.

    ValueError: the cards do not agree with the table of play.
    """
    fault = check_round(player, banker)
    if fault:
        raise ValueError(f"the round has no result: {fault}")
    return BaccaratResult(result(hand_points(player), hand_points(banker)), is_pair(player), is_pair(banker))

"""Face-Up Chinese Poker: fouls, bonuses, clean sweeps, the settlement of a round, fantasy land, and the house's fees.

The players play against each other; the house only takes a fee. The rules leave some questions open. This is how they
are read here:

- **Foul.** Each hand must be higher than the next, so back and middle of exactly the same rank are a foul too. Two
  foul hands owe each other the same and exchange nothing. A foul hand has no clean sweep, declared or not.
- **Clean sweep.** A hand with a sweep is not compared and pays no bonus, but its own bonuses are paid in addition to
  the sweep. It counts with the cards as they were set. Sweeps of equal points push, whoever has the buttons.
- **A foul next to a sweep.** The foul hand pays the sweep, the penalty, which goes to every other hand, and bonuses.
- **Order.** Sweeps first: from the holder of the buttons clockwise, each paid clockwise from the hand that has it.
  Then the comparisons. Of each, the points for the segments come before the bonuses, front to back.
- **Table stakes.** What two hands owe each other in one exchange is set off, and only the difference changes hands. The
  differences that a player wins in a round add up to no more than the stack at its start, and so do those that the
  player loses. Chips won in a round are not at stake in it. The exchange that comes first is paid first, as far as
  both stacks reach; what is then left unpaid lapses.
- **Two hands each.** The player who has the buttons wins ties with both hands.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from controller.games.payments import Payment
from controller.games.poker_hands import (
    ACE,
    PokerCategory,
    PokerHand,
    five_card_hand,
    front_hand,
    hand_name,
    straight_top,
)
from controller.games.standard_cards import RANKS, rank_of, suit_of


class Segment(StrEnum):
    """The three parts of a hand."""

    FRONT = "front"
    MIDDLE = "middle"
    BACK = "back"


class Sweep(StrEnum):
    """The clean sweeps, highest first."""

    SUPER_DRAGON = "super dragon"
    DRAGON = "dragon"
    SIX_PAIRS = "six pairs"
    THREE_STRAIGHTS = "three straights"
    THREE_FLUSHES = "three flushes"


class Segments(msgspec.Struct, frozen=True):
    """The 13 cards of a finished hand, as they were set."""

    back: tuple[str, ...]
    middle: tuple[str, ...]
    front: tuple[str, ...]

    @property
    def cards(self) -> tuple[str, ...]:
        """All cards of the hand."""
        return (*self.back, *self.middle, *self.front)


class FinishedHand(msgspec.Struct, frozen=True):
    """A hand that takes part in the settlement."""

    place: str  # "seat3"
    segments: Segments
    declared: bool = False  # as a clean sweep, before the comparison
    player: str = ""  # whose hand it is, if two players play two hands each; otherwise the place says it


class CollectionSchedule(msgspec.Struct, frozen=True):
    """What the house takes from each player for a down of 40 minutes. A point is worth the limit."""

    limit_dollars: int
    fee_dollars: int


SEGMENT_POINTS: Final = 1
FOUL_POINTS: Final = 9  # three for each segment
SWEEP_POINTS: Final = {
    Sweep.SUPER_DRAGON: 26,
    Sweep.DRAGON: 13,
    Sweep.SIX_PAIRS: 3,
    Sweep.THREE_STRAIGHTS: 3,
    Sweep.THREE_FLUSHES: 3,
}
FRONT_PAIR_BONUS: Final = {6: 1, 7: 2, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 8, ACE: 9}
FRONT_TRIPS_BONUS: Final = {
    2: 10, 3: 11, 4: 12, 5: 13, 6: 14, 7: 15, 8: 16, 9: 17, 10: 18, 11: 19, 12: 20, 13: 21, ACE: 22,
}  # fmt: skip
MIDDLE_BONUS: Final = {
    PokerCategory.STRAIGHT: 4,
    PokerCategory.FLUSH: 8,
    PokerCategory.FULL_HOUSE: 12,
    PokerCategory.FOUR_OF_A_KIND: 20,
    PokerCategory.STRAIGHT_FLUSH: 30,
    PokerCategory.ROYAL_FLUSH: 50,
}
BACK_BONUS: Final = {
    PokerCategory.STRAIGHT: 2,
    PokerCategory.FLUSH: 4,
    PokerCategory.FULL_HOUSE: 6,
    PokerCategory.FOUR_OF_A_KIND: 10,
    PokerCategory.STRAIGHT_FLUSH: 15,
    PokerCategory.ROYAL_FLUSH: 25,
}

ENTERS_WITH_FRONT: Final = PokerHand(PokerCategory.PAIR, (12,))  # a pair of queens or better
STAYS_WITH: Final = {  # any of these or better
    Segment.BACK: PokerHand(PokerCategory.FOUR_OF_A_KIND, ()),
    Segment.MIDDLE: PokerHand(PokerCategory.FULL_HOUSE, ()),
    Segment.FRONT: PokerHand(PokerCategory.THREE_OF_A_KIND, ()),
}

MOST_HANDS: Final = 4
LEAST_POINTS: Final = 9  # in the stack of a player who is dealt in
LEAST_BUY_IN_LIMITS: Final = 30
DOWN_MIN: Final = 40
HALF_FEE_MIN: Final = 20
COLLECTION: Final = {  # by the number of the option
    1: CollectionSchedule(1, 10),
    2: CollectionSchedule(5, 10),
    3: CollectionSchedule(10, 12),
    4: CollectionSchedule(20, 12),
    5: CollectionSchedule(30, 15),
    6: CollectionSchedule(40, 15),
    7: CollectionSchedule(50, 18),
    8: CollectionSchedule(100, 18),
}


# --- one hand ---------------------------------------------------------------------------------------------------------


def ranked_segments(segments: Segments) -> dict[Segment, PokerHand]:
    """The ranks of the three segments, front to back. ValueError: a segment has the wrong number of cards."""
    return {
        Segment.FRONT: front_hand(segments.front),
        Segment.MIDDLE: five_card_hand(segments.middle),
        Segment.BACK: five_card_hand(segments.back),
    }


def is_foul(segments: Segments) -> bool:
    """Whether the segments are not in order: back over middle over front."""
    ranked = ranked_segments(segments)
    return not ranked[Segment.BACK] > ranked[Segment.MIDDLE] > ranked[Segment.FRONT]


def bonus_points(segment: Segment, hand: PokerHand) -> int:
    """The bonus for a segment, won or lost; 0 if there is none."""
    if segment is Segment.FRONT:
        by_rank = {PokerCategory.PAIR: FRONT_PAIR_BONUS, PokerCategory.THREE_OF_A_KIND: FRONT_TRIPS_BONUS}
        return by_rank.get(hand.category, {}).get(hand.ranks[0], 0)
    return (MIDDLE_BONUS if segment is Segment.MIDDLE else BACK_BONUS).get(hand.category, 0)


def has_sweep(segments: Segments, sweep: Sweep) -> bool:
    """Whether a declared sweep is really there. Straight flushes are straights and flushes, and both count in front."""
    parts = (segments.front, segments.middle, segments.back)
    ranks = [rank_of(kind) for kind in segments.cards]
    match sweep:
        case Sweep.SUPER_DRAGON:
            return set(ranks) == set(RANKS) and _suited(segments.cards)
        case Sweep.DRAGON:
            return set(ranks) == set(RANKS)
        case Sweep.SIX_PAIRS:
            return sum(ranks.count(rank) // 2 for rank in RANKS) == 6
        case Sweep.THREE_STRAIGHTS:
            return all(straight_top([rank_of(kind) for kind in part]) for part in parts)
        case Sweep.THREE_FLUSHES:
            return all(_suited(part) for part in parts)


def sweep_of(segments: Segments) -> Sweep | None:
    """The highest clean sweep of a hand, which is the only one that is paid; None if it has none. A foul has none."""
    if is_foul(segments):
        return None
    return next((sweep for sweep in Sweep if has_sweep(segments, sweep)), None)


def enters_fantasy_land(segments: Segments) -> bool:
    """Whether this hand earns its player a round in fantasy land."""
    return not is_foul(segments) and ranked_segments(segments)[Segment.FRONT] >= ENTERS_WITH_FRONT


def stays_in_fantasy_land(segments: Segments) -> bool:
    """Whether this hand, played in fantasy land, earns its player another round there. A foul does not."""
    ranked = ranked_segments(segments)
    return not is_foul(segments) and any(ranked[segment] >= least for segment, least in STAYS_WITH.items())


def _suited(kinds: Sequence[str]) -> bool:
    return len({suit_of(kind) for kind in kinds}) == 1


# --- the settlement ---------------------------------------------------------------------------------------------------


class ShownHand(NamedTuple):
    """What the comparison needs to know about a hand."""

    place: str
    player: str
    ranked: dict[Segment, PokerHand]
    foul: bool
    sweep: Sweep | None  # only if it was declared


class Award(NamedTuple):
    """What one of two hands is due from the other."""

    place: str
    bet: str
    outcome: str
    points: int


def settle(hands: Sequence[FinishedHand], point: int, stacks: Mapping[str, int]) -> list[Payment]:
    """What changes hands at the end of a round, in the order of payment. The winner's net is positive.

    `hands` are in the order of positions: the first belongs to the player who has the buttons. `point` is the value of
    a point, and `stacks` has what lay before each player at the start of the round. A payment of which the stacks
    cover only a part says so in its outcome; one that they do not cover at all is not listed.
    ValueError: these are not two to four hands from one pack, or not the same number of hands for each player.
    """
    shown = _shown(hands)
    may_win, may_lose = dict(stacks), dict(stacks)
    payments: list[Payment] = []
    for one, other, awards in _exchanges(shown):
        balance = sum(award.points if award.place == one.place else -award.points for award in awards) * point
        winner, loser = (one, other) if balance >= 0 else (other, one)
        paid = min(abs(balance), may_win[winner.player], may_lose[loser.player])
        may_win[winner.player] -= paid
        may_lose[loser.player] -= paid
        payments += _payments(awards, point, winner, loser, unpaid=abs(balance) - paid)
    return payments


def _shown(hands: Sequence[FinishedHand]) -> list[ShownHand]:
    players = [hand.player or hand.place for hand in hands]
    each = {players.count(player) for player in players}
    two_each = each == {2} and len(hands) == MOST_HANDS
    if not 2 <= len(hands) <= MOST_HANDS or not (each == {1} or two_each):
        raise ValueError(f"hands of {', '.join(players)}: expected one of 2 to 4 players, or two of each of 2 players")
    cards = [kind for hand in hands for kind in hand.segments.cards]
    if twice := sorted({kind for kind in cards if cards.count(kind) > 1}):
        raise ValueError(f"{', '.join(twice)}: there is only one of these in the pack")
    return [
        ShownHand(
            hand.place,
            player,
            ranked_segments(hand.segments),
            is_foul(hand.segments),
            sweep_of(hand.segments) if hand.declared else None,
        )
        for hand, player in zip(hands, players, strict=True)
    ]


def _exchanges(shown: Sequence[ShownHand]) -> Iterator[tuple[ShownHand, ShownHand, list[Award]]]:
    """Who settles with whom, in order, and what they are due: first the sweeps, then the comparisons."""
    for position, one in enumerate(shown):
        for other in (*shown[position + 1 :], *shown[:position]):
            if one.player != other.player:
                yield one, other, _sweep_award(one, other)
    for one, other in itertools.combinations(shown, 2):
        if one.player != other.player:
            yield one, other, [*_segment_awards(one, other, shown[0].player), *_bonus_awards(one, other)]


def _sweep_award(one: ShownHand, other: ShownHand) -> list[Award]:
    points = SWEEP_POINTS[one.sweep] if one.sweep else 0
    if not one.sweep or (other.sweep and SWEEP_POINTS[other.sweep] >= points):
        return []
    return [Award(one.place, "clean sweep", one.sweep, points)]


def _segment_awards(one: ShownHand, other: ShownHand, holder: str) -> list[Award]:
    """The points for the segments, or the penalty of a foul hand that stands for them."""
    if one.foul or other.foul:
        winner, loser = (other, one) if one.foul else (one, other)
        outcome = f"{loser.place.replace('seat', 'seat ')} has a foul hand"
        return [] if winner.foul else [Award(winner.place, "foul", outcome, FOUL_POINTS)]
    if one.sweep or other.sweep:
        return []
    awards = (_segment_award(segment, one, other, holder) for segment in Segment)
    return [award for award in awards if award]


def _segment_award(segment: Segment, one: ShownHand, other: ShownHand, holder: str) -> Award | None:
    mine, theirs = one.ranked[segment], other.ranked[segment]
    if mine == theirs:
        winner = next((hand for hand in (one, other) if hand.player == holder), None)
        outcome = f"{hand_name(mine)} on both sides, won with the buttons"
        return Award(winner.place, segment, outcome, SEGMENT_POINTS) if winner else None
    high, low = max(mine, theirs), min(mine, theirs)
    kickers = hand_name(high) == hand_name(low)
    outcome = f"{hand_name(high, kickers)} against {hand_name(low, kickers)}"
    return Award((one if mine > theirs else other).place, segment, outcome, SEGMENT_POINTS)


def _bonus_awards(one: ShownHand, other: ShownHand) -> list[Award]:
    return [
        Award(hand.place, f"{segment} bonus", hand_name(ranked), points)
        for hand, payer in ((one, other), (other, one))
        if not hand.foul and not payer.sweep
        for segment, ranked in hand.ranked.items()
        if (points := bonus_points(segment, ranked))
    ]


def _payments(
    awards: Sequence[Award], point: int, winner: ShownHand, loser: ShownHand, unpaid: int
) -> Iterator[Payment]:
    """One exchange as payments. What the stacks do not cover is missing from the winner's last ones."""
    covered = sum(award.points for award in awards if award.place == winner.place) * point - unpaid
    for award in awards:
        due = amount = award.points * point
        if award.place == winner.place:
            amount = min(due, covered)
            covered -= amount
        outcome = award.outcome if amount == due else f"{award.outcome}; the stacks cover {amount} of {due}"
        if amount:
            payer = loser if award.place == winner.place else winner
            yield Payment(award.place, award.bet, outcome, amount, payer.place)


# --- stakes and fees --------------------------------------------------------------------------------------------------


def may_be_dealt_in(stack: int, point: int) -> bool:
    """Whether a stack is large enough for the next round."""
    return stack >= LEAST_POINTS * point


def least_buy_in(limit: int) -> int:
    """The smallest amount to join a game with this limit, in the same units."""
    return LEAST_BUY_IN_LIMITS * limit


def collection_fee_cents(schedule: CollectionSchedule, minute: float) -> int:
    """The fee of a player who enters at this minute of a down: half of it from the 20 minute mark on.

    ValueError: a down has no such minute.
    """
    if not 0 <= minute < DOWN_MIN:
        raise ValueError(f"minute {minute}: a down has {DOWN_MIN} minutes, counted from 0")
    return schedule.fee_dollars * (100 if minute < HALF_FEE_MIN else 50)

"""The description of Face-Up Chinese Poker, for the table.

A hand in fantasy land is set face down and stays hidden until the other hands are complete. All other cards are for
everybody to see from the moment when they are placed.
"""

from __future__ import annotations

from typing import Any

from controller.games.board import BoardBlock
from controller.games.description import Description, Hidden, StepType
from controller.games.face_up.odds import odds
from controller.games.face_up.pay import (
    COLLECTION,
    MOST_HANDS,
    FinishedHand,
    Segment,
    Segments,
    enters_fantasy_land,
    is_foul,
    least_buy_in,
    may_be_dealt_in,
    settle,
    stays_in_fantasy_land,
    sweep_of,
)
from controller.games.face_up.rulebook import RULEBOOK
from controller.games.game import PLAYERS, Deal, Game, Method
from controller.games.payments import Payment
from controller.games.record import Consequence, Decided, PlayerTurn, RoundRecord
from controller.games.standard_cards import KINDS

HAND, FIRST_CARDS = 13, 5
STACK, FEE, SECOND_HAND = "stack", "collection", "second hand of seat"
SET, SHOW, SWEEP, NO_SWEEP = "set", "show", "clean sweep", "no sweep"
ROOM = {Segment.BACK: 5, Segment.MIDDLE: 5, Segment.FRONT: 3}
_INITIAL = (Deal(PLAYERS, 1, face_up=True),) * FIRST_CARDS

GAME = Game(
    name="Face-Up Chinese Poker",
    kinds=KINDS,
    copies=(1,) * len(KINDS),
    deck_size=len(KINDS),
    most_seats=5,
    programme=dict.fromkeys(Method, _INITIAL),
    stub_count_rounds=0,
    life_h={},
    draws=True,
    fewest_seats=2,
    most_hands=MOST_HANDS,
    has_button=True,
)


def _options_fault(options: dict[str, Any]) -> str:
    if options["schedule"] not in COLLECTION:
        return f"schedule: found {options['schedule']!r}; expected a collection schedule from 1 to {len(COLLECTION)}"
    return ""


# --- seats and stakes -------------------------------------------------------------------------------------------------


def _point(record: RoundRecord) -> int:
    limit: int = COLLECTION[record.options["schedule"]].limit_dollars
    return limit


def _stack(record: RoundRecord, hand: str) -> int:
    """What lies before a player: as it was entered for this round, or as the last one left it."""
    entered = record.wagers.get(hand, {}).get(STACK)
    stacks: dict[str, int] = record.carried.get("stacks", {})
    return stacks.get(hand, 0) if entered is None else entered


def _owner(record: RoundRecord, hand: str) -> str:
    """Whose hand it is: with two hands each, that of another seat."""
    of = record.wagers.get(hand, {}).get(SECOND_HAND)
    return f"seat{of}" if of else hand


def _bets_fault(record: RoundRecord, hand: str) -> str:
    bets = record.wagers[hand]
    fee = COLLECTION[record.options["schedule"]].fee_dollars
    if FEE in bets and bets[FEE] * 2 not in (fee, 2 * fee):
        return f"the fee is {fee} dollars, or half of it after 20 minutes"
    stacks = record.carried.get("stacks", {})
    if STACK in bets and hand in stacks and bets[STACK] < stacks[hand]:
        return f"no chips are taken from the table: the stack is {stacks[hand]}"
    if STACK in bets and hand not in stacks and bets[STACK] < least_buy_in(_point(record)):
        return f"the buy-in is at least {least_buy_in(_point(record))}"
    return ""


def _seats_fault(record: RoundRecord) -> str:
    hands = [f"seat{seat}" for seat in record.seats]
    owners = [_owner(record, hand) for hand in hands]
    two_each = len(hands) == MOST_HANDS and sorted(owners.count(owner) for owner in set(owners)) == [2, 2]
    if len(set(owners)) < len(owners) and not two_each:
        return "only two players may play two hands each"
    for owner in dict.fromkeys(owners):
        if not may_be_dealt_in(_stack(record, owner), _point(record)):
            return f"the stack of {owner.replace('seat', 'seat ')} is less than nine points"
    return ""


# --- the deal ---------------------------------------------------------------------------------------------------------


def _hands(record: RoundRecord) -> list[str]:
    """The hands in dealing order; the holder of the buttons is last."""
    return [f"seat{seat}" for seat in record.seats]


def _in_fantasy_land(record: RoundRecord) -> list[str]:
    there = record.carried.get("fantasy", [])
    return [hand for hand in _hands(record) if hand in there]


def _others(record: RoundRecord) -> list[str]:
    there = _in_fantasy_land(record)
    return [hand for hand in _hands(record) if hand not in there]


def _deals(record: RoundRecord) -> tuple[Deal, ...] | None:
    """Thirteen cards at once for those in fantasy land, before the others are dealt to."""
    return tuple(Deal(hand, HAND) for hand in _in_fantasy_land(record)) or None


def _first_cards(record: RoundRecord) -> tuple[Deal, ...]:
    return tuple(Deal(hand, 1, face_up=True) for _ in range(FIRST_CARDS) for hand in _others(record))


# --- placing cards ----------------------------------------------------------------------------------------------------


def placed(record: RoundRecord, hand: str) -> dict[Segment, list[str]]:
    """The cards of a hand by segment. A card that the shoe was asked for is the next one that it named."""
    found: dict[Segment, list[str]] = {segment: [] for segment in Segment}
    singles = iter(record.kinds.get(hand, ())[FIRST_CARDS:])
    for one in record.decisions_of(hand):
        if one.choice == SHOW:
            back, middle = one.kinds[:5], one.kinds[5:10]
            return {Segment.BACK: list(back), Segment.MIDDLE: list(middle), Segment.FRONT: list(one.kinds[10:])}
        if one.choice in tuple(Segment):
            first = sum(map(len, found.values())) < FIRST_CARDS
            found[Segment(one.choice)] += one.kinds if first else [next(singles, "")]
    return found


def _number_placed(record: RoundRecord, hand: str) -> int:
    return sum(map(len, placed(record, hand).values()))


def _room(record: RoundRecord, hand: str) -> tuple[Segment, ...]:
    there = placed(record, hand)
    return tuple(segment for segment, most in ROOM.items() if len(there[segment]) < most)


def _turn(record: RoundRecord) -> PlayerTurn | None:
    for hand in _in_fantasy_land(record):
        if not record.decisions_of(hand):
            text = f"{_name(hand)} sets 13 cards, face down."
            return PlayerTurn(
                hand, (SET,), text, "This hand is in fantasy land, and is set before the others are dealt."
            )
    for hand in _others(record):
        known = record.kinds.get(hand, ())[:FIRST_CARDS]
        lies = [kind for kinds in placed(record, hand).values() for kind in kinds]
        left = tuple(kind for kind in known if kind not in lies)
        if len(lies) < FIRST_CARDS:
            why = f"To be placed: {', '.join(left)}."
            return PlayerTurn(hand, _room(record, hand), f"{_name(hand)} places its first cards.", why, cards=left)
    for hand in _others(record):
        if record.held[hand] > _number_placed(record, hand):
            rooms = _room(record, hand)
            enter = {str(room): 1 for room in rooms}
            return PlayerTurn(
                hand, rooms, f"{_name(hand)} places the card face up.", "Once placed, it is set.", enter=enter
            )
    if any(record.held[hand] < HAND for hand in _hands(record)):
        return None  # a card is on its way
    return _show_turn(record) or _sweep_turn(record)


def _show_turn(record: RoundRecord) -> PlayerTurn | None:
    for hand in _in_fantasy_land(record):
        if len(record.decisions_of(hand)) < 2:
            why = "Enter its cards in this order: back, middle, front."
            return PlayerTurn(hand, (SHOW,), f"{_name(hand)} turns its hand over.", why, enter={SHOW: HAND})
    return None


def _sweep_turn(record: RoundRecord) -> PlayerTurn | None:
    for hand in _hands(record):
        asked = any(one.choice in (SWEEP, NO_SWEEP) for one in record.decisions_of(hand))
        if not asked and sweep_of(segments_of(record, hand)):
            text = f"Ask {_name(hand).lower()} whether it declares a clean sweep."
            return PlayerTurn(hand, (SWEEP, NO_SWEEP), text, "Sweeps are declared before the hands are compared.")
    return None


def _name(hand: str) -> str:
    return hand.replace("seat", "Seat ")


def segments_of(record: RoundRecord, hand: str) -> Segments:
    """A complete hand, as it was set."""
    there = placed(record, hand)
    return Segments(*(tuple(there[segment]) for segment in (Segment.BACK, Segment.MIDDLE, Segment.FRONT)))


def _decide(record: RoundRecord, decided: Decided) -> Consequence:
    if decided.choice == SET:
        last = decided.hand == _in_fantasy_land(record)[-1]
        return Consequence(deals=_first_cards(record) if last else ())
    if decided.choice == SHOW:
        if len(decided.kinds) != HAND:
            return Consequence(f"a hand has {HAND} cards", "all of them are entered: back, middle, front")
        return Consequence(turned=HAND)
    if decided.choice in (SWEEP, NO_SWEEP):
        return Consequence()
    return _place(record, decided)


def _place(record: RoundRecord, decided: Decided) -> Consequence:
    segment = Segment(decided.choice)
    there = _number_placed(record, decided.hand)
    room = ROOM[segment] - len(placed(record, decided.hand)[segment])
    if there >= FIRST_CARDS:
        if len(decided.kinds) > 1:
            return Consequence("one card is placed at a time", "one card is named")
        return Consequence(turned=1, deals=_next_card(record, decided.hand))
    turn = _turn(record)
    left = turn.cards if turn else ()
    if not decided.kinds or len(set(decided.kinds)) < len(decided.kinds) or not set(decided.kinds) <= set(left):
        return Consequence("these are not cards that are to be placed", f"some of these are named: {', '.join(left)}")
    if len(decided.kinds) > room:
        return Consequence(f"the {segment} has room for {room} more", "no more cards than that are placed there")
    complete = len(left) == len(decided.kinds) and decided.hand == _others(record)[-1]
    return Consequence(deals=(Deal(_others(record)[0], 1),) if complete else ())


def _next_card(record: RoundRecord, hand: str) -> tuple[Deal, ...]:
    """The next hand gets its next card, until all have thirteen."""
    hands = _others(record)
    after = hands[(hands.index(hand) + 1) % len(hands)]
    return (Deal(after, 1),) if record.held[after] < HAND else ()


# --- the end of a round -----------------------------------------------------------------------------------------------


def _finished(record: RoundRecord) -> list[FinishedHand]:
    """The hands by position: the holder of the buttons is the first."""
    hands = _hands(record)
    found = []
    for hand in (hands[-1], *hands[:-1]):
        declared = any(one.choice == SWEEP for one in record.decisions_of(hand))
        found.append(FinishedHand(hand, segments_of(record, hand), declared, _owner(record, hand)))
    return found


def _settle(record: RoundRecord) -> list[Payment]:
    hands = _finished(record)
    stacks = {one.player: _stack(record, one.player) for one in hands}
    return settle(hands, _point(record), stacks)


def _result(record: RoundRecord) -> str:
    fouls = [_name(one.place).lower() for one in _finished(record) if is_foul(one.segments)]
    return f"foul: {', '.join(fouls)}" if fouls else "no foul"


def _carry(record: RoundRecord) -> dict[str, Any]:
    hands = _finished(record)
    stacks: dict[str, int] = dict(record.carried.get("stacks", {}))
    stacks |= {one.player: _stack(record, one.player) for one in hands}
    for payment in _settle(record):
        stacks[_owner(record, payment.hand)] += payment.net
        stacks[_owner(record, payment.other)] -= payment.net
    was_there = _in_fantasy_land(record)
    there = []
    for one in hands:
        stays = stays_in_fantasy_land if one.place in was_there else enters_fantasy_land
        if stays(one.segments):
            there.append(one.place)
    return {"stacks": stacks, "fantasy": there}


def _board(record: RoundRecord) -> list[BoardBlock]:
    blocks = []
    for hand in _hands(record):
        rows = {str(segment): tuple(kinds) for segment, kinds in placed(record, hand).items()}
        blocks.append(BoardBlock(_name(hand), figure=str(_stack(record, _owner(record, hand))), hand=hand, cards=rows))
    return blocks


DESCRIPTION = Description(
    game=GAME,
    rulebook=RULEBOOK,
    script=(StepType.DEAL, StepType.ACT, StepType.SETTLE),
    prompts={StepType.SETTLE: ("Compare the hands, settle, and collect the cards.", "")},
    options={"schedule": 2},
    options_fault=_options_fault,
    bets=(STACK, FEE, SECOND_HAND),
    bets_fault=_bets_fault,
    seats_fault=_seats_fault,
    example_bets={STACK: 300},
    deals=_deals,
    must_decide=True,
    must_settle=True,
    turn=_turn,
    decide=_decide,
    hidden=(
        Hidden("each further card", tuple(Segment), "when it is placed"),
        Hidden("a hand in fantasy land", (SHOW,), "after all others are complete"),
    ),
    settle=_settle,
    result=_result,
    carry=_carry,
    odds=odds,
    board=_board,
)

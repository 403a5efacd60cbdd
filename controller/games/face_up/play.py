"""The description of Face-Up Chinese Poker, for the table.

A hand in fantasy land is set face down and stays hidden until the other hands are complete. All other cards are for
everybody to see from the moment when they are placed.
"""

from __future__ import annotations

from typing import Any

from controller.games.board import BoardBlock
from controller.games.description import Description, Hidden, Irregularity, StepType
from controller.games.face_up.odds import odds
from controller.games.face_up.pay import (
    COLLECTION,
    DOWN_MIN,
    HALF_FEE_MIN,
    LEAST_POINTS,
    MOST_HANDS,
    FinishedHand,
    Segment,
    Segments,
    collection_fee_cents,
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
from controller.games.payments import Fee, Payment
from controller.games.record import Consequence, Decided, PlayerTurn, RoundRecord, Stakes
from controller.games.rulebook import Rule
from controller.games.standard_cards import KINDS

HAND, FIRST_CARDS = 13, 5
STACK, CORRECTED_STACK, SECOND_HAND = "stack", "corrected stack", "second hand of seat"
SET, SHOW, SWEEP, NO_SWEEP = "set", "show", "clean sweep", "no sweep"
ANSWERS = (SWEEP, NO_SWEEP)
DOWN_MS = DOWN_MIN * 60_000
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
    most = options["most_buy_in"]
    if not isinstance(most, int) or 0 != most < least_buy_in(COLLECTION[options["schedule"]].limit_dollars):
        return f"most_buy_in: found {most!r}; expected dollars, at least thirty times the limit, or 0 for no maximum"
    return ""


# --- seats and stakes -------------------------------------------------------------------------------------------------


def _point(record: RoundRecord) -> int:
    limit: int = COLLECTION[record.options["schedule"]].limit_dollars
    return limit


def _before(record: RoundRecord, hand: str) -> int | None:
    """What lay before a player after the last round; None if the player was not there."""
    stacks: dict[str, int] = record.carried.get("stacks", {})
    return record.wagers.get(hand, {}).get(CORRECTED_STACK, stacks.get(hand))


def _stack(record: RoundRecord, hand: str) -> int:
    """What lies before a player: as it was entered for this round, or as the last one left it."""
    return record.wagers.get(hand, {}).get(STACK, _before(record, hand) or 0)


def _owner(record: RoundRecord, hand: str) -> str:
    """Whose hand it is: with two hands each, that of another seat."""
    of = record.wagers.get(hand, {}).get(SECOND_HAND)
    return f"seat{of}" if of else hand


def _bets_fault(record: RoundRecord, hand: str) -> str:
    bets, before, most = record.wagers[hand], _before(record, hand), record.options["most_buy_in"]
    if CORRECTED_STACK in bets and hand not in record.carried.get("stacks", {}):
        return "there is no stack to correct"
    if most and bets.get(STACK, 0) > max(most, before or 0):
        return f"a stack is bought up to {most}"
    if STACK in bets and before is not None and bets[STACK] < before:
        return f"no chips are taken from the table: the stack is {before}; if it is not, correct it"
    if STACK in bets and before is None and bets[STACK] < least_buy_in(_point(record)):
        return f"the buy-in is at least {least_buy_in(_point(record))}"
    return ""


def _needed_bets(record: RoundRecord, hand: str) -> dict[str, int]:
    """A buy-in of sixty points, for a player who has too little to be dealt in."""
    point = _point(record)
    enough = _owner(record, hand) != hand or may_be_dealt_in(_stack(record, hand), point)
    return {} if enough else {STACK: 2 * least_buy_in(point)}


def _seats_fault(record: RoundRecord) -> str:
    hands = [f"seat{seat}" for seat in record.seats]
    owners = [_owner(record, hand) for hand in hands]
    for hand, owner in zip(hands, owners, strict=True):
        if owner != hand and (owner not in hands or _owner(record, owner) != owner):
            return f"{_name(hand)} is a second hand of {owner.replace('seat', 'seat ')}, which has no first one"
    two_each = len(hands) == MOST_HANDS and sorted(owners.count(owner) for owner in set(owners)) == [2, 2]
    if len(set(owners)) < len(owners) and not two_each:
        return "only two players may play two hands each"
    for owner in dict.fromkeys(owners):
        if not may_be_dealt_in(_stack(record, owner), _point(record)):
            least = LEAST_POINTS * _point(record)
            return f"the stack of {owner.replace('seat', 'seat ')} is {_stack(record, owner)}; nine points are {least}"
    return ""


def _takes_button(record: RoundRecord, hand: str) -> bool:
    """The buttons go from player to player, past second hands."""
    return _owner(record, hand) == hand


def _stakes(record: RoundRecord) -> Stakes | None:
    """What lies before the players, and the fees of those who play for the first time in this down.

    A down begins with the first round, and with the first one after the last down is over.
    """
    now, began = record.now_ms, record.carried.get("down", 0)
    paid: list[str] = record.carried.get("paid", [])
    if "down" not in record.carried or now - began >= DOWN_MS:
        began, paid = now, []
    entered = {
        hand: _stack(record, hand) for hand, bets in record.wagers.items() if {STACK, CORRECTED_STACK} & bets.keys()
    }
    stacks = {**record.carried.get("stacks", {}), **entered}
    since = {hand: record.carried.get("since", {}).get(hand, now) for hand in stacks}
    players = dict.fromkeys(_owner(record, hand) for hand in _hands(record))
    owing = [player for player in players if player not in paid]
    if not entered and not owing:
        return None
    fees = tuple(_fee(record, player, max(since[player] - began, 0)) for player in owing)
    noted = {"stacks": stacks, "since": since, "down": began, "paid": [*paid, *owing]}
    return Stakes({**record.carried, **noted}, fees)


def _fee(record: RoundRecord, player: str, entered_ms: int) -> Fee:
    """The fee of a player who entered the game so long after the beginning of the down."""
    schedule, minute = COLLECTION[record.options["schedule"]], entered_ms / 60_000
    when = f"half: came after minute {HALF_FEE_MIN}" if minute >= HALF_FEE_MIN else f"for {DOWN_MIN} minutes"
    return Fee(player, collection_fee_cents(schedule, minute), when)


def _leave(record: RoundRecord, player: str) -> dict[str, Any] | None:
    """What is remembered when a player has left."""
    if player not in record.carried.get("stacks", {}):
        return None
    left: dict[str, Any] = {**record.carried, "paid": [one for one in record.carried["paid"] if one != player]}
    for name in ("stacks", "since"):
        left[name] = {hand: value for hand, value in left[name].items() if hand != player}
    left["fantasy"] = {hand: owner for hand, owner in left.get("fantasy", {}).items() if owner != player}
    return left


# --- the deal ---------------------------------------------------------------------------------------------------------


def _hands(record: RoundRecord) -> list[str]:
    """The hands in dealing order; the holder of the buttons is last."""
    return [f"seat{seat}" for seat in record.seats]


def _in_fantasy_land(record: RoundRecord) -> list[str]:
    """The hands that are in fantasy land: those that earned it; with one hand only, a player who earned it with two."""
    earned: dict[str, str] = record.carried.get("fantasy", {})
    found = []
    for hand in _hands(record):
        player = _owner(record, hand)
        mine = [one for one in _hands(record) if _owner(record, one) == player]
        there = [one for one, owner in earned.items() if owner == player]
        if hand in there or (there and not set(there) & set(mine) and hand == mine[0]):
            found.append(hand)
    return found


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
        if one.moved and one.choice not in ANSWERS:
            _move(found, Segment(one.choice), *one.kinds)
        elif one.choice == SHOW:
            for segment, first in ((Segment.BACK, 0), (Segment.MIDDLE, 5), (Segment.FRONT, 10)):
                found[segment] = list(one.kinds[first : first + ROOM[segment]])
        elif one.choice in tuple(Segment):
            initial = sum(map(len, found.values())) < FIRST_CARDS
            found[Segment(one.choice)] += one.kinds if initial else [next(singles, "")]
    return found


def _segment_with(there: dict[Segment, list[str]], kind: str) -> Segment | None:
    return next((segment for segment, kinds in there.items() if kind in kinds), None)


def _move(there: dict[Segment, list[str]], segment: Segment, kind: str, other: str = "") -> None:
    """A card is in this segment after all; the other one, if there is one, is where that card was thought to be."""
    was = _segment_with(there, kind)
    assert was, "a correction of a card that is not there"
    there[was].remove(kind)
    there[segment].append(kind)
    if other:
        there[segment].remove(other)
        there[was].append(other)


def _correct(record: RoundRecord, decided: Decided) -> str:
    """Why a card cannot be in this segment, or the answer cannot be this one, instead. A card that is placed stays."""
    if decided.choice in ANSWERS:
        answer = _answer(record, decided.hand)
        return "" if answer not in ("", decided.choice) else "no other answer about a clean sweep was entered"
    there, known = placed(record, decided.hand), decided.choice in tuple(Segment)
    segments = [_segment_with(there, kind) for kind in decided.kinds]
    if not known or not 1 <= len(segments) <= 2 or None in segments or segments[0] == decided.choice:
        return "no card of this hand was entered in another segment"
    if len(segments) == 2 and segments[1] != decided.choice:
        return f"the second card is not in the {decided.choice}"
    if len(segments) == 1 and len(there[Segment(decided.choice)]) >= ROOM[Segment(decided.choice)]:
        return f"the {decided.choice} is full: a card of it must be in the {segments[0]}"
    return ""


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
            if any("" in kinds for kinds in placed(record, hand).values()):
                return None  # the shoe has been asked for the card before this one
            rooms = _room(record, hand)
            seen = len(record.kinds.get(hand, ())) > _number_placed(record, hand)
            enter = {} if seen else {str(room): 1 for room in rooms}
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
            text = f"{_name(hand)} turns its hand over."
            return PlayerTurn(hand, (SHOW,), text, why, enter={SHOW: HAND}, in_order=True)
    return None


def _sweep_turn(record: RoundRecord) -> PlayerTurn | None:
    if any(len(record.kinds.get(hand, ())) < HAND for hand in _hands(record)):
        return None  # the shoe has been asked for the last cards, and has not named them yet
    for hand in _hands(record):
        different = len(set(record.kinds[hand])) == HAND  # otherwise there is a foreign card: the settlement says so
        if not _answer(record, hand) and different and sweep_of(segments_of(record, hand)):
            text = f"Ask {_name(hand).lower()} whether it declares a clean sweep."
            return PlayerTurn(hand, ANSWERS, text, "Sweeps are declared before the hands are compared.")
    return None


def _answer(record: RoundRecord, hand: str) -> str:
    """Whether a hand was last said to declare a clean sweep; empty if this was not asked."""
    return next((one.choice for one in reversed(record.decisions_of(hand)) if one.choice in ANSWERS), "")


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
    if decided.choice in ANSWERS:
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
        declared = _answer(record, hand) == SWEEP
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
    was_there, players = _in_fantasy_land(record), {one.player for one in hands}
    earned: dict[str, str] = record.carried.get("fantasy", {})
    there = {hand: player for hand, player in earned.items() if player not in players}  # they did not play
    for one in hands:
        stays = stays_in_fantasy_land if one.place in was_there else enters_fantasy_land
        if stays(one.segments):
            there[one.place] = one.player
    return {**record.carried, "stacks": stacks, "fantasy": there}


def _board(record: RoundRecord) -> list[BoardBlock]:
    blocks = []
    for hand in _hands(record):
        rows = {str(segment): tuple(kinds) for segment, kinds in placed(record, hand).items()}
        blocks.append(BoardBlock(_name(hand), figure=str(_stack(record, _owner(record, hand))), hand=hand, cards=rows))
    others = sorted({*record.carried.get("stacks", {}), *record.wagers} - set(_hands(record)))
    stacks = [(hand, _stack(record, hand)) for hand in others]
    blocks += [BoardBlock(_name(hand), figure=str(stack), hand=hand) for hand, stack in stacks if stack]
    if there := ", ".join(_name(hand).lower() for hand in record.carried.get("fantasy", {})):
        blocks.append(BoardBlock("Fantasy land", lines=(there,)))
    return [*blocks, _collection(record)]


def _collection(record: RoundRecord) -> BoardBlock:
    """What a point is worth, and who has paid the fee for this down."""
    schedule = COLLECTION[record.options["schedule"]]
    over = record.now_ms - record.carried.get("down", 0) >= DOWN_MS
    paid = [] if over else record.carried.get("paid", [])
    who = ", ".join(_name(player).lower() for player in paid) or "nobody"
    fee = f"{schedule.fee_dollars} dollars for {DOWN_MIN} minutes; paid: {who}"
    return BoardBlock("Collection", lines=(f"a point is {schedule.limit_dollars} dollars", fee))


DESCRIPTION = Description(
    game=GAME,
    rulebook=RULEBOOK,
    script=(StepType.DEAL, StepType.ACT, StepType.SETTLE),
    prompts={StepType.SETTLE: ("Compare the hands, settle, and collect the cards.", "")},
    options={"schedule": 2, "most_buy_in": 0},
    options_fault=_options_fault,
    ask_for_bets="Enter new stacks, then begin the round.",
    bets=(STACK, CORRECTED_STACK, SECOND_HAND),
    seat_bets=(SECOND_HAND,),
    bets_fault=_bets_fault,
    seats_fault=_seats_fault,
    button_waits=True,
    takes_button=_takes_button,
    stakes=_stakes,
    leave=_leave,
    needed_bets=_needed_bets,
    deals=_deals,
    must_decide=True,
    must_settle=True,
    irregularities={"foreign card": Irregularity("a card of another deck is among them", Rule.FOREIGN_CARD)},
    turn=_turn,
    decide=_decide,
    correct=_correct,
    places=tuple(Segment),
    answers=ANSWERS,
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

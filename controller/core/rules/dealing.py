"""A round, from its first card until its cards are in the rack. How it starts is in starting.py."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.actions import (
    CollectAll,
    CollectHand,
    CountStub,
    DealCards,
    FinishDeal,
    PlayersActed,
    RemoveStub,
    RequestCard,
    RevealDealer,
    WantStubCount,
)
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.decks import CountAccepted, CountRejected
from controller.core.events.devices import CardsHeld, CardsPresented, ExitEmptied
from controller.core.events.rounds import (
    AllActed,
    CardRequested,
    DealerHeld,
    DealerRevealed,
    HandCollected,
    PlannedStack,
    StackDispensed,
    StackTakenToHand,
    StubCounted,
    StubCountWanted,
    StubRejected,
    StubRemoved,
)
from controller.core.machines import TableState
from controller.core.names import place_name, plural
from controller.core.rules.counting import impossible, stands, unlikely
from controller.core.rules.gathering import emptied_by_device, record_difference
from controller.core.rules.guards import SOURCE, rack_occupied, stub_count_due
from controller.core.rules.irregular import void
from controller.core.rules.script import record_of, then, turn_of, unknown_cards
from controller.core.state import Given, Round, State
from controller.games import described
from controller.games.description import StepType
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Release, StackCommand


def next_stack(round_: Round) -> PlannedStack | None:
    """The stack to deal now; None when all have been dealt."""
    plan, dealt = round_.plan, round_.dealt
    return plan[dealt] if dealt < len(plan) else None


def waits_for_players(round_: Round) -> bool:
    """Whether the next stack is dealt only after the players have acted."""
    if round_.acted:
        return False
    stack = next_stack(round_)
    return stack is not None and (stack.after_acting or (round_.held and stack.held))


def stub_may_leave(state: State, round_: Round) -> bool:
    """Whether no more cards can come from the deck. If it lasts several rounds: not while the last hands lie there.

    Until they are collected, a card that was mistyped can be corrected, and then another card may be due.
    """
    game = state.setup.game
    if next_stack(round_) is not None or round_.stub_out or ((game.extra_cards or game.draws) and not round_.acted):
        return False
    if round_.method is Method.AUTOMATED_SHOE and _may_be_taken_back(state, round_):
        return False
    if not game.keeps_dealing:
        return True
    hands = {stack.target for stack in round_.plan}
    return round_.last and state.table is TableState.CLEARING and hands.isdisjoint(state.decks[round_.deck].cards)


def _may_be_taken_back(state: State, round_: Round) -> bool:
    """Whether play may go on after all: what ended it has turned cards over, and no card has been collected."""
    collected = state.decks[round_.deck].cards.get(ledger.RACK)
    return not collected and not round_.void and bool(round_.before) and round_.before[-1].turned


def stub_place(state: State, round_: Round) -> str:
    """Where the shoe has the stub."""
    return ledger.EXIT if state.decks[round_.deck].cards.get(ledger.EXIT) else ledger.SHOE


# --- the automated shoe ---------------------------------------------------------------------------------------------


@enforces(Rule.DEAL_STACKS, Rule.DEALER_STACK, Rule.WRONG_NUMBER)
def presented(d: Decision, given: Given, number: int, at_held: bool) -> None:
    """The shoe has formed a stack, at its exit or held inside. A wrong number of cards voids the round."""
    round_ = d.round
    cards = d.state.decks[round_.deck].cards
    asked = given.command.cards if isinstance(given.command, StackCommand) else cards.get(ledger.HELD, 0)
    number = number if number >= 0 else asked
    target = ledger.HELD if at_held else ledger.EXIT
    moves = (
        ledger.emptying_moves(cards, (ledger.HELD,), number, target)
        if isinstance(given.command, Release)
        else ledger.partial_moves(cards, ledger.SHOE, number, target)
    )
    event: type[DealerHeld | StackDispensed | CardsHeld | CardsPresented] = DealerHeld if at_held else StackDispensed
    if not d.may(event):  # the round has become void in the meantime
        event = CardsHeld if at_held else CardsPresented
    d.emit(
        event(
            round=round_.number,
            target=given.target,
            device="shoe",
            deck=round_.deck,
            cards=number,
            moves=moves,
        ),
        Rule.DEALER_STACK if at_held else Rule.DEAL_STACKS,
    )
    record_difference(d, round_.deck, ledger.SHOE, moves)
    if number != asked:
        void(
            d,
            Rule.WRONG_NUMBER,
            reason=f"the shoe counted {plural(number, 'card')} for {place_name(given.target)} instead of {asked}",
            keeps=True,
        )


@enforces(Rule.DEAL_STACKS, Rule.FACE_UP, Rule.WRONG_NUMBER, Rule.COLLECT_HANDS)
def taken(d: Decision, given: Given, number: int) -> None:
    """The stack was taken to its hand; a face-up card in it goes to the rack instead."""
    round_ = d.round
    cards = d.state.decks[round_.deck].cards
    there = cards.get(ledger.EXIT, 0)
    number = number if number >= 0 else there
    aside = min(round_.to_rack, number)
    moves = ledger.emptying_moves(cards, (ledger.EXIT,), number, given.target)
    if aside:
        moves.append((given.target, ledger.RACK, aside))
    stack = next_stack(round_)
    hidden = given.target != ledger.BURNT and not (stack and stack.face_up)
    d.emit(
        StackTakenToHand(
            device="shoe",
            deck=round_.deck,
            round=round_.number,
            target=given.target,
            cards=number,
            kept=number - aside,
            moves=moves,
            kinds=list(given.seen) or None,
            command=given.id if hidden and d.state.devices["shoe"].can_recognise else 0,
        ),
        Rule.FACE_UP if aside else Rule.DEAL_STACKS,
    )
    record_difference(d, round_.deck, ledger.EXIT, moves)
    if number != there:
        void(
            d,
            Rule.WRONG_NUMBER,
            reason=f"of {plural(there, 'card')} at the exit, {number} went to {place_name(given.target)}",
            keeps=True,
        )


def stub_at_exit(d: Decision, number: int, *, late: bool = False) -> None:
    """The shoe has brought out and counted the stub, which must match the ledger."""
    cards = d.state.decks[d.round.deck].cards
    there = cards.get(ledger.SHOE, 0)
    number = number if number >= 0 else there
    moves = ledger.emptying_moves(cards, (ledger.SHOE,), number, ledger.EXIT)
    d.emit(CardsPresented(device="shoe", deck=d.round.deck, cards=number, moves=moves, late=late), Rule.STUB_LEAVES)
    record_difference(d, d.round.deck, ledger.SHOE, moves)
    if number != there:
        _stub_wrong(d, number, there, by="shoe")
    elif not cards.get(ledger.EXIT):
        remove_stub_by_hand(d, "")


def stub_taken(d: Decision, number: int) -> None:
    """The dealer has taken the stub from the exit."""
    cards = d.state.decks[d.round.deck].cards
    there = cards.get(ledger.EXIT, 0)
    target = _stub_goes_to(d)
    moves = ledger.emptying_moves(cards, (ledger.EXIT,), number if number >= 0 else there, target)
    d.emit(ExitEmptied(device="shoe", cards=number))
    d.emit(StubRemoved(deck=d.round.deck, round=d.round.number, cards=number, moves=moves), Rule.STUB_LEAVES)
    record_difference(d, d.round.deck, ledger.EXIT, moves)
    if number not in (-1, there):
        _stub_wrong(d, number, there, by="shoe")


def _stub_goes_to(d: Decision) -> str:
    return ledger.STUB if stub_count_due(d.state) else ledger.RACK


# --- manual shoe and hand -------------------------------------------------------------------------------------------

_SHOE_DEALS: Final = Refusal(
    "the automated shoe deals the cards", "they are dealt from the hand or a manual shoe", (Rule.DEALING,)
)


@enforces(Rule.DEALING, Rule.DEAL_STACKS)
@handles(DealCards)
def deal_cards(d: Decision, act: DealCards) -> Refusal | None:
    """The dealer has dealt cards to a hand. It must be that hand's turn, with no more than its share."""
    stack = next_stack(d.round)
    if d.round.method is Method.AUTOMATED_SHOE:
        return _SHOE_DEALS
    if stack is None or waits_for_players(d.round):
        return Refusal("all cards that are due have been dealt", "cards are still to be dealt")
    hand = place_name(stack.target)
    if act.target != stack.target:
        return Refusal(f"the next card goes to {hand}", "that card has been dealt", (Rule.DEALING,))
    due = stack.cards - d.round.in_hand
    if not 1 <= act.cards <= due:
        return Refusal(
            f"{hand} gets {plural(due, 'card')} now",
            "no more than that is dealt; report another number as wrong",
            (Rule.DEALING, Rule.WRONG_NUMBER),
        )
    if stack.face_up and len(act.kinds) != act.cards:
        return Refusal("the card is dealt face up", f"{hand} receives it and it is entered", (Rule.DEALING,))
    refusal = unknown_cards(d.state, act.kinds if stack.face_up else ())
    if refusal is None:
        _deal(d, stack.target, act.cards, act.kinds if stack.face_up else ())
    return refusal


@handles(FinishDeal)
def finish_deal(d: Decision, act: FinishDeal) -> Refusal | None:
    """All cards that were due have been dealt, in order; those that are dealt face up are entered one by one."""
    if d.round.method is Method.AUTOMATED_SHOE:
        return _SHOE_DEALS
    stack = next_stack(d.round)
    if stack is None:
        return Refusal("all cards that are due have been dealt", "cards are still to be dealt")
    if stack.face_up:
        return Refusal("cards are dealt face up", "each card is entered as it is dealt", (Rule.DEALING,))
    while (stack := next_stack(d.round)) and not stack.face_up and not waits_for_players(d.round):
        _deal(d, stack.target, stack.cards - d.round.in_hand)
    return None


@enforces(Rule.DRAWN_IN_ERROR, Rule.DEALING)
def _deal(d: Decision, target: str, number: int, kinds: tuple[str, ...] = ()) -> None:
    """Move cards from the deck to a hand, beginning with a card that was drawn in error."""
    cards, source = d.state.decks[d.round.deck].cards, SOURCE[d.round.method]
    waiting = min(cards.get(ledger.ASIDE, 0), number)
    moves = [(ledger.ASIDE, target, waiting)] if waiting else []
    moves += ledger.partial_moves(cards, source, number - waiting, target) if number > waiting else []
    d.emit(
        StackTakenToHand(
            deck=d.round.deck,
            round=d.round.number,
            target=target,
            cards=number,
            kept=number,
            moves=moves,
            kinds=list(kinds) or None,
        ),
        Rule.DEALING,
        *([Rule.DRAWN_IN_ERROR] if waiting else []),
    )


def deal_card_set_aside(d: Decision) -> None:
    """Automated shoe: the card drawn in error goes to the next hand."""
    stack = next_stack(d.round)
    assert stack is not None
    _deal(d, stack.target, 1)


@handles(RequestCard)
def request_card(d: Decision, act: RequestCard) -> Refusal | None:
    """Another card for a hand, in games where hands may draw."""
    dealt = {stack.target for stack in d.round.plan}
    most = d.state.setup.game.extra_cards
    if act.target not in dealt or d.round.extra.get(act.target, 0) >= most or next_stack(d.round):
        return Refusal("this hand cannot draw another card now", "the game allows it and no card is being dealt")
    d.emit(CardRequested(round=d.round.number, target=act.target, who=act.who))
    return None


# --- acting, revealing, collecting ----------------------------------------------------------------------------------

_NOT_REVEALED: Final = Refusal(
    "the dealer's cards have not been shown yet", "they have been shown", (Rule.REVEAL_DEALER,)
)


def _stub_first(d: Decision) -> Refusal | None:
    if not stub_count_due(d.state) or next_stack(d.round) is not None:
        return None
    return Refusal("the stub must be counted in this round", "it has been counted", (Rule.STUB_COUNT_DUE,))


@enforces(Rule.FACE_UP)
@handles(PlayersActed)
def players_acted(d: Decision, act: PlayersActed) -> Refusal | None:
    """Every player has decided, on all of their cards: a card that takes the place of another must be in the hand."""
    if next_stack(d.round) is not None and not waits_for_players(d.round):
        return Refusal("a hand still lacks a card", "it has been taken from the shoe", (Rule.FACE_UP,))
    turn = turn_of(d.state, d.round) if described(d.state.setup.game).must_decide else None
    if turn is not None:
        return Refusal(
            f"{place_name(turn.hand)} has not decided", "every hand's decision has been entered", (Rule.DECISIONS,)
        )
    refusal = _stub_first(d) if not d.state.setup.game.extra_cards else None
    if refusal is None:
        d.emit(AllActed(round=d.round.number, then=then(d.state, StepType.ACT), who=act.who), Rule.REVEAL_DEALER)
    return refusal


@enforces(Rule.REVEAL_DEALER, Rule.HANDS_OUT)
@handles(RevealDealer)
def reveal(d: Decision, act: RevealDealer) -> Refusal | None:
    """Show the dealer's cards, once all players have acted and all of the dealer's cards are out."""
    if next_stack(d.round) is not None:
        return Refusal(
            "the dealer's cards are not all out", "they have been taken from the shoe", (Rule.REVEAL_DEALER,)
        )
    if out := must_leave(d.state, d.round):
        hand = place_name(out)
        return Refusal(f"the forfeited hand of {hand} is still on the table", "it is in the rack", (Rule.HANDS_OUT,))
    refusal = _stub_first(d)
    if refusal is None:
        d.emit(DealerRevealed(round=d.round.number, who=act.who), Rule.REVEAL_DEALER)
    return refusal


@enforces(Rule.COLLECT_HANDS, Rule.HANDS_OUT, Rule.RACK_HOLDS_ONE_DECK)
@handles(CollectHand)
def collect(d: Decision, act: CollectHand) -> Refusal | None:
    """A hand goes to the rack. The journal keeps the order, so every hand can be reconstructed."""
    state = d.state
    number = state.decks[d.round.deck].cards.get(act.target, 0)
    if not number or act.target not in {stack.target for stack in d.round.plan}:
        return Refusal(
            f"{place_name(act.target)} has no cards",
            "a hand that is still on the table is named",
            (Rule.COLLECT_HANDS,),
        )
    if act.target in state.setup.game.hands() and state.table not in (TableState.CLEARING, TableState.VOIDING):
        return _NOT_REVEALED
    refusal = _collected_too_early(state, d.round, act.target) or rack_occupied(state, d.round.deck)
    if refusal is None:
        _collect(d, act.target, number, act.who)
    return refusal


def _collected_too_early(state: State, round_: Round, target: str) -> Refusal | None:
    """Refuse to collect a hand before the hidden cards are shown, unless it is out of the round; or in a void round."""
    if state.table is TableState.VOIDING:
        return Refusal("the round is void", "all its cards are gathered", (Rule.COLLECT_HANDS,))
    if state.table not in (TableState.ACTING, TableState.REVEALING) or target in hands_out(state, round_):
        return None
    wanted = any(one.hand == target for one in round_.decisions)
    if state.table is TableState.REVEALING:
        wanted = wanted or target in state.bets
        if not wanted:
            return None  # only the dealer knows whether it was forfeited
    reason = "a wager still needs these cards" if wanted else f"{place_name(target)} is still playing"
    return Refusal(reason, "the hand was forfeited, and no wager needs its cards", (Rule.HANDS_OUT,))


def hands_out(state: State, round_: Round) -> list[str]:
    """The hands that can be collected while others still play."""
    game = described(state.setup.game)
    return game.hands_out(record_of(state, round_)) if game.hands_out else []


@enforces(Rule.HANDS_OUT)
def must_leave(state: State, round_: Round) -> str:
    """A hand that is out of the round and goes to the rack before hidden cards are shown; empty if there is none.

    Without recorded bets the table does not know whether a bet still needs the cards.
    """
    if not round_.decisions or not state.bets:
        return ""
    cards = state.decks[round_.deck].cards
    return next((hand for hand in hands_out(state, round_) if hand in state.bets and cards.get(hand)), "")


def _collect(d: Decision, target: str, number: int, who: str) -> None:
    moves = [(target, ledger.RACK, number)]
    d.emit(
        HandCollected(deck=d.round.deck, round=d.round.number, target=target, moves=moves, who=who), Rule.COLLECT_HANDS
    )


@handles(CollectAll)
def collect_all(d: Decision, act: CollectAll) -> Refusal | None:
    """Collect the hands from the dealer's right to the left, the dealer's own last."""
    if d.state.table is TableState.VOIDING and not (d.round.keeps and not d.round.wagers_open):
        then = "all wagers are returned" if d.round.keeps else "all its cards are gathered"
        return Refusal("the round is void", then, (Rule.COLLECT_HANDS,))
    if d.state.table not in (TableState.CLEARING, TableState.VOIDING):
        return _NOT_REVEALED
    refusal = rack_occupied(d.state, d.round.deck)
    if refusal:
        return refusal
    hands = dict.fromkeys(stack.target for stack in d.round.plan)
    after_players = [*d.state.setup.game.hands(), ledger.ASIDE, ledger.DISCARDS, ledger.BURNT, ledger.TAKEN]
    players = [hand for hand in hands if hand not in after_players]
    cards = d.state.decks[d.round.deck].cards
    in_order = [*reversed(players), *after_players]
    uncollected = [(hand, cards[hand]) for hand in in_order if cards.get(hand)]
    if not uncollected:
        return Refusal("no hand is on the table", "hands are still to be collected", (Rule.COLLECT_HANDS,))
    for hand, number in uncollected:
        _collect(d, hand, number, act.who)
    return None


# --- the stub -------------------------------------------------------------------------------------------------------


@handles(WantStubCount)
def want_count(d: Decision, act: WantStubCount) -> Refusal | None:
    """Ask for the stub to be counted in this round, even if its count is not due."""
    if d.round.stub_out or d.round.count_wanted:
        return Refusal("the stub is out, or its count has already been requested", "the stub is still in")
    d.emit(StubCountWanted(round=d.round.number, who=act.who), Rule.STUB_COUNT_DUE)
    return None


@enforces(Rule.DEALING, Rule.STUB_LEAVES, Rule.RACK_HOLDS_ONE_DECK)
@handles(RemoveStub)
def remove_stub(d: Decision, act: RemoveStub) -> Refusal | None:
    """The dealer has taken the stub: from a manual shoe, the hand, or a shoe that cannot bring it out."""
    state = d.state
    if not stub_may_leave(state, d.round):
        if state.setup.game.keeps_dealing:
            collected = "the hands of its last round have been collected"
            return Refusal(f"deck {d.round.deck} is still dealt from", collected, (Rule.STUB_LEAVES,))
        return Refusal(
            "cards are still to be dealt, or the stub is out", "all hands have their cards", (Rule.STUB_LEAVES,)
        )
    if d.round.method is Method.AUTOMATED_SHOE and emptied_by_device(state, stub_place(state, d.round)):
        return Refusal("the shoe brings the stub out itself", "the shoe cannot be used", (Rule.STUB_LEAVES,))
    refusal = rack_occupied(state, d.round.deck)
    if refusal is None:
        remove_stub_by_hand(d, act.who)
    return refusal


def remove_stub_by_hand(d: Decision, who: str) -> None:
    """All remaining cards are put aside to be counted, or go to the rack."""
    cards = d.state.decks[d.round.deck].cards
    target = _stub_goes_to(d)
    places = (SOURCE[d.round.method], ledger.ASIDE, ledger.EXIT)
    moves = [(place, target, cards[place]) for place in places if cards.get(place)]
    number = sum(n for _, _, n in moves)
    d.emit(StubRemoved(deck=d.round.deck, round=d.round.number, cards=number, moves=moves, who=who), Rule.DEALING)


@enforces(Rule.STUB_COUNT_DUE, Rule.STUB_FITS, Rule.STUB_WRONG)
@handles(CountStub)
def count_stub(d: Decision, act: CountStub) -> Refusal | None:
    """The stub and the dealt cards must add up to a deck."""
    there = d.state.decks[d.round.deck].cards.get(ledger.STUB, 0)
    if not d.round.stub_out or d.round.stub_counted or (not there and not stub_count_due(d.state)):
        return Refusal("there is no stub to be counted", "the stub has been taken out to be counted")
    due = (Rule.STUB_COUNT_DUE,)
    refusal = impossible(d.state, act.cards) or unlikely(
        d.state, d.round.deck, act.cards, pile=act.cards, expected=there, blind=True, rules=due
    )
    if stands(refusal, act.confirmed):
        return refusal
    if act.cards != there:
        d.emit(StubCounted(deck=d.round.deck, round=d.round.number, cards=act.cards, who=act.who), Rule.STUB_COUNT_DUE)
        _stub_wrong(d, act.cards, there, by="dealer")
        return None
    moves = [(ledger.STUB, ledger.RACK, there)] if there else []
    d.emit(
        StubCounted(deck=d.round.deck, round=d.round.number, cards=act.cards, moves=moves, who=act.who),
        Rule.STUB_COUNT_DUE,
    )
    size = d.state.setup.game.deck_size
    d.emit(CountAccepted(deck=d.round.deck, by="stub", cards=size), Rule.STUB_FITS)
    return None


def _stub_wrong(d: Decision, number: int, expected: int, by: str) -> None:
    """The stub has the wrong number of cards: the dealer must say whether cards were misdealt."""
    deck = d.round.deck
    cards = d.state.decks[deck].cards
    moves = ledger.emptying_moves(cards, (ledger.STUB,), number, ledger.STUB) if by == "dealer" else []
    moves = [move for move in moves if move[0] != move[1]]
    d.emit(CountRejected(deck=deck, by=f"stub by {by}", cards=number, expected=expected, moves=moves), Rule.STUB_WRONG)
    if d.may(StubRejected, deck):
        d.emit(StubRejected(round=d.round.number, cards=number, expected=expected), Rule.STUB_WRONG)

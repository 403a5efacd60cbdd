"""How the events of a round change the state."""
# mypyc

from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.changes.change import changes
from controller.core.changes.decks import remember_count
from controller.core.changes.devices import nothing_at_exit
from controller.core.changes.play import add_kinds, forget_bets, not_settled
from controller.core.events.devices import CardsHeld, CardTurned
from controller.core.events.rounds import (
    AllActed,
    CardFoundFaceUp,
    CardRequested,
    DealerHeld,
    DealerRevealed,
    HandCollected,
    HandRecognised,
    HandsRequested,
    MisdealAnswered,
    PlannedStack,
    RoundCompleted,
    RoundStarted,
    RoundVoided,
    StackTakenToHand,
    StubCounted,
    StubCountWanted,
    StubRemoved,
    VoidCompleted,
    WagersReturned,
)
from controller.core.events.table import BetsClosed, SeatsWagered
from controller.core.machines import TableState
from controller.core.state import DealtStack, Round, State
from controller.games import described
from controller.games.game import Method
from firmware_bridge.wire.messages import Dispense

STACKS_REMEMBERED: Final = 16  # by every shoe that recognises cards, at least


@changes(SeatsWagered, BetsClosed)
def _seats(state: State, event: SeatsWagered | BetsClosed) -> None:
    state.seats = list(event.seats)


@changes(RoundStarted)
def _round(state: State, event: RoundStarted) -> None:
    state.round = Round(event.round, event.deck, Method(event.method), list(event.seats), list(event.plan))
    state.round.button, state.round.last, state.round.started_ms = event.button, event.last, event.at_ms
    state.round.button_before, state.button = state.button, event.button
    state.rounds = event.round
    state.rounds_uncounted += 1
    deck = state.decks[event.deck]
    deck.first_round = deck.first_round or event.round
    deck.rounds_left = max(deck.rounds_left - 1, -1)
    deck.counted = deck.counted and state.setup.game.keeps_dealing  # until its next shuffle
    deck.rounds_uncounted += 1
    if deck.in_play_ms < 0:
        deck.in_play_ms = event.at_ms
    state.due = event.next_back


def _now(state: State) -> Round:
    assert state.round is not None, "an event of a round, but there is no round"
    return state.round


@changes(DealerHeld)
def _held(state: State, event: DealerHeld) -> None:
    _now(state).held = True
    _held_cards(state, event)


@changes(CardsHeld)
def _held_cards(state: State, event: CardsHeld | DealerHeld) -> None:
    doing = state.devices[event.device].doing
    if doing:
        doing.presented = event.cards


@changes(CardFoundFaceUp)
def _face_up(state: State, event: CardFoundFaceUp) -> None:
    round_ = _now(state)
    round_.face_up += 1
    round_.to_rack += event.to_rack
    if any(place == event.target for place, _, _ in event.moves):
        _deal_again(state, round_, event.target)
    device = state.devices.get(event.device)
    if device and device.doing:
        device.doing.face_up += 1


def _deal_again(state: State, round_: Round, target: str) -> None:
    """A hand lost a card: it gets another, after the stack that is on its way to the exit now."""
    shoe, plan = state.devices["shoe"], round_.plan
    last = max(number for number, stack in enumerate(plan[: round_.dealt]) if stack.target == target)
    plan[last] = PlannedStack(target, plan[last].cards - 1)
    command = shoe.doing.command if shoe.doing else None
    holding = isinstance(command, Dispense) and command.hold  # that stack stays inside for now
    under_way = shoe.at_exit or (command and not holding) or round_.in_hand
    plan.insert(round_.dealt + (1 if under_way else 0), PlannedStack(target, 1))


@changes(CardTurned)
def _turned(state: State, event: CardTurned) -> None:
    doing = state.devices[event.device].doing
    if doing:
        doing.face_up += 1


@changes(StackTakenToHand)
def _taken(state: State, event: StackTakenToHand) -> None:
    round_ = _now(state)
    round_.to_rack = 0
    if round_.plan[round_.dealt].face_up:
        if event.kinds:
            add_kinds(state, round_, event.target, event.kinds)
            if not event.device:  # the dealer named them
                round_.entered = event.target
        else:
            round_.unseen[event.target] = round_.unseen.get(event.target, 0) + event.kept
    if round_.plan[round_.dealt].held:
        round_.held = False
    device = state.devices.get(event.device)
    if device:
        device.at_exit = None
        device.hindered = ""
        if event.command:
            device.dealt.append(DealtStack(event.round, event.target, event.command))
            del device.dealt[:-STACKS_REMEMBERED]
    round_.in_hand += event.kept
    if round_.in_hand >= round_.plan[round_.dealt].cards:
        round_.dealt += 1
        round_.in_hand = 0


@changes(HandCollected)
def _collected(state: State, event: HandCollected) -> None:
    """A hand that was forfeited and leaves before the hidden cards are shown stays hidden for ever."""
    if state.table is not TableState.ACTING and state.table is not TableState.REVEALING:
        return
    if not any(one.hand == event.target for one in _now(state).decisions):
        return
    for device in state.devices.values():
        if device.dealt:
            device.dealt = [one for one in device.dealt if one.round != event.round or one.target != event.target]


@changes(DealerRevealed, HandsRequested)
def _wanted(state: State, event: DealerRevealed | HandsRequested) -> None:
    """The hands are turned over, or a floorperson wants to know what they were: the shoe is asked."""
    for device in state.devices.values():
        for stack in device.dealt:
            stack.wanted = stack.wanted or stack.round == event.round


@changes(HandRecognised)
def _recognised(state: State, event: HandRecognised) -> None:
    device = state.devices[event.device]
    device.dealt = [stack for stack in device.dealt if stack.command != event.command]
    round_ = state.round
    if round_ and round_.number == event.round and not round_.void and "unknown" not in event.kinds:
        add_kinds(state, round_, event.target, event.kinds)


@changes(CardRequested)
def _requested(state: State, event: CardRequested) -> None:
    round_ = _now(state)
    round_.plan.append(PlannedStack(event.target, 1))
    round_.extra[event.target] = round_.extra.get(event.target, 0) + 1


@changes(StubCountWanted)
def _count_wanted(state: State, event: StubCountWanted) -> None:
    _now(state).count_wanted = True


@changes(StubRemoved)
def _stub_out(state: State, event: StubRemoved) -> None:
    _now(state).stub_out = True
    nothing_at_exit(state, "shoe")


@changes(StubCounted)
def _stub_counted(state: State, event: StubCounted) -> None:
    _now(state).stub_counted = True
    state.rounds_uncounted = state.decks[event.deck].rounds_uncounted = 0
    remember_count(state, event, ledger.STUB)


@changes(AllActed)
def _acted(state: State, event: AllActed) -> None:
    _now(state).acted = True


@changes(MisdealAnswered)
def _answered_misdeal(state: State, event: MisdealAnswered) -> None:
    _now(state).misdealt = event.misdealt


@changes(RoundVoided)
def _voided(state: State, event: RoundVoided) -> None:
    round_ = _now(state)
    round_.void, round_.keeps = True, event.keeps
    if described(state.setup.game).button_waits:
        state.button = round_.button_before  # from which it moves to the same seat
    round_.void_reason, round_.void_clause = event.reason, list(event.why)
    not_settled(state, round_)
    note_void_places(state, round_)
    for device in state.devices.values():
        device.hindered = device.opened_by = ""


def note_void_places(state: State, round_: Round) -> None:
    """Remember where the cards of a void round are, so that places from which they were gathered can be shown too."""
    for place in state.decks[round_.deck].cards:
        if place not in round_.void_places:
            round_.void_places.append(place)


@changes(WagersReturned)
def _wagers(state: State, event: WagersReturned) -> None:
    _now(state).wagers_open = False


@changes(RoundCompleted)
def _round_completed(state: State, event: RoundCompleted) -> None:
    for device in state.devices.values():  # what was not turned over stays hidden
        device.dealt = [stack for stack in device.dealt if stack.wanted or stack.round != event.round]
    _round_over(state)


def _round_over(state: State) -> None:
    state.round = None
    state.seats = []
    forget_bets(state)


@changes(VoidCompleted)
def _void_over(state: State, event: VoidCompleted) -> None:
    _round_over(state)
    state.rounds_uncounted = 0  # every card was gathered and counted, even if the deck has left
    deck = state.decks.get(event.deck)
    if deck:
        deck.rounds_uncounted = 0

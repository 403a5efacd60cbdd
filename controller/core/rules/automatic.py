"""What happens without anybody asking: these rules run after every report, until none has anything left to decide."""

# mypyc
from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller.core import ledger
from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.events.decks import DeckRecalled
from controller.core.events.rounds import DealingCompleted, RoundCompleted, VoidCompleted
from controller.core.events.table import BettingOpened, BettingWithdrawn, TableResumed, TableSuspended
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.commands import give
from controller.core.rules.dealing import (
    deal_card_set_aside,
    next_stack,
    stub_may_leave,
    waits_for_players,
)
from controller.core.rules.gathering import (
    GATHERED_STATES,
    emptied_by_device,
    finish_gathering,
    next_place,
    void_keeps,
)
from controller.core.rules.guards import (
    SOURCE,
    STOPS,
    blocking,
    cannot_load,
    cannot_start,
    feeds,
    inside,
    stub_count_due,
    uncleared_warning,
    usable,
)
from controller.core.rules.opening import opening_completed
from controller.core.rules.play import (
    acted,
    drawing,
    ending_session,
    few_cards_left,
    resuming_play,
    settling,
    too_few_cards,
)
from controller.core.rules.script import then
from controller.core.rules.shuffling import waits_for_shuffler
from controller.core.rules.stock import emptying_shoe
from controller.core.state import Round, State, due_deck
from controller.games import described
from controller.games.description import StepType
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Deliver, Dispense, DispenseFaceUp, Eject, Release, Shuffle

AutomaticRule = Callable[[Decision], bool]


def gathering(d: Decision) -> bool:
    """A deck whose cards are all together again is ready for its next step."""
    return any(finish_gathering(d, name) for name in list(d.state.decks))


def ejecting(d: Decision) -> bool:
    """The devices bring out the cards of decks that are being gathered."""
    state = d.state
    if state.round and state.round.void and state.round.wagers_open:
        return False
    for name, deck in state.decks.items():
        if deck.state not in GATHERED_STATES or void_keeps(state, name):
            continue
        device = emptied_by_device(state, next_place(state, name))
        found = state.devices.get(device)
        if not found or found.state is not DeviceState.READY or found.at_exit or found.hindered:
            continue
        if ledger.count(deck.cards, ledger.IN_DEVICE[device][:-1]):
            give(d, device, Eject, STOPS[device], deck=name)
            return True
    return False


@enforces(Rule.SHUFFLE)
def shuffling(d: Decision) -> bool:
    """A deck in the infeed is shuffled."""
    for name, deck in d.state.decks.items():
        if deck.state is DeckState.INFEED and usable(d.state, "shuffler") and not d.state.devices["shuffler"].at_exit:
            give(d, "shuffler", Shuffle, Rule.SHUFFLE, deck=name)
            return True
    return False


@enforces(Rule.DECKS_ALTERNATE, Rule.FEED_SHOE)
def delivering(d: Decision) -> bool:
    """The shuffled deck whose turn it is goes into the empty shoe, or out to the dealer.

    A shuffler that feeds a shoe would deliver into it even if it is out of service: it ejects the deck instead.
    """
    state = d.state
    name = due_deck(state)
    if not name or state.decks[name].state is not DeckState.SHUFFLED or not usable(state, "shuffler"):
        return False
    if state.devices["shuffler"].at_exit or cannot_load(state, name, d.now_ms):
        return False
    if state.method is Method.AUTOMATED_SHOE and (not usable(state, "shoe") or inside(state, "shoe")):
        return False
    if any(deck.cards.get(SOURCE[state.method]) for deck in state.decks.values()):
        return False
    kind = state.setup.shuffler
    if feeds(state):
        give(d, "shuffler", Deliver, Rule.FEED_SHOE, deck=name)
    elif kind and kind.feeds_shoe:
        give(d, "shuffler", Eject, Rule.ONE_STACK, deck=name, target=SOURCE[state.method])
    else:
        give(d, "shuffler", Deliver, Rule.ONE_STACK, deck=name)
    return True


@enforces(Rule.DECKS_ALTERNATE)
def making_room(d: Decision) -> bool:
    """The deck whose turn it is needs the shuffler, and the other one is in it: that one comes out."""
    due = due_deck(d.state)
    if not due or not waits_for_shuffler(d.state, due) or not usable(d.state, "shuffler"):
        return False
    for name in inside(d.state, "shuffler"):
        if d.state.decks[name].state is DeckState.SHUFFLED:
            d.emit(DeckRecalled(deck=name, reason=f"deck {due} is due and needs the shuffler"), Rule.DECKS_ALTERNATE)
            return True
    return False


def suspending(d: Decision) -> bool:
    """A warning is active: no round starts until it is cleared."""
    if not blocking(d.state):
        return False
    refusal = uncleared_warning(d.state)
    assert refusal is not None
    d.emit(TableSuspended(reason=refusal.reason, warnings=sorted(blocking(d.state))), *refusal.rules)
    return True


def resuming(d: Decision) -> bool:
    """No warning prevents a round any more."""
    if blocking(d.state):
        return False
    d.emit(TableResumed())
    return True


@enforces(Rule.OTHER_DECK_IN_SHUFFLER, Rule.DECKS_ALTERNATE)
def opening_bets(d: Decision) -> bool:
    """The deck whose turn it is is loaded and nothing prevents a round: bets may be made."""
    name = due_deck(d.state)
    if not name or d.state.decks[name].state is not DeckState.LOADED or cannot_start(d.state, d.now_ms):
        return False  # cannot_start covers the first two as well; checking them here is cheaper
    d.emit(BettingOpened(deck=name))
    return True


def withdrawing(d: Decision) -> bool:
    """A round can no longer start: for example, its deck was recalled or has reached its age limit."""
    refusal = cannot_start(d.state, d.now_ms)
    if refusal is None:
        return False
    d.emit(BettingWithdrawn(reason=refusal.reason), *refusal.rules)
    return True


@enforces(Rule.DEAL_STACKS, Rule.DEALER_STACK, Rule.REVEAL_DEALER)
def dispensing(d: Decision) -> bool:
    """Dispense the next stack once the last one was taken; release a held stack once the players have acted."""
    state, round_ = d.state, d.round
    if round_.method is not Method.AUTOMATED_SHOE or not usable(state, "shoe") or state.devices["shoe"].at_exit:
        return False
    stack = next_stack(round_)
    if stack is None or waits_for_players(round_) or round_.unseen or round_.stock_outside:
        return False
    rule = Rule.DEALER_STACK if stack.held else Rule.DEAL_STACKS
    if round_.held and stack.held:
        give(d, "shoe", Release, Rule.REVEAL_DEALER, deck=round_.deck, target=stack.target)
    elif state.decks[round_.deck].cards.get(ledger.ASIDE):
        deal_card_set_aside(d)
    elif stack.held and not round_.acted:
        give(d, "shoe", Dispense, rule, deck=round_.deck, target=stack.target, cards=stack.cards, hold=True)
    else:
        cards = stack.cards - round_.in_hand
        if stack.face_up and state.devices["shoe"].can_recognise:
            give(d, "shoe", DispenseFaceUp, rule, deck=round_.deck, target=stack.target, cards=cards)
        else:
            give(d, "shoe", Dispense, rule, deck=round_.deck, target=stack.target, cards=cards, hold=False)
    return True


def dealt(d: Decision) -> bool:
    """All hands have the cards that they get before the players act, also those that depend on the first ones."""
    shoe, round_ = d.state.devices.get("shoe"), d.round
    busy = shoe is not None and shoe.doing is not None and round_.method is Method.AUTOMATED_SHOE
    if busy or round_.unseen or (next_stack(round_) and not waits_for_players(round_)):
        return False
    if drawing(d):
        return True
    d.emit(DealingCompleted(round=round_.number, then=then(d.state, StepType.DEAL)))
    return True


@enforces(Rule.STUB_LEAVES)
def stub_leaving(d: Decision) -> bool:
    """When no more cards can be dealt, the shoe brings out the stub, or finds that it is empty."""
    state, round_ = d.state, d.round
    if round_.method is not Method.AUTOMATED_SHOE or not stub_may_leave(state, round_):
        return False
    shoe = state.devices["shoe"]
    if shoe.state is not DeviceState.READY or shoe.at_exit or shoe.hindered:
        return False
    cards = state.decks[round_.deck].cards
    if cards.get(ledger.EXIT):  # the shoe has restarted: only the dealer knows whether the stub was taken
        return False
    give(d, "shoe", Eject, Rule.STUB_LEAVES, deck=round_.deck, target="stub")
    return True


@enforces(Rule.STUB_LEAVES, Rule.COLLECT_HANDS)
def completing(d: Decision) -> bool:
    """The round is complete once every card is in the rack."""
    state, round_ = d.state, d.round
    cards = state.decks[round_.deck].cards
    if state.setup.game.keeps_dealing and not round_.last:
        if not set(cards) <= {ledger.RACK, SOURCE[round_.method]} or _unsettled(state, round_):
            return False
        d.emit(RoundCompleted(round=round_.number, deck=round_.deck, then=DeckState.LOADED), Rule.COLLECT_HANDS)
        return True
    if not round_.stub_out or stub_count_due(state) or cards != {ledger.RACK: state.setup.game.deck_size}:
        return False
    if _unsettled(state, round_):
        return False
    d.emit(RoundCompleted(round=round_.number, deck=round_.deck), Rule.COLLECT_HANDS)
    return True


def _unsettled(state: State, round_: Round) -> bool:
    """Whether the table still has to work out the result of this round."""
    return not round_.settled and described(state.setup.game).must_settle


@enforces(Rule.VOID_KEEPS)
def completing_void(d: Decision) -> bool:
    """A void round whose deck lasts several rounds is over when its hands are in the rack."""
    state, round_ = d.state, d.round
    if not round_.keeps or round_.wagers_open or round_.deck not in state.decks:
        return False
    if not set(state.decks[round_.deck].cards) <= {ledger.RACK, SOURCE[round_.method]}:
        return False
    d.emit(VoidCompleted(deck=round_.deck, round=round_.number, then=DeckState.LOADED), *round_.void_clause)
    return True


@enforces(Rule.CUT_CARD)
def ending_deck(d: Decision) -> bool:
    """The cut card has come out and all rounds that may follow are over: the deck is shuffled."""
    for name, deck in d.state.decks.items():
        if deck.state is DeckState.LOADED and not deck.rounds_left:
            d.emit(DeckRecalled(deck=name, reason="its cut card has come out"), Rule.CUT_CARD)
            return True
    return False


_NEEDS_HANDLING: Final = frozenset({*GATHERED_STATES, DeckState.INFEED})


def handling_decks(d: Decision) -> bool:
    """In every open state: gather decks that were recalled, and shuffle a deck in the infeed."""
    for deck in d.state.decks.values():
        if deck.state in _NEEDS_HANDLING:
            return gathering(d) or ejecting(d) or shuffling(d)
    return False


_ALWAYS: Final[tuple[AutomaticRule, ...]] = (handling_decks,)
RULES: Final[dict[TableState, tuple[AutomaticRule, ...]]] = {
    TableState.CLOSED: (),
    TableState.OPENING: (opening_completed, *_ALWAYS),
    TableState.WAITING: (suspending, *_ALWAYS, delivering, making_room, ending_session, opening_bets),
    TableState.BETTING: (suspending, withdrawing, *_ALWAYS),
    TableState.DEALING: (dispensing, dealt, *_ALWAYS),
    TableState.ACTING: (dispensing, stub_leaving, acted, emptying_shoe, *_ALWAYS),
    TableState.REVEALING: (dispensing, stub_leaving, *_ALWAYS),
    TableState.CLEARING: (resuming_play, settling, few_cards_left, stub_leaving, completing, *_ALWAYS),
    TableState.STUB_COUNT: _ALWAYS,
    TableState.VOIDING: _ALWAYS,
    TableState.IDLE: _ALWAYS,
    TableState.SUSPENDED: (resuming, *_ALWAYS),
}

# Where a deck lasts several rounds, these come first.
_OF_LASTING_DECKS: Final[dict[TableState, tuple[AutomaticRule, ...]]] = {
    TableState.WAITING: (ending_deck,),
    TableState.DEALING: (too_few_cards,),
    TableState.ACTING: (too_few_cards,),
    TableState.VOIDING: (completing_void,),
}
RULES_WITH_LASTING_DECKS: Final = {table: (*_OF_LASTING_DECKS.get(table, ()), *rules) for table, rules in RULES.items()}


def follow(d: Decision) -> None:
    """Run the rules of the current state until none has anything left to decide."""
    rules_of = RULES_WITH_LASTING_DECKS if d.state.setup.game.keeps_dealing else RULES
    while True:
        for rule in rules_of[d.state.table]:
            if rule(d):
                break
        else:
            return
        assert len(d.entries) < 500, "automatic rules trigger each other endlessly"

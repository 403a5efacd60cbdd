"""How the events of decks change the state."""
# mypyc

from __future__ import annotations

from controller.core import ledger
from controller.core.changes.change import changes
from controller.core.events.decks import (
    CardsGathered,
    CountAccepted,
    CountCorrected,
    CountRejected,
    CutMade,
    DeckChangeDue,
    DeckGathered,
    DeckInspected,
    DeckReadyToCut,
    DeckRecalled,
    DeckReceived,
    DeckRecutOrdered,
    DeckRemoved,
    DeckShuffledByHand,
    PileCounted,
    RecutCancelled,
    ShuffleStarted,
)
from controller.core.events.rounds import StubCounted
from controller.core.events.table import TurnPassed
from controller.core.state import Deck, LastCount, State


@changes(DeckReceived)
def _received(state: State, event: DeckReceived) -> None:
    cards = ledger.fresh(state.setup.game.deck_size)
    deck = Deck(event.back, cards, prepared=event.prepared, by_hand=event.prepared)
    deck.brought_by, deck.came_from = event.who, event.came_from
    state.decks[event.deck] = deck


@changes(DeckInspected)
def _inspected(state: State, event: DeckInspected) -> None:
    state.decks[event.deck].inspected_by = event.who


@changes(ShuffleStarted)
def _shuffle_started(state: State, event: ShuffleStarted) -> None:
    deck = state.decks[event.deck]
    deck.counted = deck.by_hand = deck.recut = False
    _fresh(deck)


@changes(DeckShuffledByHand)
def _by_hand(state: State, event: DeckShuffledByHand) -> None:
    deck = state.decks[event.deck]
    deck.by_hand, deck.recut = True, False
    _fresh(deck)


def _fresh(deck: Deck) -> None:
    """It is being shuffled: which of its cards were seen means nothing any more."""
    deck.seen, deck.first_round, deck.rounds_left = {}, 0, -1


@changes(CountAccepted)
def _count_accepted(state: State, event: CountAccepted) -> None:
    state.rounds_uncounted = state.decks[event.deck].rounds_uncounted = 0
    if event.by == "shuffler":
        state.decks[event.deck].counted = True


@changes(CountRejected)
def _count_rejected(state: State, event: CountRejected) -> None:
    last = state.last_count
    if last and last.event == state.seq - 1:  # the count of the stub that was just entered
        last.left = dict(state.decks[event.deck].cards)


@changes(CountCorrected)
def _corrected(state: State, event: CountCorrected) -> None:
    assert state.last_count is not None
    before = state.last_count.before
    remember_count(state, event, event.place)
    state.last_count.before = before


def remember_count(state: State, event: CardsGathered | PileCounted | StubCounted | CountCorrected, place: str) -> None:
    """The person may correct this count as long as nothing depends on it."""
    left = dict(state.decks[event.deck].cards)
    before = dict(left)
    ledger.move(before, [(target, source, number) for source, target, number in reversed(event.moves or [])])
    state.last_count = LastCount(state.seq, event.who, event.deck, place, event.cards, before, left)


@changes(DeckRecalled)
def _recalled(state: State, event: DeckRecalled) -> None:
    state.decks[event.deck].counted = False


@changes(DeckRecutOrdered)
def _recut(state: State, event: DeckRecutOrdered) -> None:
    state.decks[event.deck].recut = True


@changes(DeckReadyToCut, CutMade, DeckGathered, RecutCancelled)
def _no_recut(state: State, event: DeckReadyToCut | CutMade | DeckGathered | RecutCancelled) -> None:
    state.decks[event.deck].recut = False


@changes(DeckChangeDue)
def _change_due(state: State, event: DeckChangeDue) -> None:
    state.decks[event.deck].change_due = True


@changes(DeckRemoved)
def _removed(state: State, event: DeckRemoved) -> None:
    del state.decks[event.deck]
    state.retired.append(event.deck)


@changes(TurnPassed)
def _turn(state: State, event: TurnPassed) -> None:
    state.due = event.back

"""Opening and closing the table, receiving and removing decks, and idle tables."""

# mypyc
from __future__ import annotations

from typing import Final

import msgspec

from controller.core import ledger
from controller.core.actions import (
    AcceptDeck,
    CloseTable,
    Configure,
    IdleTable,
    InspectDeck,
    OpenTable,
    PlayerArrived,
    ReceiveDeck,
    RejectDeck,
    RemoveDeck,
    SpreadDeck,
    StackDeck,
    VerifyDeck,
    WashDeck,
)
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.decks import (
    DeckAcceptedPrepared,
    DeckInspected,
    DeckRecalled,
    DeckReceived,
    DeckRemoved,
    DeckSpread,
    DeckStacked,
    DeckVerified,
    DeckWashed,
)
from controller.core.events.rounds import VoidCompleted
from controller.core.events.table import (
    OpeningCompleted,
    PlayerCame,
    TableClosed,
    TableConfigured,
    TableIdled,
    TableOpened,
    TurnPassed,
)
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.names import place_name, state_name, stored_name
from controller.core.rules.gathering import lock_out
from controller.core.rules.guards import decks_wanted, in_service, inside, moved_by, self_reshuffling
from controller.core.rules.unexpected_cards import look_inside
from controller.core.rules.warnings import cause_gone, warn
from controller.core.setup import setup_fault, stored
from controller.core.state import Deck, deck_with_back
from controller.games.game import Game
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Deliver

LONGEST_NAME: Final = 24  # of a deck: it must fit wherever the deck is shown
UNOPENED: Final = (DeckState.RECEIVED, DeckState.INSPECTED, DeckState.VERIFIED, DeckState.SPREAD, DeckState.WASHED)
IN_SHUFFLER: Final = (DeckState.INFEED, DeckState.SHUFFLING, DeckState.SHUFFLED)


@handles(Configure)
def configure(d: Decision, act: Configure) -> Refusal | None:
    """Accept a set-up if the rules allow it as a whole."""
    refusal = setup_fault(act.setup)
    if refusal:
        return refusal
    backs = tuple(stored_name(back) for back in act.setup.backs)
    d.emit(TableConfigured(setup=stored(msgspec.structs.replace(act.setup, backs=backs)), who=act.who))
    return None


@handles(OpenTable)
def open_table(d: Decision, act: OpenTable) -> Refusal | None:
    """The table opens."""
    if not d.state.configured:
        return Refusal("the table is not set up", "it has been set up")
    d.emit(TableOpened(who=act.who), Rule.INSPECT_DECK)
    for name in d.state.devices:
        if in_service(d.state, name):
            look_inside(d, name)
    return None


@enforces(Rule.TWO_DECKS, Rule.BACKS_DIFFER, Rule.INSPECT_DECK, Rule.PREPARED_DECK)
@handles(ReceiveDeck)
def receive(d: Decision, act: ReceiveDeck) -> Refusal | None:
    """A deck arrives: its back must be one that the table needs, and it must never have been here before."""
    state = d.state
    if not act.deck:
        return Refusal("the deck has no name", "the name on its box is given", (Rule.INSPECT_DECK,))
    if len(act.deck) > LONGEST_NAME:
        return Refusal("the name is too long", f"it has at most {LONGEST_NAME} characters", (Rule.INSPECT_DECK,))
    if act.deck in state.decks or act.deck in state.retired:
        when = "is already at the table" if act.deck in state.decks else "was here before"
        return Refusal(f"deck {act.deck} {when}", "another deck is brought", (Rule.WRONG_COUNT,))
    if act.back not in state.setup.backs:
        return Refusal(
            f"the table plays with {' and '.join(state.setup.backs)} backs",
            "the deck has one of these backs",
            (Rule.BACKS_DIFFER,),
        )
    if deck_with_back(state, act.back):
        return Refusal(f"a {act.back} deck is already at the table", "that deck has left", (Rule.BACKS_DIFFER,))
    if len(state.decks) >= decks_wanted(state):
        return Refusal(
            "only one deck is used while the shuffler is out of service",
            "the shuffler is back in service",
            (Rule.TWO_DECKS,),
        )
    came_from = act.came_from.strip()
    if act.prepared and not came_from:
        return Refusal(
            "it is not known where the deck was inspected and shuffled",
            "the place it came from is given",
            (Rule.PREPARED_DECK,),
        )
    rule = Rule.PREPARED_DECK if act.prepared else Rule.INSPECT_DECK
    d.emit(
        DeckReceived(deck=act.deck, back=act.back, prepared=act.prepared, came_from=came_from, who=act.who),
        rule,
    )
    pass_turn(d)
    return None


@enforces(Rule.PREPARED_DECK)
@handles(AcceptDeck)
def accept_prepared(d: Decision, act: AcceptDeck) -> Refusal | None:
    """A floorperson accepts a prepared deck; it must not be the person who brought it."""
    deck = d.state.decks[act.deck]
    if not deck.prepared:
        return Refusal(
            f"deck {act.deck} was not prepared beforehand", "a prepared deck is brought", (Rule.INSPECT_DECK,)
        )
    if act.who.casefold() == deck.brought_by.casefold():
        return Refusal(
            "the person who brought a prepared deck cannot accept it",
            "another person accepts it",
            (Rule.PREPARED_DECK,),
        )
    d.emit(DeckAcceptedPrepared(deck=act.deck, came_from=deck.came_from, who=act.who), Rule.PREPARED_DECK)
    return None


@enforces(Rule.INSPECT_DECK, Rule.OPEN_EACH_DECK, Rule.DECK_COMPOSITION)
@handles(InspectDeck)
def inspect(d: Decision, act: InspectDeck) -> Refusal | None:
    """The dealer has inspected every card, and counted each deck that this one was put together from."""
    if not act.good:
        lock_out(d, act.deck, Rule.INSPECT_DECK, reason="the inspection found a defect")
        return None
    expected = packed_counts(d.state.setup.game)
    if expected and act.counts != expected:
        each = f"each of its {len(expected)} decks has {expected[0]} cards"
        return Refusal(f"{', '.join(map(str, act.counts)) or 'no'} cards were counted", each, (Rule.DECK_COMPOSITION,))
    d.emit(DeckInspected(deck=act.deck, counts=list(act.counts) or None, who=act.who), Rule.INSPECT_DECK)
    return None


def packed_counts(game: Game) -> tuple[int, ...]:
    """What is counted when a deck is inspected that was put together from several; empty for any other."""
    return (game.deck_size // game.packed,) * game.packed if game.packed > 1 else ()


@enforces(Rule.INSPECT_DECK, Rule.OPEN_EACH_DECK)
@handles(VerifyDeck)
def verify(d: Decision, act: VerifyDeck) -> Refusal | None:
    """A floorperson confirms the inspection; it must not be the person who inspected the deck."""
    if act.who.casefold() == d.state.decks[act.deck].inspected_by.casefold():
        return Refusal(
            "the person who inspected a deck cannot verify it", "another person verifies it", (Rule.INSPECT_DECK,)
        )
    d.emit(DeckVerified(deck=act.deck, who=act.who), Rule.INSPECT_DECK)
    return None


@enforces(Rule.SPREAD_DECK, Rule.IDLE_TABLE, Rule.OPEN_EACH_DECK)
@handles(SpreadDeck)
def spread(d: Decision, act: SpreadDeck) -> Refusal | None:
    """For the first player, or while the table is idle."""
    deck = d.state.decks[act.deck]
    idle = d.state.table is TableState.IDLE
    if not idle and deck.state is not DeckState.VERIFIED:
        return Refusal(
            f"deck {act.deck} is {state_name(deck.state)}",
            "the deck is verified, or the table is idle",
            (Rule.SPREAD_DECK,),
        )
    moves = [(place, ledger.TABLE, n) for place, n in deck.cards.items() if place != ledger.TABLE]
    d.emit(DeckSpread(deck=act.deck, moves=moves, who=act.who), Rule.IDLE_TABLE if idle else Rule.SPREAD_DECK)
    return None


@enforces(Rule.WASH_DECK, Rule.OPEN_EACH_DECK)
@handles(WashDeck, StackDeck)
def wash_or_stack(d: Decision, act: WashDeck | StackDeck) -> Refusal | None:
    """The cards were turned face down and washed, or stacked."""
    event = DeckWashed if isinstance(act, WashDeck) else DeckStacked
    d.emit(event(deck=act.deck, who=act.who), Rule.WASH_DECK)
    return None


@handles(RejectDeck)
def reject(d: Decision, act: RejectDeck) -> Refusal | None:
    """A damaged deck is never played again. Not during its round, which is played to the end."""
    if moved_by(d.state, act.deck) or d.state.decks[act.deck].state in (
        DeckState.IN_PLAY,
        DeckState.VOIDED,
        DeckState.SHUFFLING,
    ):
        return Refusal("the deck is in use", "its round is over and no device is moving it", (Rule.INSPECT_DECK,))
    lock_out(d, act.deck, Rule.INSPECT_DECK, reason=act.reason)
    warn(
        d,
        "count",
        Rule.INSPECT_DECK,
        deck=act.deck,
        text=f"deck {act.deck} must leave the table: {act.reason}",
    )
    return None


def elsewhere(deck: Deck) -> list[str]:
    """The places from which the cards of a deck must come before it leaves the table."""
    return [place for place in deck.cards if place not in (ledger.TABLE, ledger.RACK, ledger.GONE)]


@enforces(Rule.WRONG_COUNT, Rule.DECK_AGE, Rule.TWO_DECKS)
@handles(RemoveDeck)
def remove(d: Decision, act: RemoveDeck) -> Refusal | None:
    """A deck leaves the table only if it is complete, or its missing cards have been declared."""
    deck = d.state.decks[act.deck]
    if deck.state in (DeckState.IN_PLAY, DeckState.VOIDED):
        return Refusal("its round is not over", "the round is over")
    places = elsewhere(deck)
    if places:
        return Refusal(
            f"cards of deck {act.deck} are still elsewhere: {', '.join(map(place_name, sorted(places)))}",
            "all its cards are on the table, or the missing ones are declared",
            (Rule.WRONG_COUNT,),
        )
    _remove(d, act.deck, act.who)
    return None


def _remove(d: Decision, name: str, who: str) -> None:
    deck = d.state.decks[name]
    voided = d.state.round if d.state.table is TableState.VOIDING else None
    d.emit(DeckRemoved(deck=name, back=deck.back, was=str(deck.state), cards=deck.cards.get(ledger.GONE, 0), who=who))
    for key in [key for key, warned in d.state.warnings.items() if warned.deck == name]:
        cause_gone(d, key)
    if voided and voided.deck == name:
        d.emit(VoidCompleted(deck=name, round=voided.number))
    pass_turn(d)


@enforces(Rule.TWO_DECKS)
def pass_turn(d: Decision) -> None:
    """If the table plays with one deck, that deck is next."""
    decks = list(d.state.decks.values())
    if decks_wanted(d.state) == 1 and len(decks) == 1 and d.state.due != decks[0].back:
        d.emit(TurnPassed(back=decks[0].back), Rule.TWO_DECKS)


@handles(CloseTable)
def close(d: Decision, act: CloseTable) -> Refusal | None:
    """Close the table. The devices must be empty; the decks are removed."""
    for name in ledger.IN_DEVICE:
        if inside(d.state, name):
            return Refusal(f"cards are in the {name}", f"the {name} is empty")
    for name, deck in d.state.decks.items():
        places = elsewhere(deck)
        if places:
            return Refusal(f"cards of deck {name} are elsewhere: {place_name(places[0])}", "all its cards are together")
    for name in list(d.state.decks):
        _remove(d, name, act.who)
    d.emit(TableClosed(who=act.who, wagers=d.state.seats))
    return None


@enforces(Rule.IDLE_TABLE, Rule.SELF_RESHUFFLING_NO_CUT)
@handles(IdleTable)
def idle(d: Decision, act: IdleTable) -> Refusal | None:
    """No players: the cards leave shoe and rack, unless a self-reshuffling device keeps them."""
    if any(
        device.state is DeviceState.WORKING and device.doing and isinstance(device.doing.command, Deliver)
        for device in d.state.devices.values()
    ):
        return Refusal("a deck is on its way into the shoe", "it has arrived", (Rule.IDLE_TABLE,))
    idled = TableIdled(who=act.who, wagers=d.state.seats)
    d.emit(idled, Rule.SELF_RESHUFFLING_NO_CUT if self_reshuffling(d.state) else Rule.IDLE_TABLE)
    if self_reshuffling(d.state):
        return None
    for name, deck in d.state.decks.items():
        if deck.state is DeckState.LOADED:
            d.emit(DeckRecalled(deck=name, reason="the table is idle"), Rule.IDLE_TABLE)
    return None


@enforces(Rule.IDLE_TABLE, Rule.SELF_RESHUFFLING_NO_CUT)
@handles(PlayerArrived)
def player_arrived(d: Decision, act: PlayerArrived) -> Refusal | None:
    """The opening procedure is repeated for every deck that is not in the shuffler."""
    if not self_reshuffling(d.state):
        for name, deck in d.state.decks.items():
            if deck.state not in {*IN_SHUFFLER, *UNOPENED, DeckState.LOCKED_OUT}:
                return Refusal(f"deck {name} is not spread", "it is spread on the table", (Rule.IDLE_TABLE,))
    d.emit(PlayerCame(who=act.who), Rule.IDLE_TABLE)
    return None


@enforces(Rule.OPEN_EACH_DECK)
def opening_completed(d: Decision) -> bool:
    """Complete the opening once every deck has been through the opening procedure. True if it is complete."""
    state = d.state
    ready = [deck for deck in state.decks.values() if deck.state not in {*UNOPENED, DeckState.LOCKED_OUT}]
    if len(ready) < decks_wanted(state) or len(state.decks) > decks_wanted(state):
        return False
    d.emit(
        OpeningCompleted(decks=sorted(state.decks)), Rule.OPEN_EACH_DECK if len(ready) > 1 else Rule.SHUFFLE_NEW_DECK
    )
    return True

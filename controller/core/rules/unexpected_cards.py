"""Cards that leave a place inside a device or appear there although neither a cycle nor a person's report explains it.

A deck in that device can no longer be trusted: it is taken out, shuffled and counted, and a round that is being dealt
from it is void. Exits are not considered here: hands reach them at any time, and devices report cards taken from them
as `StackTaken`.
"""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.events.decks import DeckRecalled
from controller.core.events.devices import CardsUnexpected
from controller.core.machines import DeckState
from controller.core.rules.dealing import stub_may_leave
from controller.core.rules.gathering import GATHERED_STATES, shuffle_again
from controller.core.rules.guards import STOPS, in_service, inside
from controller.core.rules.irregular import void
from controller.core.rules.script import reshuffle_due
from controller.core.rules.warnings import warn
from controller.core.state import State, due_deck
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Deliver, Dispense, Eject, Place, Release, Shuffle, StackCommand

# Hands may reach a deck that is being gathered or is waiting to be shuffled.
NOT_HARMED: Final = (*GATHERED_STATES, DeckState.INFEED)
READY_TO_LOAD: Final = (DeckState.CUT, DeckState.DELIVERED, DeckState.MIXED)
_INSIDE: Final = {
    ("shuffler", Place.INFEED): ledger.INFEED,
    ("shuffler", Place.SHELVES): ledger.SHELVES,
    ("shuffler", Place.OUTPUT): ledger.OUTPUT,
    ("shoe", Place.SHOE): ledger.SHOE,
    ("shoe", Place.HELD): ledger.HELD,
}
_UNPROVEN: Final = {
    "shuffler": (Rule.SHUFFLE, Rule.WRONG_COUNT),
    "shoe": (Rule.SHUFFLE, Rule.WRONG_COUNT, Rule.LOAD_SHOE),
}


def place_inside(name: str, place: Place) -> str:
    """The ledger's name of a place inside this device; empty if it has no such place."""
    return _INSIDE.get((name, place), "")


def harmed(state: State, name: str) -> list[str]:
    """The decks in a device that nobody may touch: they are being shuffled, are ready, or are being dealt."""
    return [deck for deck in inside(state, name) if state.decks[deck].state not in NOT_HARMED]


def cards_gone(d: Decision, name: str, place: str) -> None:
    """A place inside a device is empty. If the ledger has cards there, somebody has taken them out."""
    state = d.state
    there = sum(state.decks[deck].cards.get(place, 0) for deck in harmed(state, name))
    by_hand = place == ledger.SHOE and state.round and stub_may_leave(state, state.round)  # the dealer takes the stub
    if there and not by_hand and not _emptied_by_cycle(state, name, place, there):
        _unproven(d, name, f"cards were taken out of the {name}")


def being_fed(state: State) -> bool:
    """Whether the shuffler is putting a deck into the shoe at this moment. The shoe may see the cards first."""
    kind, shuffler = state.setup.shuffler, state.devices.get("shuffler")
    given = shuffler.doing if shuffler and in_service(state, "shuffler") else None
    return kind is not None and kind.feeds_shoe and given is not None and isinstance(given.command, Deliver)


def _due_and_seen(state: State, name: str) -> str:
    """The deck whose turn it is, if the shoe sees cards that the ledger does not have there; empty otherwise."""
    seen = name == "shoe" and state.devices[name].sensed.get(ledger.SHOE, False)
    return due_deck(state) if seen and not inside(state, name) else ""


def put_in(state: State, name: str) -> str:
    """The deck that was ready and is in the shoe now, not yet reported as loaded; empty if there is none."""
    deck = _due_and_seen(state, name)
    return deck if deck and state.decks[deck].state in READY_TO_LOAD else ""


def taken_back(state: State, name: str, place: str) -> str:
    """The deck that was about to be loaded, if cards are in the shoe; empty otherwise.

    If they leave the shoe again, what is put in next may be other cards, or the same in another order.
    """
    if place != ledger.SHOE:
        return ""
    deck = _due_and_seen(state, name)
    fed = deck and state.decks[deck].state is DeckState.SHUFFLED and being_fed(state)
    return deck if fed else put_in(state, name)


def not_as_shuffled(d: Decision, deck: str) -> None:
    """A deck that was already in the shoe was taken out again before it was loaded."""
    reason = "it was taken out of the shoe again before it was loaded"
    fed = d.state.decks[deck].cards.get(ledger.OUTPUT, 0)
    if fed:
        d.emit(DeckRecalled(deck=deck, reason=reason, moves=[(ledger.OUTPUT, ledger.SHOE, fed)]), *_UNPROVEN["shoe"])
    else:
        shuffle_again(d, deck, *_UNPROVEN["shoe"], reason=reason)


def cards_appeared(d: Decision, name: str, place: str) -> None:
    """Cards are at a place inside a device where the ledger has none and no deck was due."""
    state = d.state
    given = state.devices[name].doing
    if given and given.refilled and place == ledger.OUTPUT:  # the deck is recalled when the delivery ends
        what = f"cards were put into the {name} while it delivered a deck"
        warn(d, "cards", *_UNPROVEN[name], device=name, text=what)
        return
    there = any(deck.cards.get(place) for deck in state.decks.values())
    being_emptied = inside(state, name) and not harmed(state, name)
    new_stock = place == ledger.SHOE and reshuffle_due(state)  # put in before it was reported
    if there or being_emptied or new_stock or _filled_by_cycle(state, name, place):
        return
    d.emit(CardsUnexpected(device=name, place=place, decks=[]), *_UNPROVEN[name])
    _unproven(d, name, f"unexpected cards were put into the {name}")


def look_inside(d: Decision, name: str) -> None:
    """A device is used from now on. Cards may have been put into it while nothing followed from what it reported.

    What is in its infeed does no harm: a deck is put in there and named by a person.
    """
    for place, present in list(d.state.devices[name].sensed.items()):
        if present and place != ledger.INFEED and place in ledger.IN_DEVICE[name]:
            cards_appeared(d, name, place)


@enforces(Rule.SHUFFLE, Rule.WRONG_COUNT, Rule.LOAD_SHOE)
def _unproven(d: Decision, name: str, what: str) -> None:
    """It is not certain which cards are in this device now."""
    state = d.state
    warn(d, "cards", *_UNPROVEN[name], device=name, text=what)
    for deck in harmed(state, name):
        if state.decks[deck].state is DeckState.IN_PLAY and not stub_may_leave(state, d.round):
            void(d, STOPS[name], reason=what)
        shuffle_again(d, deck, *_UNPROVEN[name], reason=what)


def _emptied_by_cycle(state: State, name: str, place: str, there: int) -> bool:
    """Whether the device's current cycle takes the last cards from this place."""
    given = state.devices[name].doing
    command = given.command if given else None
    if isinstance(command, StackCommand):
        return place == ledger.SHOE and command.cards >= there
    if isinstance(command, Release):
        return place == ledger.HELD
    if isinstance(command, Deliver):
        return place == ledger.OUTPUT
    return isinstance(command, Shuffle | Eject)


def _filled_by_cycle(state: State, name: str, place: str) -> bool:
    """Whether the device's current cycle puts cards there, or moves them through."""
    given = state.devices[name].doing
    command = given.command if given else None
    if isinstance(command, Dispense):
        return command.hold and place == ledger.HELD
    return isinstance(command, Shuffle | Eject)

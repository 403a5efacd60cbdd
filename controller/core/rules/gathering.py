"""Brings the cards of a deck together again after a void, a recall or a lock-out, one place after another.

The next place follows from the ledger alone, so no place can be skipped, and a restart changes nothing.
"""

# mypyc
from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.core import ledger
from controller.core.actions import DeclareMissing, GatherAll, GatherCards, ReturnWagers
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.decks import (
    CardsGathered,
    CountAccepted,
    DeckGathered,
    DeckLockedOut,
    DeckReadyToCut,
    DeckRecalled,
    LedgerDisagreed,
    MissingDeclared,
    PileCounted,
    RecutCancelled,
    ShuffleFailed,
)
from controller.core.events.devices import CardsPresented, ExitEmptied
from controller.core.events.play import DeckFinished
from controller.core.events.rounds import VoidCompleted, WagersReturned
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.names import place_name, plural
from controller.core.rules.commands import give
from controller.core.rules.counting import impossible, stands, unlikely
from controller.core.rules.guards import STOPS
from controller.core.state import Device, Given, State, next_back
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Eject

GATHERED_STATES: Final = (DeckState.VOIDED, DeckState.RECALLED, DeckState.LOCKED_OUT)
UNABLE: Final = (
    DeviceState.JAMMED,
    DeviceState.FAILED,
    DeviceState.LOST,
    DeviceState.UNKNOWN,
    DeviceState.OUT_OF_SERVICE,
)
_FIRST: Final = (ledger.TAKEN, ledger.FREED)  # what was taken last may be on a hand
_LAST: Final = (
    ledger.STUB,
    ledger.ASIDE,
    ledger.DISCARDS,
    ledger.BURNT,
    ledger.HAND,
    ledger.MANUAL_SHOE,
    *ledger.IN_DEVICE["shoe"],
    *ledger.IN_DEVICE["shuffler"],
    ledger.RACK,
    ledger.MISSING,
)


def void_keeps(state: State, name: str) -> bool:
    """Whether a deck of a void round stays where it is: only the hands go to the rack."""
    round_ = state.round
    return round_ is not None and round_.void and round_.keeps and round_.deck == name


def in_gathering_order(places: Iterable[str]) -> list[str]:
    """Those of these places that are gathered, in the order in which people are asked for them: hands first."""
    found = set(places)
    hands = sorted(found - {*_FIRST, *_LAST, ledger.TABLE, ledger.GONE})
    return [place for place in (*_FIRST, *hands, *_LAST) if place in found]


def next_place(state: State, name: str) -> str:
    """The place where cards of this deck are gathered next; empty when all are on the dealer's pile."""
    cards = state.decks[name].cards
    return next((place for place in in_gathering_order(cards) if cards[place]), "")


def _may_come_back(state: State, name: str, device: Device) -> bool:
    """Whether a device whose link is briefly down has an unfinished command or cards at its exit."""
    away = device.state is DeviceState.LOST and f"{name}.lost" not in state.warnings
    return away and (device.doing is not None or device.at_exit is not None)


def emptied_by_device(state: State, place: str) -> str:
    """The device that can bring out the cards at this place by itself; empty if a person has to.

    While its link is briefly down, the outcome of its last command and the cards at its exit are unknown: people wait
    until the device is back or its grace period is over.
    """
    device = ledger.DEVICE_OF.get(place, "")
    found = state.devices.get(device)
    if found is None or found.state in UNABLE or found.hindered:
        return device if found is not None and _may_come_back(state, device, found) else ""
    at_exit = place == ledger.IN_DEVICE[device][-1]
    return "" if at_exit and found.at_exit is None else device


@enforces(Rule.SECOND_FACE_UP, Rule.WRONG_NUMBER, Rule.DEALER_EXPOSED, Rule.SHOE_STOPS)
@handles(ReturnWagers)
def return_wagers(d: Decision, act: ReturnWagers) -> Refusal | None:
    """Return all wagers: the first step after a round has become void."""
    if not d.round.wagers_open:
        return Refusal("the wagers have already been returned", "a round is void")
    d.emit(WagersReturned(round=d.round.number, seats=d.round.seats, who=act.who))
    _look_into_shoe(d)
    return None


def _look_into_shoe(d: Decision) -> None:
    """All cards of the deck were dealt, so the shoe should be empty: it looks, as it does after a round that is played.

    If a foreign card is among the hands, a card of the deck is still in the shoe, and the number on the pile is right.
    """
    state, round_, shoe = d.state, d.round, d.state.devices.get("shoe")
    cards = state.decks[round_.deck].cards
    dealt = ledger.count(cards, {stack.target: None for stack in round_.plan})
    if dealt < state.setup.game.deck_size or round_.method is not Method.AUTOMATED_SHOE or shoe is None:
        return
    if shoe.state is DeviceState.READY and not shoe.at_exit and not shoe.hindered:
        give(d, "shoe", Eject, STOPS["shoe"], deck=round_.deck)


def _reported_empty(state: State, act: GatherCards) -> bool:
    """Whether this reports as empty an exit where cards of the deck should be: the sensor may have been wrong."""
    name = ledger.DEVICE_OF.get(act.place, "")
    found = state.devices.get(name)
    if found is None or found.state is not DeviceState.READY or found.at_exit is None:
        return False
    return act.place == ledger.IN_DEVICE[name][-1] and found.at_exit.deck == act.deck


@handles(GatherCards)
def gather(d: Decision, act: GatherCards) -> Refusal | None:
    """A person has gathered and counted the cards of one place."""
    state = d.state
    refusal = _not_gathered(state, act.deck)
    if refusal:
        return refusal
    cards = state.decks[act.deck].cards
    place = next_place(state, act.deck)
    device = ledger.DEVICE_OF.get(place, "")
    if not place:
        return Refusal("all cards of this deck are together", "some of its cards are elsewhere")
    if act.cards == 0 and _reported_empty(state, act):
        moves = ledger.emptying_moves(cards, (act.place,), 0, ledger.TABLE)
        d.emit(CardsGathered(deck=act.deck, place=act.place, cards=0, moves=moves, who=act.who))
        record_difference(d, act.deck, act.place, moves)
        return None
    if act.place not in (place, device):
        return Refusal(f"the cards of {place_name(place)} come first", "they have been gathered")
    if emptied_by_device(state, place):
        return Refusal(f"the {device} brings its cards out itself", f"the {device} cannot be used", (Rule.SHOE_STOPS,))
    refusal = impossible(state, act.cards) or doubtful_place(state, act.deck, cards, place, act.cards)
    if stands(refusal, act.confirmed):
        return refusal
    moves = place_moves(cards, place, act.cards)
    d.emit(CardsGathered(deck=act.deck, place=place, cards=act.cards, moves=moves, who=act.who))
    record_difference(d, act.deck, place, moves)
    if device:
        cancel_recut(d, act.deck, STOPS[device], reason=f"its cards were taken out of the {device} by hand")
    return None


def _not_gathered(state: State, deck: str) -> Refusal | None:
    if state.decks[deck].state not in GATHERED_STATES or void_keeps(state, deck):
        return Refusal("this deck is not being gathered", "its round is void or it has been recalled")
    if state.round and state.round.void and state.round.deck == deck and state.round.wagers_open:
        return Refusal("the wagers must be returned first", "the wagers have been returned", (Rule.SHOE_STOPS,))
    return None


def doubtful_place(state: State, deck: str, cards: ledger.CardCounts, place: str, number: int) -> Refusal | None:
    """Refuse or question the number of cards counted at one place."""
    if place == ledger.MISSING and number < 1:
        return Refusal("no card was found", "a card is found, or a floorperson declares it missing")
    expected = ledger.count(cards, ledger.IN_DEVICE.get(ledger.DEVICE_OF.get(place, ""), (place,)))
    if place == ledger.MISSING:
        expected = min(expected, number)  # a part of the missing cards may be found
    pile = cards.get(ledger.TABLE, 0) + number
    blind = state.decks[deck].state is DeckState.VOIDED
    return unlikely(state, deck, number, pile=pile, expected=expected, blind=blind)


def place_moves(cards: ledger.CardCounts, place: str, number: int) -> list[ledger.Move]:
    """The moves when a person has gathered and counted the cards of one place; a device is emptied as a whole.

    A stack that is not at the shoe's exit anymore was taken without a report from the shoe: it is asked for before its
    cards are called missing.
    """
    if place == ledger.MISSING:
        return [(ledger.MISSING, ledger.TABLE, number)]
    places = ledger.IN_DEVICE.get(ledger.DEVICE_OF.get(place, ""), (place,))
    return [
        (source, ledger.TAKEN if (source, target) == (ledger.EXIT, ledger.MISSING) else target, moved)
        for source, target, moved in ledger.emptying_moves(cards, places, number, ledger.TABLE)
    ]


# --- the whole deck in one pile -------------------------------------------------------------------------------------


def loose_places(state: State, deck: str) -> list[str]:
    """Where people gather cards of this deck: not on the pile, nor in a device that brings them out itself."""
    kept = (ledger.TABLE, ledger.MISSING, ledger.GONE)
    return [place for place in state.decks[deck].cards if place not in kept and not emptied_by_device(state, place)]


@handles(GatherAll)
def gather_all(d: Decision, act: GatherAll) -> Refusal | None:
    """A person has put everything that no device holds in one pile and counted the pile: one count for all places."""
    state, cards = d.state, d.state.decks[act.deck].cards
    refusal = _not_gathered(state, act.deck)
    if refusal:
        return refusal
    places = loose_places(state, act.deck)
    if not places and not cards.get(ledger.MISSING):
        return Refusal("all cards of this deck that no device holds are together", "some of its cards are elsewhere")
    refusal = impossible(state, act.cards) or doubtful_pile(state, act.deck, cards, act.cards)
    if stands(refusal, act.confirmed):
        return refusal
    moves = pile_moves(cards, places, act.cards)
    d.emit(PileCounted(deck=act.deck, places=places, cards=act.cards, moves=moves, who=act.who))
    if refusal:
        record_difference(d, act.deck, ledger.TABLE, moves)
    for device in sorted({ledger.DEVICE_OF[place] for place in places if place in ledger.DEVICE_OF}):
        cancel_recut(d, act.deck, STOPS[device], reason=f"its cards were taken out of the {device} by hand")
    return None


def doubtful_pile(state: State, deck: str, cards: ledger.CardCounts, number: int) -> Refusal | None:
    """Question the number of cards on the pile if it does not complete the deck."""
    elsewhere = [place for place in cards if place == ledger.GONE or emptied_by_device(state, place)]
    left = ledger.count(cards, elsewhere)
    expected = state.setup.game.deck_size - left
    blind = state.decks[deck].state is DeckState.VOIDED
    return unlikely(state, deck, number, pile=number + left, expected=expected, blind=blind)


def pile_moves(cards: ledger.CardCounts, places: list[str], number: int) -> list[ledger.Move]:
    """The moves when the cards of these places are put on the pile and the pile then has this number of cards."""
    moves = [(place, ledger.TABLE, cards[place]) for place in places]
    pile = ledger.count(cards, (ledger.TABLE, *places))
    if number < pile:
        moves.append((ledger.TABLE, ledger.MISSING, pile - number))
    elif number > pile:
        moves.append((ledger.MISSING, ledger.TABLE, number - pile))
    return moves


def record_difference(d: Decision, deck: str, place: str, moves: list[ledger.Move]) -> None:
    """If these moves show missing or surplus cards, record that together with the event that showed it."""
    lost = found = 0
    for source, target, number in moves:
        if target == ledger.MISSING:
            lost += number
        if source == ledger.MISSING:
            found += number
    if place != ledger.MISSING and lost != found:
        event = d.entries[-1]
        d.emit(LedgerDisagreed(deck=deck, place=place, missing=lost - found, by_event=event.seq), Rule.WRONG_COUNT)
        cancel_recut(d, deck, Rule.WRONG_COUNT, reason="its cards were not all together")
        finish_deck(d, deck, "its cards were not all together")


@enforces(Rule.WRONG_COUNT)
@handles(DeclareMissing)
def declare_missing(d: Decision, act: DeclareMissing) -> Refusal | None:
    """A floorperson declares cards missing. The deck can never be complete again, so it is locked out."""
    deck = d.state.decks.get(act.deck)
    if deck is None or deck.state not in GATHERED_STATES or next_place(d.state, act.deck) != ledger.MISSING:
        return Refusal(
            "not every place has been gathered, or no card is missing", "every place is gathered and cards are missing"
        )
    missing = deck.cards[ledger.MISSING]
    if deck.state is not DeckState.LOCKED_OUT:
        lock_out(
            d,
            act.deck,
            Rule.WRONG_COUNT,
            reason=f"{plural(abs(missing), 'card')} {'missing' if missing > 0 else 'too many'}",
        )
    moves = [(ledger.MISSING, ledger.GONE, missing)]
    d.emit(MissingDeclared(deck=act.deck, cards=missing, moves=moves, who=act.who), Rule.WRONG_COUNT)
    return None


@enforces(Rule.WRONG_COUNT, Rule.NOT_MISDEALT)
def lock_out(d: Decision, deck: str, *rules: Rule, reason: str) -> None:
    """The deck is never played again."""
    if d.may(DeckLockedOut, deck):
        d.emit(DeckLockedOut(deck=deck, reason=reason), *rules)


@enforces(Rule.VOID_KEEPS)
def finish_deck(d: Decision, deck: str, reason: str) -> None:
    """The cards that are left for other rounds can no longer be trusted: after this round, all are shuffled."""
    round_ = d.state.round
    if round_ is None or round_.deck != deck or round_.last or not d.state.setup.game.keeps_dealing:
        return
    if d.may(DeckFinished) and (round_.keeps or not round_.void):
        d.emit(DeckFinished(deck=deck, reason=reason, next_back=next_back(d.state)), Rule.SHUFFLE)


def shuffle_again(d: Decision, deck: str, *rules: Rule, reason: str) -> None:
    """The deck must be shuffled again: either its shuffle fails, or the shuffled deck is recalled."""
    finish_deck(d, deck, reason)
    for event in (ShuffleFailed, DeckRecalled):
        if d.may(event, deck):
            d.emit(event(deck=deck, reason=reason), *rules)
            return
    cancel_recut(d, deck, *rules, reason=reason)


@enforces(Rule.SHUFFLE, Rule.RECUT)
def cancel_recut(d: Decision, name: str, *rules: Rule, reason: str) -> None:
    """If a deck is on its way to another cut, it is shuffled instead: after an incident a cut is not enough."""
    deck = d.state.decks.get(name)
    if deck is not None and deck.state is DeckState.RECALLED and deck.recut:
        d.emit(RecutCancelled(deck=name, reason=reason), Rule.SHUFFLE, *rules)


# --- cards brought out by a device ----------------------------------------------------------------------------------


def ejected(d: Decision, name: str, deck_name: str, number: int, *, late: bool = False) -> None:
    """An Eject has brought cards to the exit."""
    deck = d.state.decks[deck_name]
    *within, exit_ = ledger.IN_DEVICE[name] if name == "shuffler" else (ledger.SHOE, ledger.HELD, ledger.EXIT)
    assumed = number < 0
    number = ledger.count(deck.cards, within) if assumed else number
    rest = ledger.FREED if d.state.devices[name].freed else ledger.MISSING
    moves = ledger.emptying_moves(deck.cards, within, number, exit_, rest)
    d.emit(CardsPresented(device=name, deck=deck_name, cards=number, moves=moves, late=late, assumed=assumed))
    record_difference(d, deck_name, within[0], moves)


def _destination(state: State, name: str, deck: str, given: Given | None, counted: bool) -> str:
    """Where cards taken from an exit are now: on the dealer's pile, if they were brought out for it.

    A stack that was dealt for a round and taken just as the round became void may have gone to its hand or to the rack:
    the dealer is asked for it. The dealer also counts what a shoe without a counter brought out.
    """
    round_ = state.round
    for_the_pile = given is not None and isinstance(given.command, Eject) and not given.target
    void = round_ is not None and round_.void and round_.deck == deck
    return ledger.TAKEN if name == "shoe" and void and not (for_the_pile and counted) else ledger.TABLE


def taken_out(d: Decision, name: str, deck_name: str, given: Given | None, number: int) -> None:
    """Cards of a deck being gathered were taken from an exit; `given` is the command that brought them, if known."""
    exit_ = ledger.IN_DEVICE[name][-1]
    deck = d.state.decks.get(deck_name)
    if deck is None:
        d.emit(ExitEmptied(device=name, cards=number))
        return
    counted = number >= 0 or (given is not None and given.presented >= 0)
    there, target = deck.cards.get(exit_, 0), _destination(d.state, name, deck_name, given, counted)
    if there:
        moves = ledger.emptying_moves(deck.cards, (exit_,), number if number >= 0 else there, target)
    else:  # an interrupted cycle had left them there uncounted
        inner = max(ledger.IN_DEVICE[name][:-1], key=lambda place: deck.cards.get(place, 0))
        moves = ledger.partial_moves(deck.cards, inner, max(number, 0), target)
    d.emit(ExitEmptied(device=name, deck=deck_name, cards=number, moves=moves))
    record_difference(d, deck_name, exit_, moves)


def _is_looked_for(state: State, deck: str) -> bool:
    """Whether the shoe is just looking for more cards of this deck."""
    shoe = state.devices.get("shoe")
    return shoe is not None and shoe.state is DeviceState.WORKING and shoe.doing is not None and shoe.doing.deck == deck


def finish_gathering(d: Decision, name: str) -> bool:
    """Decide what a deck is once all its cards are together. True if anything was decided."""
    state = d.state
    deck = state.decks[name]
    if deck.state not in (DeckState.VOIDED, DeckState.RECALLED) or next_place(state, name) or void_keeps(state, name):
        return False
    if _is_looked_for(state, name):
        return False
    if deck.state is DeckState.RECALLED:
        if deck.recut:
            d.emit(DeckReadyToCut(deck=name), Rule.RECUT)
        else:
            d.emit(DeckGathered(deck=name), Rule.SHUFFLE)
        return True
    if state.table is not TableState.VOIDING or d.round.wagers_open:
        return False
    d.emit(CountAccepted(deck=name, by="gathering", cards=state.setup.game.deck_size))
    d.emit(VoidCompleted(deck=name, round=d.round.number), Rule.SHUFFLE)
    return True

"""Shuffling, counting, cutting and loading a deck: from the table through the shuffler or by hand into the shoe."""

# mypyc
from __future__ import annotations

from controller.core import ledger
from controller.core.actions import (
    CutDeck,
    DirectReshuffle,
    InsertDeck,
    LoadDeck,
    RequireRecut,
    ShuffleByHand,
    UnloadDeck,
)
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.decks import (
    CountAccepted,
    CountRejected,
    CutMade,
    CutRecutRequired,
    DeckDelivered,
    DeckInserted,
    DeckLoaded,
    DeckRecalled,
    DeckRecutOrdered,
    DeckShuffledByHand,
    ReshuffleDirected,
    ShuffleCompleted,
    ShuffleFailed,
    ShuffleStarted,
)
from controller.core.events.devices import ExitEmptied
from controller.core.events.table import CutRefused
from controller.core.machines import DeckState
from controller.core.names import plural
from controller.core.rules.gathering import cancel_recut, lock_out, record_difference
from controller.core.rules.guards import (
    SOURCE,
    cannot_load,
    counts,
    decks_wanted,
    feeds,
    in_service,
    inside,
    moved_by,
    not_due,
    over_age,
    self_reshuffling,
    stored_in_shuffler,
    warned,
    wrong_number_of_decks,
)
from controller.core.rules.warnings import warn
from controller.core.state import Given, State, due_deck
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Cycle, CycleDone, Deliver

REFILLED = "cards were put into the shuffler while it was being delivered"
UNPROVEN = (Rule.SHUFFLE, Rule.WRONG_COUNT)  # it is not certain which cards these are


@enforces(Rule.OTHER_DECK_IN_SHUFFLER)
def waits_for_shuffler(state: State, name: str) -> bool:
    """Whether a deck is on the table and must be shuffled next; by hand if no shuffler is in service.

    A deck that is already shuffled goes into the shuffler too, to be counted or while the other one is played.
    """
    deck = state.decks[name]
    if deck.state in (DeckState.STACKED, DeckState.RACKED):
        return True
    other = decks_wanted(state) > 1 and deck.back != state.due and stored_in_shuffler(state)
    return deck.state in (DeckState.MIXED, DeckState.CUT) and (counts(state) or other)


# --- into the shuffler ----------------------------------------------------------------------------------------------


def cannot_insert(d: Decision, name: str) -> Refusal | None:
    """Why this deck may not go into the shuffler now; None if it may."""
    state = d.state
    if not in_service(state, "shuffler"):
        return Refusal("no shuffler is in service", "a shuffler is in service", (Rule.OUT_OF_SERVICE,))
    if warned(state, "shuffler"):
        return Refusal(
            "a warning about the shuffler has not been cleared", "it has been cleared", (Rule.SHUFFLER_STOPS,)
        )
    there = inside(state, "shuffler")
    if there:
        return Refusal(
            f"deck {there[0]} is in the shuffler", "it has left the shuffler", (Rule.OTHER_DECK_IN_SHUFFLER,)
        )
    due = due_deck(state)
    if due and due != name and waits_for_shuffler(state, due):
        return not_due(state, name)
    return over_age(state, name, d.now_ms) or wrong_number_of_decks(state)


@enforces(Rule.SHUFFLE, Rule.SHUFFLE_NEW_DECK)
@handles(InsertDeck)
def insert(d: Decision, act: InsertDeck) -> Refusal | None:
    """A person has put a deck into the infeed; the shuffle starts automatically."""
    refusal = cannot_insert(d, act.deck)
    if refusal is None:
        inserted(d, act.deck, who=act.who)
    return refusal


def inserted(d: Decision, name: str, who: str = "") -> None:
    """A deck is in the infeed; without `who`, the sensor reported it."""
    moves = [(place, ledger.INFEED, n) for place, n in d.state.decks[name].cards.items()]
    d.emit(DeckInserted(deck=name, moves=moves, who=who), Rule.SHUFFLE)


def shuffle_started(d: Decision, given: Given) -> None:
    """The shuffler has accepted the command to shuffle."""
    if d.may(ShuffleStarted, given.deck) and given.deck in d.state.decks:
        there = d.state.decks[given.deck].cards.get(ledger.INFEED, 0)
        moves = [(ledger.INFEED, ledger.SHELVES, there)] if there else []
        d.emit(ShuffleStarted(deck=given.deck, moves=moves), Rule.SHUFFLE)


@enforces(Rule.SHUFFLE, Rule.ONE_STACK, Rule.WRONG_COUNT, Rule.DECK_COMPOSITION, Rule.SHUFFLER_STOPS)
def shuffle_done(d: Decision, given: Given, done: CycleDone) -> None:
    """A shuffle has ended. The deck can be played only if the shuffle is complete and its count correct."""
    state = d.state
    kind = state.setup.shuffler
    assert kind is not None
    name, size = given.deck, state.setup.game.deck_size
    deck = state.decks.get(name)
    if deck is None or deck.state is not DeckState.SHUFFLING:
        return
    wrong = next((number for number in (given.counted, done.cards) if number not in (-1, size)), size)
    if done.cycle is not Cycle.SHUFFLE:
        d.emit(ShuffleFailed(deck=name, reason="the device completed a different cycle"), Rule.SHUFFLER_STOPS)
    elif given.face_up:
        d.emit(ShuffleFailed(deck=name, reason="a card is face up: turn it over and shuffle again"), Rule.SHUFFLE)
    elif wrong != size or not given.fits:  # even if the device was not expected to count
        _count_rejected(d, name, wrong, given.fits, given.counted_at if given.counted == wrong else "")
    elif kind.counts and given.counted < 0 and done.cards < 0:
        reason = "the shuffler did not count the cards after shuffling them"
        d.emit(ShuffleFailed(deck=name, reason=reason), Rule.SHUFFLER_STOPS)
    elif kind.recognises and not given.recognised:
        reason = "the shuffler did not report the kinds of cards"
        d.emit(ShuffleFailed(deck=name, reason=reason), Rule.SHUFFLER_STOPS, Rule.DECK_COMPOSITION)
    else:
        if kind.counts:
            d.emit(CountAccepted(deck=name, by="shuffler", cards=size), Rule.WRONG_COUNT)
        d.emit(ShuffleCompleted(deck=name, moves=[(ledger.SHELVES, ledger.OUTPUT, size)]), Rule.ONE_STACK)


def _count_rejected(d: Decision, name: str, counted: int, fits: bool, place: str) -> None:
    """The deck leaves the table; `place` is where the device counted it, empty for the end of the cycle."""
    size = d.state.setup.game.deck_size
    rules = (Rule.WRONG_COUNT,) if counted != size else (Rule.DECK_COMPOSITION, Rule.WRONG_COUNT)
    text = (
        f"{plural(counted, 'card')} instead of {size}"
        if counted != size
        else "it does not have the right kinds of cards"
    )
    moves = ledger.emptying_moves(d.state.decks[name].cards, ledger.IN_DEVICE["shuffler"][:2], counted, ledger.OUTPUT)
    d.emit(
        CountRejected(deck=name, by="shuffler", cards=counted, expected=size, fits=fits, place=place, moves=moves),
        *rules,
    )
    lock_out(d, name, *rules, reason=text)
    warn(d, "count", *rules, deck=name, text=f"deck {name} must leave the table: {text}")


# --- by hand --------------------------------------------------------------------------------------------------------


@enforces(Rule.SHUFFLE, Rule.OUT_OF_SERVICE)
@handles(ShuffleByHand)
def by_hand(d: Decision, act: ShuffleByHand) -> Refusal | None:
    """The dealer has shuffled a deck; allowed only if no shuffler is in service."""
    if in_service(d.state, "shuffler"):
        return Refusal(
            "the shuffler is in service",
            "a floorperson has recorded that it is covered, removed or marked",
            (Rule.OUT_OF_SERVICE,),
        )
    refusal = over_age(d.state, act.deck, d.now_ms) or wrong_number_of_decks(d.state)
    if refusal is None:
        moves = [(p, ledger.TABLE, n) for p, n in d.state.decks[act.deck].cards.items() if p != ledger.TABLE]
        d.emit(DeckShuffledByHand(deck=act.deck, moves=moves, who=act.who), Rule.SHUFFLE)
    return refusal


def _never_cut(state: State) -> Refusal | None:
    if not self_reshuffling(state):
        return None
    return Refusal(
        "decks are not cut with a self-reshuffling device", "another device is used", (Rule.SELF_RESHUFFLING_NO_CUT,)
    )


@enforces(Rule.CUT, Rule.CUT_DEPTH, Rule.SELF_RESHUFFLING_NO_CUT)
@handles(CutDeck)
def cut(d: Decision, act: CutDeck) -> Refusal | None:
    """The cover card goes in at least ten cards from the top, with cards below it."""
    least, size = d.state.setup.game.least_cut, d.state.setup.game.deck_size
    refusal = _never_cut(d.state)
    if refusal:
        return refusal
    if act.depth is not None and not least <= act.depth < size:
        refusal = Refusal(
            f"the cover card is {plural(act.depth, 'card')} from the top",
            f"it is {least} to {size - 1} cards from the top",
            (Rule.CUT_DEPTH,),
        )
        d.refuse(act, refusal, CutRefused)
        return None
    least = least if act.depth is None else 0  # confirmed by a person, or known from the number
    d.emit(CutMade(deck=act.deck, depth=act.depth, least=least, who=act.who), Rule.CUT_DEPTH)
    return None


@enforces(Rule.RECUT, Rule.SELF_RESHUFFLING_NO_CUT)
@handles(RequireRecut)
def recut(d: Decision, act: RequireRecut) -> Refusal | None:
    """A floorperson requires another cut, before the first card is dealt. A loaded deck comes out first."""
    deck = d.state.decks[act.deck]
    refusal = _locked_out(d.state, act.deck) or _never_cut(d.state)
    if refusal:
        return refusal
    dealt = deck.first_round and d.state.setup.game.keeps_dealing
    if dealt or not deck.by_hand or deck.state not in (DeckState.CUT, DeckState.LOADED):
        return Refusal("this deck has not been cut", "it has been cut and no card has been dealt", (Rule.RECUT,))
    if deck.state is DeckState.CUT:
        d.emit(CutRecutRequired(deck=act.deck, who=act.who), Rule.RECUT)
        return None
    d.emit(DeckRecutOrdered(deck=act.deck, who=act.who), Rule.RECUT)
    d.emit(DeckRecalled(deck=act.deck, reason="another cut is required"), Rule.RECUT)
    return None


# --- into the shoe --------------------------------------------------------------------------------------------------


@enforces(Rule.FEED_SHOE, Rule.LOAD_SHOE)
@handles(LoadDeck)
def load(d: Decision, act: LoadDeck) -> Refusal | None:
    """The dealer has loaded a deck that the shuffler does not load by itself."""
    deck = d.state.decks[act.deck]
    if deck.state is DeckState.SHUFFLED:
        return Refusal("the deck is still in the shuffler", "the shuffler has delivered it", (Rule.ONE_STACK,))
    if d.state.method is Method.AUTOMATED_SHOE and (not in_service(d.state, "shoe") or inside(d.state, "shoe")):
        return Refusal("the shoe is not in service, or not empty", "it is in service and empty", (Rule.LOAD_SHOE,))
    if d.state.method is Method.AUTOMATED_SHOE and d.state.devices["shoe"].sensed.get(ledger.SHOE) is False:
        return Refusal("the shoe reports that no cards are in it", "the deck is in the shoe", (Rule.LOAD_SHOE,))
    refusal = cannot_load(d.state, act.deck, d.now_ms)
    if refusal is None:
        loaded(d, act.deck, who=act.who)
    return refusal


def loaded(d: Decision, name: str, who: str = "") -> None:
    """A deck is where it will be dealt from; without `who`, the sensor or the shuffler reported it."""
    target = SOURCE[d.state.method]
    moves = [(place, target, n) for place, n in d.state.decks[name].cards.items()]
    d.emit(DeckLoaded(deck=name, method=str(d.state.method), moves=moves, who=who), Rule.LOAD_SHOE)


def for_dealer(given: Given) -> bool:
    """Whether this command brings a shuffled deck out to the dealer: a delivery, or an ejection for this purpose."""
    return isinstance(given.command, Deliver) or given.target in (ledger.HAND, ledger.MANUAL_SHOE)


def delivery_done(d: Decision, given: Given, cards: int) -> None:
    """The shuffler has put the deck into the shoe. If it delivers to its exit instead, `delivered` follows."""
    deck, kind = d.state.decks.get(given.deck), d.state.setup.shuffler
    if deck is None or deck.state is not DeckState.SHUFFLED or not (kind and kind.feeds_shoe):
        return
    size, shoe = d.state.setup.game.deck_size, SOURCE[d.state.setup.method]
    cards = given.counted if given.counted not in (-1, size) else cards
    if cards not in (-1, size):  # the sensors disagree: neither count is trusted
        moves = ledger.emptying_moves(deck.cards, (ledger.OUTPUT,), cards, shoe)
        reason = f"the shuffler delivered {plural(cards, 'card')}"
        d.emit(DeckRecalled(deck=given.deck, reason=reason, moves=moves), Rule.WRONG_COUNT)
        record_difference(d, given.deck, ledger.OUTPUT, moves)
    elif given.refilled:
        d.emit(DeckRecalled(deck=given.deck, reason=REFILLED, moves=[(ledger.OUTPUT, shoe, size)]), *UNPROVEN)
    elif feeds(d.state) and d.may(DeckLoaded, given.deck) and cannot_load(d.state, given.deck, d.now_ms) is None:
        loaded(d, given.deck)
    else:  # for example, the dealing method was changed meanwhile
        moves = [(ledger.OUTPUT, shoe, size)]
        d.emit(DeckRecalled(deck=given.deck, reason="it cannot be played now", moves=moves), Rule.SHUFFLE)


def delivered(d: Decision, given: Given, cards: int) -> None:
    """The dealer has taken the shuffled deck from the shuffler's exit."""
    size = d.state.setup.game.deck_size
    deck = d.state.decks[given.deck]
    moves = ledger.emptying_moves(deck.cards, (ledger.TRAY,), cards if cards >= 0 else size, ledger.TABLE)
    whole = moves == [(ledger.TRAY, ledger.TABLE, size)]
    event: DeckDelivered | DeckRecalled
    rules: tuple[Rule, ...] = (Rule.ONE_STACK,)
    if whole and given.refilled:
        event, rules = DeckRecalled(deck=given.deck, moves=moves, reason=REFILLED), UNPROVEN
    elif whole and deck.state is DeckState.SHUFFLED:
        event = DeckDelivered(deck=given.deck, moves=moves)
    else:
        number = plural(cards, "card") if cards >= 0 else "an unknown number of cards"
        event = DeckRecalled(deck=given.deck, moves=moves, reason=f"the dealer took {number} from the shuffler")
    if d.may(type(event), given.deck):
        d.emit(ExitEmptied(device="shuffler", cards=cards))
        d.emit(event, *rules)
    else:
        d.emit(ExitEmptied(device="shuffler", deck=given.deck, cards=cards, moves=moves))
    record_difference(d, given.deck, ledger.TRAY, moves)


@enforces(Rule.SHUFFLE)
@handles(DirectReshuffle)
def direct_reshuffle(d: Decision, act: DirectReshuffle) -> Refusal | None:
    """A floorperson wants a deck shuffled again. If it was on its way to another cut, it is shuffled instead."""
    refusal = _locked_out(d.state, act.deck)
    if refusal:
        return refusal
    deck = d.state.decks[act.deck]
    if deck.state is DeckState.RECALLED and deck.recut:
        d.emit(ReshuffleDirected(deck=act.deck, who=act.who), Rule.SHUFFLE)
        cancel_recut(d, act.deck, reason="a floorperson directed a reshuffle")
        return None
    if not d.may(DeckRecalled, act.deck):
        return Refusal(
            "the deck is waiting to be shuffled or is in use", "it is shuffled and not in play", (Rule.SHUFFLE,)
        )
    refusal = _under_way(d.state, act.deck)
    if refusal is None:
        d.emit(ReshuffleDirected(deck=act.deck, who=act.who), Rule.SHUFFLE)
        d.emit(DeckRecalled(deck=act.deck, reason="a floorperson directed a reshuffle"), Rule.SHUFFLE)
    return refusal


@enforces(Rule.WRONG_COUNT)
def _locked_out(state: State, name: str) -> Refusal | None:
    """Refuse a deck that must leave the table."""
    if state.decks[name].state is not DeckState.LOCKED_OUT:
        return None
    return Refusal(f"deck {name} is locked out", "another deck has taken its place", (Rule.WRONG_COUNT,))


@handles(UnloadDeck)
def unload(d: Decision, act: UnloadDeck) -> Refusal | None:
    """Take a deck out again; it is reshuffled before it is played."""
    refusal = _under_way(d.state, act.deck)
    if refusal is None:
        d.emit(DeckRecalled(deck=act.deck, reason=f"{act.who} is taking it out"), Rule.SHUFFLE)
    return refusal


def _under_way(state: State, deck: str) -> Refusal | None:
    """Refuse to recall a deck that a device is moving: it is not certain where its cards will end up."""
    device = moved_by(state, deck)
    if not device:
        return None
    return Refusal(f"the {device} is moving the deck", f"the {device} has finished its cycle", (Rule.SHUFFLE,))

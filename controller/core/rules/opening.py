"""Opening and closing a table, decks that come and go, and idle times: chapter 4 and 5.H."""

# mypyc
from __future__ import annotations

from typing import Any, Final

import msgspec

from controller.core import ledger
from controller.core.actions import (
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
from controller.core.clauses import enforces
from controller.core.decision import Decision, Refusal, takes, words
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.gathering import lock_out
from controller.core.rules.guards import decks_wanted, inside, moved_by, self_reshuffling
from controller.core.rules.service import warn
from controller.core.setup import setup_fault
from controller.core.state import deck_with_back

UNOPENED: Final = (DeckState.RECEIVED, DeckState.INSPECTED, DeckState.VERIFIED, DeckState.SPREAD, DeckState.WASHED)
IN_SHUFFLER: Final = (DeckState.INFEED, DeckState.SHUFFLING, DeckState.SHUFFLED)


@takes(Configure)
def configure(d: Decision, act: Configure) -> Refusal | None:
    """Take on a set-up, if it is allowed as a whole."""
    fault = setup_fault(act.setup)
    if fault:
        return Refusal(fault.reason, fault.possible_when, fault.clause)
    setup = msgspec.to_builtins(act.setup, str_keys=True, order="deterministic")  # as the journal will tell it again
    d.emit("table.configured", setup=setup, who=act.who)
    return None


@takes(OpenTable)
def open_table(d: Decision, act: OpenTable) -> Refusal | None:
    """The table opens."""
    if not d.state.configured:
        return Refusal("the table is not set up", "it is set up")
    d.emit("table.opened", "4.A", who=act.who)
    return None


@enforces("3.B", "3.B(1)", "4.A", "4.F")
@takes(ReceiveDeck)
def receive(d: Decision, act: ReceiveDeck) -> Refusal | None:
    """A deck comes to the table: it must have a back that is wanted, and must never have been here."""
    state = d.state
    if act.deck in state.decks or act.deck in state.retired or not act.deck:
        return Refusal(f"deck {act.deck} was here before", "a new deck is brought", ("5.D",))
    if act.back not in state.setup.backs:
        return Refusal(f"the table plays with {' and '.join(state.setup.backs)} backs", "the back fits", ("3.B(1)",))
    if deck_with_back(state, act.back):
        return Refusal(f"a {act.back} deck is here already", "that deck has left", ("3.B(1)",))
    if len(state.decks) >= decks_wanted(state):
        return Refusal("one deck is played while the shuffler is out of service", "it is back in service", ("3.B",))
    clause = ("4.F",) if act.prepared else ("4.A",)
    d.emit("deck.received", *clause, deck=act.deck, back=act.back, prepared=act.prepared, who=act.who)
    if act.prepared:
        d.emit("deck.accepted_prepared", "4.F", deck=act.deck)
    if decks_wanted(state) == 1 and state.due != act.back:
        d.emit("turn.passed", "3.B", back=act.back)
    return None


@enforces("4.A", "4.E")
@takes(InspectDeck)
def inspect(d: Decision, act: InspectDeck) -> Refusal | None:
    """The dealer's look at every card."""
    if not act.good:
        lock_out(d, act.deck, "4.A", reason="the inspection found a defect")
        return None
    d.emit("deck.inspected", "4.A", deck=act.deck, who=act.who)
    return None


@enforces("4.A", "4.E")
@takes(VerifyDeck)
def verify(d: Decision, act: VerifyDeck) -> Refusal | None:
    """The floorperson's, who is somebody else."""
    if act.who == d.state.decks[act.deck].inspected_by:
        return Refusal("who inspected a deck cannot verify it", "another person verifies it", ("4.A",))
    d.emit("deck.verified", "4.A", deck=act.deck, who=act.who)
    return None


@enforces("4.B", "5.H", "4.E")
@takes(SpreadDeck)
def spread(d: Decision, act: SpreadDeck) -> Refusal | None:
    """For the first player, or while nobody is here."""
    deck = d.state.decks[act.deck]
    idle = d.state.table is TableState.IDLE
    if not idle and deck.state is not DeckState.VERIFIED:
        return Refusal(
            f"deck {act.deck} is {words(deck.state)}", "the deck is verified, or the table is idle", ("4.B",)
        )
    moves = [(place, ledger.TABLE, n) for place, n in deck.cards.items() if place != ledger.TABLE]
    d.emit("deck.spread", "5.H" if idle else "4.B", deck=act.deck, moves=moves, who=act.who)
    return None


@enforces("4.C", "4.E")
@takes(WashDeck, StackDeck)
def wash_or_stack(d: Decision, act: WashDeck | StackDeck) -> Refusal | None:
    """Turned, washed, stacked."""
    d.emit(act.kind, "4.C", deck=act.deck, who=act.who)
    return None


@takes(RejectDeck)
def reject(d: Decision, act: RejectDeck) -> Refusal | None:
    """A damaged deck is never played again; the round that is on is played to its end."""
    if moved_by(d.state, act.deck) or d.state.decks[act.deck].state in (
        DeckState.IN_PLAY,
        DeckState.VOIDED,
        DeckState.SHUFFLING,
    ):
        return Refusal("the deck is in use", "its round is over, and no device moves it", ("4.A",))
    lock_out(d, act.deck, "4.A", reason=act.reason)
    warn(d, "count", deck=act.deck, clause=("4.A",), text=f"deck {act.deck} must leave the table: {act.reason}")
    return None


@enforces("5.D", "3.C", "3.B")
@takes(RemoveDeck)
def remove(d: Decision, act: RemoveDeck) -> Refusal | None:
    """A deck leaves only as a whole, or with its missing cards declared."""
    deck = d.state.decks[act.deck]
    if deck.state in (DeckState.IN_PLAY, DeckState.VOIDED):
        return Refusal("its round is not over", "the round is over")
    elsewhere = [place for place in deck.cards if place not in (ledger.TABLE, ledger.RACK, ledger.GONE)]
    if elsewhere:
        return Refusal(
            f"cards of deck {act.deck} are still at: {', '.join(sorted(elsewhere))}",
            "all its cards lie on the table, or the missing ones are declared",
            ("5.D",),
        )
    _remove(d, act.deck, act.who)
    return None


def _remove(d: Decision, name: str, who: str) -> None:
    deck = d.state.decks[name]
    voided = d.state.round if d.state.table is TableState.VOIDING else None
    d.emit(
        "deck.removed", deck=name, back=deck.back, was=str(deck.state), cards=deck.cards.get(ledger.GONE, 0), who=who
    )
    for key in [key for key, warned in d.state.warnings.items() if warned.deck == name and not warned.gone]:
        d.emit("warning.cause_gone", warning=key)
    if voided and voided.deck == name:
        d.emit("void.completed", deck=name, round=voided.number)
    left = list(d.state.decks.values())
    if decks_wanted(d.state) == 1 and len(left) == 1 and d.state.due != left[0].back:
        d.emit("turn.passed", "3.B", back=left[0].back)


@takes(CloseTable)
def close(d: Decision, act: CloseTable) -> Refusal | None:
    """Nothing is left in a device; the decks leave with the table."""
    for name in ledger.IN_DEVICE:
        if inside(d.state, name):
            return Refusal(f"cards are in the {name}", f"the {name} is empty")
    for name, deck in d.state.decks.items():
        astray = [place for place in deck.cards if place not in (ledger.TABLE, ledger.RACK, ledger.GONE)]
        if astray:
            return Refusal(f"cards of deck {name} are at {astray[0]}", "all cards are together")
    for name in list(d.state.decks):
        _remove(d, name, act.who)
    d.emit("table.closed", who=act.who)
    return None


@enforces("5.H", "5.J")
@takes(IdleTable)
def idle(d: Decision, act: IdleTable) -> Refusal | None:
    """Nobody plays: the cards leave shoe and rack. A device under 5.I keeps them."""
    if any(device.state is DeviceState.WORKING and device.doing and device.doing.name == "Deliver"
           for device in d.state.devices.values()):  # fmt: skip
        return Refusal("a deck is on its way into the shoe", "it has come there", ("5.H",))
    d.emit("table.idled", "5.J" if self_reshuffling(d.state) else "5.H", who=act.who)
    if self_reshuffling(d.state):
        return None
    for name, deck in d.state.decks.items():
        if deck.state is DeckState.LOADED:
            d.emit("deck.recalled", "5.H", deck=name, reason="nobody plays")
    return None


@enforces("5.H", "5.J")
@takes(PlayerArrived)
def player_arrived(d: Decision, act: PlayerArrived) -> Refusal | None:
    """Chapter 4 again, for every deck that is not in the shuffler."""
    if not self_reshuffling(d.state):
        for name, deck in d.state.decks.items():
            if deck.state not in {*IN_SHUFFLER, *UNOPENED, DeckState.LOCKED_OUT}:
                return Refusal(f"deck {name} is not spread", "it lies spread on the table", ("5.H",))
    d.emit("player.arrived", "5.H", who=act.who)
    return None


@enforces("4.E")
def opening_completed(d: Decision) -> bool:
    """Every deck of the set-up has come through chapter 4."""
    state = d.state
    ready = [deck for deck in state.decks.values() if deck.state not in {*UNOPENED, DeckState.LOCKED_OUT}]
    if len(ready) < decks_wanted(state) or len(state.decks) > decks_wanted(state):
        return False
    extra: dict[str, Any] = {"decks": sorted(state.decks)}
    d.emit("opening.completed", "4.E" if len(ready) > 1 else "4.D", **extra)
    return True

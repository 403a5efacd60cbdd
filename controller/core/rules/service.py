"""What people do with devices: free jams, test, empty, take out of service, and change the dealing method."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.actions import (
    AcceptDevice,
    ChangeMethod,
    EmptyDevice,
    FreeJam,
    OpenDevice,
    PutInService,
    TakeOutOfService,
    TestDevice,
    TryAgain,
)
from controller.core.decision import Decision, handles
from controller.core.enforcement import enforces
from controller.core.events.decks import DeckRecalled
from controller.core.events.devices import (
    CycleLost,
    DeviceAccepted,
    DeviceConnected,
    DeviceFreed,
    DeviceInService,
    DeviceOpened,
    DeviceOutOfService,
)
from controller.core.events.table import MethodChanged
from controller.core.machines import IN_A_ROUND, DeckState, DeviceState, TableState
from controller.core.refusal import Refusal
from controller.core.rules.commands import give
from controller.core.rules.gathering import shuffle_again
from controller.core.rules.guards import STOPS, hand_needs_shuffler, in_service, inside
from controller.core.rules.links import refuse
from controller.core.rules.opening import pass_turn
from controller.core.rules.unexpected_cards import harmed, look_inside
from controller.core.rules.warnings import cause_gone, restore_fault
from controller.core.setup import no_such_method
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import ClearJam, Eject, SelfTest

OUT_HOW: Final = ("covered", "removed", "marked")

# --- requests to a device -------------------------------------------------------------------------------------------


@enforces(Rule.SHUFFLE, Rule.SHOE_STOPS)
@handles(FreeJam)
def free_jam(d: Decision, act: FreeJam) -> Refusal | None:
    """The stuck cards were removed: the device checks its card path.

    Freeing a jam means reaching into the cards: a deck put in since the jam may no longer be as it was shuffled.
    """
    if d.state.devices[act.device].state is not DeviceState.JAMMED:
        return Refusal(f"the {act.device} is not jammed", "the device is jammed", (STOPS[act.device],))
    for deck in harmed(d.state, act.device):
        reason = f"the jam in the {act.device} was freed with the deck in it"
        shuffle_again(d, deck, STOPS[act.device], Rule.SHUFFLE, reason=reason)
    give(d, act.device, ClearJam, STOPS[act.device])
    return None


@handles(OpenDevice)
def open_device(d: Decision, act: OpenDevice) -> Refusal | None:
    """Unlock a device; it stays unlocked until its next cycle or warning."""
    if not d.state.devices[act.device].locked:
        return Refusal(f"the {act.device} is not locked", "the device is locked")
    d.emit(DeviceOpened(device=act.device, who=act.who), STOPS[act.device])
    return None


@handles(TestDevice)
def test_device(d: Decision, act: TestDevice) -> Refusal | None:
    """Start a self-test. Never with cards inside: a deck that went through a test is not properly shuffled.

    A device that failed and passes its test can be used again.
    """
    if d.state.devices[act.device].state not in (DeviceState.READY, DeviceState.FAILED):
        return Refusal(f"the {act.device} is not ready", "the device is ready, or has failed")
    if inside(d.state, act.device):
        return Refusal(f"cards are in the {act.device}", "the device is empty", (Rule.SHUFFLE,))
    give(d, act.device, SelfTest)
    return None


@handles(EmptyDevice)
def empty(d: Decision, act: EmptyDevice) -> Refusal | None:
    """Bring out the deck inside, or show that the device is empty."""
    state = d.state
    found = state.devices[act.device]
    if found.state is not DeviceState.READY or found.at_exit:
        return Refusal(f"the {act.device} is not ready, or cards are at its exit", "it is ready and its exit is empty")
    decks = inside(state, act.device)
    for name in decks:
        if state.decks[name].state is DeckState.IN_PLAY:
            return Refusal("a round is being dealt from it", "the round is over")
        if d.may(DeckRecalled, name):
            d.emit(DeckRecalled(deck=name, reason=f"{act.who} is emptying the {act.device}"), Rule.SHUFFLE)
    looking = [name for name, deck in state.decks.items() if deck.cards.get(ledger.MISSING)]
    give(d, act.device, Eject, deck=next(iter(decks or looking), ""))
    return None


@handles(TryAgain)
def try_again(d: Decision, act: TryAgain) -> Refusal | None:
    """A person has dealt with the reason why the device refused a command."""
    if not d.state.devices[act.device].hindered:
        return Refusal(f"the {act.device} has not refused a command", "it has refused one")
    d.emit(DeviceFreed(device=act.device, who=act.who))
    return None


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
@handles(AcceptDevice)
def accept(d: Decision, act: AcceptDevice) -> Refusal | None:
    """Accept a device again whose last events are missing from the journal. It must be empty and its cards counted."""
    told = d.state.devices[act.device].told
    if not told:
        return Refusal(f"no event of the {act.device} is missing from the journal", "events are missing")
    decks = inside(d.state, act.device)
    if decks:
        return Refusal(
            f"cards of deck {decks[0]} are still in it",
            "every card has been taken out and counted",
            (STOPS[act.device],),
        )
    d.emit(DeviceAccepted(device=act.device, told=told, who=act.who, role=str(act.role)), STOPS[act.device])
    cause_gone(d, f"{act.device}.gap")
    return None


# --- out of service, and other dealing methods ----------------------------------------------------------------------


@enforces(Rule.OUT_OF_SERVICE)
@handles(TakeOutOfService)
def take_out(d: Decision, act: TakeOutOfService) -> Refusal | None:
    """A device was covered, removed or marked. One that is removed from the table must be empty."""
    state = d.state
    if act.how not in OUT_HOW:
        return Refusal(
            f"{act.how!r} is not one of: {', '.join(OUT_HOW)}",
            "it is covered, removed or marked",
            (Rule.OUT_OF_SERVICE,),
        )
    if act.device == "shoe" and state.table in IN_A_ROUND and state.method is Method.AUTOMATED_SHOE:
        return Refusal("a round is being dealt from it", "the round is over or void", (Rule.OUT_OF_SERVICE,))
    decks = inside(state, act.device)
    if act.how == "removed":
        lost = [name for name, deck in state.decks.items() if deck.cards.get(ledger.MISSING)]
        if decks or lost:
            return Refusal(
                f"cards of deck {(decks or lost)[0]} may still be in it",
                "it is shown to be empty, or the missing cards are declared missing",
                (Rule.OUT_OF_SERVICE,),
            )
    given = state.devices[act.device].doing
    if given:
        d.emit(CycleLost(device=act.device, id=given.id, reason="it was taken out of service"), STOPS[act.device])
    d.emit(DeviceOutOfService(device=act.device, how=act.how, who=act.who), Rule.OUT_OF_SERVICE)
    for name in decks:
        shuffle_again(d, name, STOPS[act.device], reason=f"the {act.device} is out of service")
    pass_turn(d)
    return None


@enforces(Rule.OUT_OF_SERVICE)
@handles(PutInService)
def put_in(d: Decision, act: PutInService) -> Refusal | None:
    """Put a device back in service. Its warnings remain."""
    if act.device == "shoe" and d.state.round is not None:
        return Refusal("a round is in progress", "the round is over", (Rule.OUT_OF_SERVICE,))
    device = d.state.devices[act.device]
    d.emit(DeviceInService(device=act.device, who=act.who), Rule.OUT_OF_SERVICE)
    if device.online:
        d.emit(DeviceConnected(device=act.device, boot=device.boot, restarted=False))
        for warning in ("lost", "refused"):
            cause_gone(d, f"{act.device}.{warning}")
        restore_fault(d, act.device)
        if d.state.table is not TableState.CLOSED:
            look_inside(d, act.device)
    elif device.refused and not device.told:
        refuse(d, act.device, device.boot, device.refused)
    return None


@enforces(Rule.OUT_OF_SERVICE, Rule.HAND_NEEDS_SHUFFLER)
@handles(ChangeMethod)
def change_method(d: Decision, act: ChangeMethod) -> Refusal | None:
    """Change the dealing method, once a floorperson has recorded that the failed device is out of service."""
    state = d.state
    if act.method is state.method:
        return Refusal("this is already the dealing method", "another method is chosen")
    unknown = no_such_method(state.setup.game, act.method)
    if unknown:
        return unknown
    if act.method is Method.AUTOMATED_SHOE and not in_service(state, "shoe"):
        return Refusal("the automated shoe is not in service", "it is in service", (Rule.OUT_OF_SERVICE,))
    if state.method is Method.AUTOMATED_SHOE and in_service(state, "shoe"):
        return Refusal(
            "the automated shoe has not been covered, removed or marked out of order",
            "a floorperson has recorded that it has been",
            (Rule.OUT_OF_SERVICE,),
        )
    if act.method is Method.HAND and not in_service(state, "shuffler") and hand_needs_shuffler(state):
        return Refusal(
            "dealing from the hand requires a shuffler in service",
            "the shuffler is in service",
            (Rule.HAND_NEEDS_SHUFFLER,),
        )
    for name, deck in state.decks.items():
        if deck.state is DeckState.LOADED:
            return Refusal(f"deck {name} is loaded", "it has been taken out", (Rule.OUT_OF_SERVICE,))
    d.emit(MethodChanged(method=str(act.method), was=str(state.method), who=act.who), Rule.OUT_OF_SERVICE)
    return None

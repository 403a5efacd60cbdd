"""What devices report: answers to commands, ends of cycles, cards presented, counted or taken, doors and faults."""

# mypyc
from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from controller.core import ledger
from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.events.decks import DeckInserted, DeckLoaded
from controller.core.events.devices import (
    CardsPresented,
    CardsUnexpected,
    CardTurned,
    CommandAnswered,
    CycleCompleted,
    CycleFailed,
    DeviceCleared,
    DeviceCounted,
    DeviceFreed,
    DeviceHindered,
    DevicePoweredUp,
    DeviceRecovered,
    DeviceReported,
    ExitEmptied,
)
from controller.core.events.event import Cause
from controller.core.events.play import CardsSeen
from controller.core.events.rounds import CardFoundFaceUp, StackTakenToHand, StubRemoved
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.names import cycle_name, doing_name, refusal_name, spoken
from controller.core.reports import CommandReply, DeviceEvent
from controller.core.rules.commands import longest_cycle_ms
from controller.core.rules.dealing import presented, stub_at_exit, stub_may_leave, stub_place, stub_taken, taken
from controller.core.rules.gathering import cancel_recut, ejected, shuffle_again, taken_out
from controller.core.rules.guards import STOPS, cannot_load, has_rule, inside
from controller.core.rules.irregular import found_face_up, void
from controller.core.rules.shuffling import (
    cannot_insert,
    delivered,
    delivery_done,
    for_dealer,
    inserted,
    loaded,
    shuffle_done,
    shuffle_started,
)
from controller.core.rules.stopping import cycle_failed, failed, jammed, stopped
from controller.core.rules.unexpected_cards import (
    READY_TO_LOAD,
    being_fed,
    cards_appeared,
    cards_gone,
    harmed,
    not_as_shuffled,
    place_inside,
    taken_back,
)
from controller.core.rules.warnings import cause_gone, restore_fault, warn
from controller.core.state import Given, Round, State, due_deck
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import (
    ClearJam,
    Deliver,
    Eject,
    Outcome,
    Place,
    Reason,
    Release,
    SelfTest,
    Shuffle,
    StackCommand,
)

_OfCommand = wire.StackPresented | wire.CycleDone | wire.CardsCounted | wire.CardFaceUp | wire.CardsShown
# Recorded in full, whatever follows from them. Cycles and cards dealt have events of their own.
_SENSED: Final = (
    wire.CardsPresent,
    wire.Door,
    wire.Button,
    wire.PowerUp,
    wire.Fault,
    wire.Jam,
    wire.UnknownEvent,
    wire.MalformedEvent,
)
_UNKNOWN_OUTCOME: Final = (Reason.OTHER_BOOT, Reason.FORGOTTEN, Reason.ID_REUSED)
# A person can resolve these, and no card has moved: the command is given again afterwards.
_HINDRANCES: Final = (
    Reason.BUSY,
    Reason.LOCKED,
    Reason.DOOR_OPEN,
    Reason.EXIT_OCCUPIED,
    Reason.EVENTS_FULL,
    Reason.OUTPUT_OCCUPIED,
)


# --- answers --------------------------------------------------------------------------------------------------------


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def answered(d: Decision, report: CommandReply) -> None:
    """A command was accepted or refused, or the device does not know what became of it."""
    name = report.device
    device = d.state.devices.get(name)
    if device is None:
        return
    if any(given.id == report.id for given in device.beside):
        _side_command_answered(d, report)
        return
    if device.doing is None or device.doing.id != report.id or device.doing.answered:
        return
    given, answer = device.doing, report.answer
    if isinstance(answer, wire.Done):
        d.emit(CommandAnswered(device=name, id=given.id, answer="done"))
        if isinstance(given.command, Shuffle):
            shuffle_started(d, given)
        return
    reason = answer.reason if answer else Reason.OTHER_BOOT
    outcome = "unknown" if reason in _UNKNOWN_OUTCOME else "refused"
    d.emit(CommandAnswered(device=name, id=given.id, answer=outcome, reason=reason.name.lower()))
    if device.state is not DeviceState.WORKING:
        return
    if reason is Reason.JAMMED:
        jammed(d, name)
    elif reason is Reason.FAILED:
        failed(d, name, "has failed", begun=False)
    elif reason is Reason.NOT_JAMMED:
        _jam_cleared(d, name)
    elif reason is Reason.BUSY and 0 <= device.busy_ms < d.now_ms - longest_cycle_ms(d.state, name):
        failed(d, name, "stays busy")
    elif reason in _HINDRANCES or (reason is Reason.NO_CARDS and isinstance(given.command, Shuffle)):
        d.emit(CycleFailed(device=name, id=given.id, command=given.name, reason=reason.name.lower()))
        why = refusal_name(reason.name.lower()) if reason in _HINDRANCES else "no cards are in its infeed"
        d.emit(DeviceHindered(device=name, reason=why, locked=reason is Reason.LOCKED, busy=reason is Reason.BUSY))
        restore_fault(d, name)
    elif reason is Reason.NO_CARDS and isinstance(given.command, Eject) and not for_dealer(given):
        d.emit(CycleCompleted(device=name, id=given.id, command=given.name))
        _brought_out(d, name, given, 0)
    else:
        why = (
            "does not know what became of a command"
            if outcome == "unknown"
            else f"refused to {doing_name(given.name)}: {refusal_name(reason.name.lower())}"
        )
        cycle_failed(d, name, given, why)


def _side_command_answered(d: Decision, report: CommandReply) -> None:
    """The answer to a lock or light command. A device that refuses one is not sent such a command again."""
    if isinstance(report.answer, wire.Done):
        d.emit(CommandAnswered(device=report.device, id=report.id, answer="done"))
    elif report.answer is None:
        d.emit(CommandAnswered(device=report.device, id=report.id, answer="unknown"))
    else:
        reason = report.answer.reason.name.lower()
        d.emit(CommandAnswered(device=report.device, id=report.id, answer="refused", reason=reason))


def _jam_cleared(d: Decision, name: str) -> None:
    d.emit(DeviceCleared(device=name), STOPS[name])
    cause_gone(d, f"{name}.jam")
    restore_fault(d, name)  # a device that also failed has not recovered from that


# --- events ---------------------------------------------------------------------------------------------------------


def event(d: Decision, report: DeviceEvent) -> None:
    """An event of a device. Each counts once; those from before its last restart are ignored."""
    name, happened = report.device, report.event
    device = d.state.devices.get(name)
    if device is None or report.boot != device.boot or happened.number <= device.last_event:
        return
    d.cause = Cause(name, happened.number)
    in_use = device.state is not DeviceState.OUT_OF_SERVICE
    left = ""
    if in_use and isinstance(happened, wire.CardsPresent) and not happened.present:
        left = taken_back(d.state, name, place_inside(name, happened.place))
    if isinstance(happened, _SENSED):
        d.emit(_in_full(name, happened))
    if left:
        not_as_shuffled(d, left)
    handler = _EVENTS.get(type(happened))
    if handler is not None and (in_use or handler is _powered_up):
        handler(d, name, happened)
    if d.cause:  # nothing followed from it: record it anyway
        d.emit(_in_full(name, happened))


# The fields of a device's event that are recorded, by their names in `DeviceReported`. Kinds of cards are not.
_RECORDED: Final = {"state": "door"} | {
    name: name
    for name in (
        "command", "place", "present", "cards", "cycle", "outcome",
        "button", "code", "text", "cause", "memory_kept", "message_number", "content", "problem",
    )
}  # fmt: skip


def _in_full(name: str, happened: wire.AnyEvent) -> DeviceReported:
    """A device's event as it is recorded."""
    event = DeviceReported(device=name, event=type(happened).__name__)
    for field, target in _RECORDED.items():
        value = getattr(happened, field, None)
        if value is not None:
            if isinstance(value, IntEnum):
                value = value.name.lower()
            setattr(event, target, value.hex() if isinstance(value, bytes) else value)
    return event


def _fault(d: Decision, name: str, happened: wire.Fault) -> None:
    failed(d, name, f"reports a fault: {spoken(happened.code.name.lower())}")


def _malformed(d: Decision, name: str, happened: wire.MalformedEvent) -> None:
    """An event of this version that cannot be read: what the device did is not known, as when a part is broken."""
    failed(d, name, f"sent an event that cannot be read (message {happened.message_number})")


def _jam(d: Decision, name: str, happened: wire.Jam) -> None:
    jammed(d, name)


def _powered_up(d: Decision, name: str, happened: wire.PowerUp) -> None:
    """A device that kept its memory was switched on. One that lost it has a new boot number: see `links.ready`."""
    device = d.state.devices[name]
    given = device.doing
    if not happened.memory_kept:
        return
    d.emit(DevicePoweredUp(device=name))
    cause_gone(d, f"{name}.fail")  # if it is still broken, it will report that again
    if device.state is DeviceState.OUT_OF_SERVICE:
        return
    if device.state is DeviceState.FAILED:
        d.emit(DeviceRecovered(device=name))
        restore_fault(d, name)  # it may be jammed as well
    if given and device.state is DeviceState.WORKING:
        cycle_failed(d, name, given, "lost its power")
    elif given or inside(d.state, name):
        warn(d, "restart", STOPS[name], device=name, text=f"the {name} lost its power")
        stopped(d, name, given, "lost its power", cards_inside=True)


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def _door(d: Decision, name: str, happened: wire.Door) -> None:
    """A door opened during a cycle, or with a shuffled deck inside, means that the cards can no longer be trusted."""
    state, device, door = d.state, d.state.devices[name], happened.state
    if door is wire.DoorState.CLOSED:
        cause_gone(d, f"{name}.door")
        if device.hindered:
            d.emit(DeviceFreed(device=name, door="closed"))
    elif door is wire.DoorState.OPEN:
        if device.doing or harmed(state, name):
            warn(d, "door", STOPS[name], device=name, text=f"the {name} was opened with cards inside")
            stopped(d, name, device.doing, "was opened", cards_inside=True)
        for deck in inside(state, name):
            cancel_recut(d, deck, STOPS[name], reason=f"the {name} was opened")


def _of_late(d: Decision, name: str, late: Given, happened: wire.AnyEvent) -> None:
    """A late event of a cycle that was given up while the link was down: record where its cards are now."""
    deck, round_ = d.state.decks.get(late.deck), d.state.round
    if isinstance(happened, wire.StackPresented) and happened.place is Place.EXIT and deck and inside(d.state, name):
        if late.target == "stub" and round_ and not round_.void:
            stub_at_exit(d, happened.cards, late=True)
        elif isinstance(late.command, Eject):
            ejected(d, name, late.deck, happened.cards, late=True)
        else:
            source = ledger.HELD if isinstance(late.command, Release) else ledger.IN_DEVICE[name][0]
            moves = ledger.partial_moves(deck.cards, source, max(happened.cards, 0), ledger.IN_DEVICE[name][-1])
            d.emit(CardsPresented(device=name, deck=late.deck, cards=happened.cards, moves=moves, late=True))
    elif isinstance(happened, wire.CycleDone) and d.state.devices[name].hindered:
        d.emit(DeviceFreed(device=name, ended=late.id))


def _of_command(d: Decision, name: str, happened: _OfCommand) -> None:
    """An event of the current cycle, or of one that was given up."""
    device = d.state.devices[name]
    given = device.doing
    if given and device.state is DeviceState.WORKING and happened.command == given.id:
        if isinstance(given.command, Shuffle):
            shuffle_started(d, given)  # its answer was lost when the controller restarted
        _OF_COMMAND[type(happened)](d, name, given, happened)
    elif device.late and happened.command == device.late.id:
        _of_late(d, name, device.late, happened)


def _counted(d: Decision, name: str, given: Given, happened: wire.CardsCounted) -> None:
    seen = bool(happened.kinds)
    fits = not seen or tuple(happened.kinds) == d.state.setup.game.copies
    place = happened.place.name.lower()
    d.emit(DeviceCounted(device=name, place=place, cards=happened.cards, fits=fits, recognised=seen))


def _face_up(d: Decision, name: str, given: Given, happened: wire.CardFaceUp) -> None:
    ruled = has_rule(d.state, Rule.FACE_UP)
    if name == "shoe" and ruled and d.may(CardFoundFaceUp) and isinstance(given.command, StackCommand | Release):
        found_face_up(d, device=name)
    else:
        d.emit(CardTurned(device=name))


def _shown(d: Decision, name: str, given: Given, happened: wire.CardsShown) -> None:
    """Which cards come out face up. If the shoe did not recognise all of them, the dealer enters them.

    What a device says about cards that are dealt face down is not stored.
    """
    names = d.state.setup.game.kinds
    face_up = isinstance(given.command, wire.DispenseFaceUp)
    if face_up and happened.kinds and all(0 <= kind < len(names) for kind in happened.kinds):
        d.emit(CardsSeen(device=name, command=given.id, kinds=[names[kind] for kind in happened.kinds]))


def _presented(d: Decision, name: str, given: Given, happened: wire.StackPresented) -> None:
    if isinstance(given.command, StackCommand | Release) and d.state.round:
        presented(d, given, happened.cards, happened.place is Place.HELD)
    else:
        _brought_out(d, name, given, happened.cards)


def _brought_out(d: Decision, name: str, given: Given, cards: int) -> None:
    """An Eject has brought cards to the exit: the stub, or a deck being gathered. None if the device was empty."""
    round_ = d.state.round
    if isinstance(given.command, Eject) and given.target == "stub" and round_ and not round_.void:
        stub_at_exit(d, cards)
        return
    deck = _deck_brought_out(d, name, given, cards)
    if deck in d.state.decks:
        ejected(d, name, deck, cards)
        if for_dealer(given) and cards == 0:  # nothing can be taken
            shuffle_again(d, deck, Rule.ONE_STACK, reason="no cards came out")


def _deck_brought_out(d: Decision, name: str, given: Given, cards: int) -> str:
    """The deck that came out: the one that was asked for, or one that was put in after the command was given."""
    found = d.state.decks.get(given.deck)
    if cards <= 0 or (found and ledger.count(found.cards, ledger.IN_DEVICE[name])):
        return given.deck
    for deck in inside(d.state, name):
        shuffle_again(d, deck, Rule.SHUFFLE, reason=f"it was put into the {name} while that was being emptied")
        return deck
    return given.deck


@enforces(Rule.DEAL_STACKS, Rule.ONE_STACK)
def _stack_taken(d: Decision, name: str, happened: wire.StackTaken) -> None:
    device, round_ = d.state.devices[name], d.state.round
    given = device.at_exit
    if given is None and round_ and not round_.void and _stub_left(d.state, name, round_):
        stub_taken(d, happened.cards)
    elif given is None or given.id != happened.command:
        _taken_unexpectedly(d, name, happened.cards)
    elif isinstance(given.command, StackCommand | Release) and round_ and not round_.void and d.may(StackTakenToHand):
        taken(d, given, happened.cards)
    elif isinstance(given.command, Eject) and given.target == "stub" and d.may(StubRemoved):
        stub_taken(d, happened.cards)
    elif for_dealer(given) and given.deck in d.state.decks:
        delivered(d, given, happened.cards)
    else:
        taken_out(d, name, given.deck, given, happened.cards)


def _stub_left(state: State, name: str, round_: Round) -> bool:
    """Whether the stub was at the exit of the shoe when that restarted."""
    return name == "shoe" and stub_may_leave(state, round_) and stub_place(state, round_) == ledger.EXIT


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def _taken_unexpectedly(d: Decision, name: str, cards: int) -> None:
    """Cards were taken that no cycle had presented: what is left inside is not a complete deck."""
    state = d.state
    decks = inside(state, name)
    if not decks:
        if state.devices[name].hindered:
            d.emit(ExitEmptied(device=name, cards=cards))
        return
    deck, what = decks[0], f"cards were taken from the {name}"
    if deck in harmed(state, name):
        warn(d, "cards", STOPS[name], device=name, text=what)
    if state.decks[deck].state is DeckState.IN_PLAY:
        void(d, STOPS[name], reason=f"cards that the {name} had not dealt were taken from it")
    shuffle_again(d, deck, STOPS[name], reason=what)
    taken_out(d, name, deck, None, cards)


def _cycle_done(d: Decision, name: str, given: Given, done: wire.CycleDone) -> None:
    if done.outcome is Outcome.COMPLETE:
        _cycle_completed(d, name, given, done)
    elif done.outcome is Outcome.JAMMED:
        jammed(d, name)
    elif done.outcome is Outcome.FAILED:
        failed(d, name, "has failed")
    else:
        cycle_failed(d, name, given, f"did not complete its {cycle_name(given.name)}")


def _cycle_completed(d: Decision, name: str, given: Given, done: wire.CycleDone) -> None:
    if isinstance(given.command, ClearJam):
        _jam_cleared(d, name)
    elif isinstance(given.command, SelfTest):
        d.emit(CycleCompleted(device=name, id=given.id, command=given.name))
        cause_gone(d, f"{name}.fail")
        restore_fault(d, name)
    elif isinstance(given.command, StackCommand | Release) and given.presented < 0:
        cycle_failed(d, name, given, "did not deal a stack")
    else:
        d.emit(CycleCompleted(device=name, id=given.id, command=given.name))
        if isinstance(given.command, Shuffle):
            shuffle_done(d, given, done)
        elif isinstance(given.command, Deliver):
            delivery_done(d, given, done.cards)


@enforces(Rule.INSPECT_DECK, Rule.SHUFFLE_NEW_DECK, Rule.LOAD_SHOE)
def _cards_present(d: Decision, name: str, happened: wire.CardsPresent) -> None:
    """Somebody has put cards in. If only one deck is within reach, it is that one; otherwise a person has to say.

    That only one deck is allowed there proves nothing: a dealer may still put in the wrong deck.
    """
    state = d.state
    place = place_inside(name, happened.place)
    if not happened.present:
        cards_gone(d, name, place)
        return
    loose = [deck for deck, found in state.decks.items() if ledger.within_reach(found.cards)]
    if happened.place is Place.INFEED and name == "shuffler":
        fit = [deck for deck in loose if d.may(DeckInserted, deck) and cannot_insert(d, deck) is None]
        if len(fit) == len(loose) == 1:
            inserted(d, fit[0])
        elif not fit and not inside(state, name):
            d.emit(CardsUnexpected(device=name, place="infeed", decks=[]), Rule.INSPECT_DECK)
    elif happened.place is Place.SHOE and name == "shoe" and not inside(state, name):
        deck = due_deck(state)
        by_dealer = deck and state.decks[deck].state in READY_TO_LOAD
        may_load = by_dealer and state.method is Method.AUTOMATED_SHOE and d.may(DeckLoaded, deck)
        may_load = may_load and cannot_load(state, deck, d.now_ms) is None
        if may_load and loose == [deck]:
            loaded(d, deck)
        elif not may_load and not being_fed(state) and state.table is not TableState.CLOSED:
            cards_appeared(d, name, place)
    elif place and state.table is not TableState.CLOSED:
        cards_appeared(d, name, place)


# The handler of each type of event. Types not listed are recorded, and nothing follows from them.
_OF_COMMAND: Final[dict[type, Callable[[Decision, str, Given, Any], None]]] = {
    wire.StackPresented: _presented,
    wire.CycleDone: _cycle_done,
    wire.CardsCounted: _counted,
    wire.CardFaceUp: _face_up,
    wire.CardsShown: _shown,
}
_EVENTS: Final[dict[type, Callable[[Decision, str, Any], None]]] = {
    **dict.fromkeys(_OF_COMMAND, _of_command),
    wire.StackTaken: _stack_taken,
    wire.CardsPresent: _cards_present,
    wire.Fault: _fault,
    wire.MalformedEvent: _malformed,
    wire.Door: _door,
    wire.PowerUp: _powered_up,
    wire.Jam: _jam,
}

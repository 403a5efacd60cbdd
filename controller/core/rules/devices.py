"""What devices report: that they are there or lost, what they answer, what they saw. Never a guess: what a device
cannot prove to have finished is 13.F for the shuffler and 13.G for the shoe.
"""

# mypyc
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller.core import ledger
from controller.core.clauses import enforces
from controller.core.decision import Decision
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.reports import CommandAnswered, DeviceAhead, DeviceEvent, DeviceLost, DeviceReady, HostStarted
from controller.core.rules.dealing import next_stack, presented, stub_at_exit, stub_taken, taken
from controller.core.rules.gathering import GATHERED_STATES, ejected, taken_out
from controller.core.rules.guards import cannot_load, in_service, inside
from controller.core.rules.irregular import found_face_up, void
from controller.core.rules.service import CLAUSE_OF, IN_A_ROUND, cause_gone, longest_cycle_ms, still_wrong, warn
from controller.core.rules.shuffling import (
    cannot_insert,
    delivered,
    delivery_done,
    inserted,
    loaded,
    shuffle_begun,
    shuffle_done,
)
from controller.core.setup import lacking
from controller.core.state import Given, due_deck
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Capability, Outcome, Place, Reason

# Names of their own for what is asked with every event: guards.py tells why.
_WORKING: Final = DeviceState.WORKING
_OUT_OF_SERVICE: Final = DeviceState.OUT_OF_SERVICE
_HELD: Final = Place.HELD
_COMPLETE: Final = Outcome.COMPLETE

_OfCommand = wire.StackPresented | wire.CycleDone | wire.CardsCounted | wire.CardFaceUp
_UNKNOWN_OUTCOME: Final = (Reason.OTHER_BOOT, Reason.FORGOTTEN, Reason.ID_REUSED)
_SIDE: Final = {"lock": Capability.LOCKS, "show": Capability.INDICATES}
# A deck that is brought together again, or waits for its shuffle, is not harmed by an opened door.
_NOT_HARMED: Final = (*GATHERED_STATES, DeckState.INFEED)
# A person can put these right, and nothing has moved: the command is given again afterwards.
_HINDRANCES: Final = {
    Reason.BUSY: "it is busy",
    Reason.LOCKED: "it is locked",
    Reason.DOOR_OPEN: "its door is open",
    Reason.EXIT_OCCUPIED: "cards lie at its exit, or in the shoe",
    Reason.EVENTS_FULL: "it has too much to report",
    Reason.OUTPUT_OCCUPIED: "cards lie on its shelves or in its output",
}


# --- there and lost -------------------------------------------------------------------------------------------------


@enforces("13.F", "13.G")
def ready(d: Decision, report: DeviceReady) -> None:
    """A device was greeted: new, back after a moment, or restarted without its memory."""
    name = report.device
    device = d.state.devices.get(name)
    if device is None:
        return
    if device.state is DeviceState.OUT_OF_SERVICE:
        restarted = device.boot != report.boot
        d.emit("device.seen", device=name, boot=report.boot, online=not _served_another(d, report))
        if restarted:
            cause_gone(d, f"{name}.fail")
        return
    restarted = device.boot not in (0, report.boot)
    doing = device.doing
    wrong = _strange(d, report)
    if wrong:
        if doing:
            d.emit("cycle.lost", device=name, id=doing.id, reason="another device answered")
            stopped(d, name, doing, "was exchanged", cards_inside=True)
        d.emit("device.refused", device=name, boot=report.boot, reason=wrong)
        return
    can = [word for word, able in _SIDE.items() if able in report.capabilities]
    d.emit("device.connected", device=name, boot=report.boot, restarted=restarted, can=can)
    cause_gone(d, f"{name}.lost")
    cause_gone(d, f"{name}.gap")
    if restarted:
        cause_gone(d, f"{name}.fail")
        if doing:
            d.emit("cycle.lost", CLAUSE_OF[name], device=name, id=doing.id, reason="the device has restarted")
        if doing or inside(d.state, name):
            warn(d, "restart", device=name, clause=(CLAUSE_OF[name],), text=f"the {name} has restarted")
            stopped(d, name, doing, "has restarted", cards_inside=True)
    elif doing:
        until_ms = max(doing.until_ms, d.now_ms + d.state.setup.limits.grace_ms)
        d.emit("device.resumed", device=name, id=doing.id, until_ms=until_ms)
        return
    still_wrong(d, name)


def _strange(d: Decision, report: DeviceReady) -> str:
    """Why this device cannot be used at this table; empty where it can."""
    lacks = lacking(d.state.setup, report.device, list(report.capabilities))
    return f"it lacks: {', '.join(lacks)}" if lacks else _served_another(d, report)


def _served_another(d: Decision, report: DeviceReady) -> str:
    """A device takes no id twice and none below its last. One that is ahead of the journal would do nothing for us."""
    if report.last_command <= d.state.seq:
        return ""
    return (
        f"it has carried out command {report.last_command} of another journal, and this one is at {d.state.seq}: "
        "switch it off and on, so that it forgets"
    )


@enforces("13.F", "13.G")
def ahead(d: Decision, report: DeviceAhead) -> None:
    """The journal lacks what a device has done, as after a disk that forgot. Nobody knows where its cards are now.

    It is not used before it is shown to be empty and a person accepts it, or before it was switched off and on and has
    forgotten too.
    """
    name = report.device
    device = d.state.devices.get(name)
    if device is None or device.told == report.told or not d.may("device.refused", device=name):
        return
    doing, clause = device.doing, CLAUSE_OF[name]
    lacks = f"event {report.told}" if report.told == device.last_event + 1 else (
        f"events {device.last_event + 1} to {report.told}"
    )  # fmt: skip
    if doing:
        d.emit("cycle.lost", clause, device=name, id=doing.id, reason="the journal lacks what became of it")
    reason = f"the journal lacks {lacks} of it"
    d.emit("device.refused", clause, device=name, boot=report.boot, reason=reason, told=report.told)
    warn(d, "gap", device=name, clause=(clause,), text=f"the journal lacks {lacks} of the {name}")
    stopped(d, name, doing, "has done what is not known", cards_inside=True, stuck=True)


def lost(d: Decision, report: DeviceLost) -> None:
    """The link is gone. It may come back within its grace time."""
    device = d.state.devices.get(report.device)
    if device is None:
        return
    if device.state is DeviceState.OUT_OF_SERVICE:
        if device.online:  # every try to reach it fails anew: that is told once
            d.emit("device.seen", device=report.device, boot=device.boot, online=False)
    elif d.may("device.lost", device=report.device):
        d.emit("device.lost", device=report.device, detail=report.detail)


def host_started(d: Decision, report: HostStarted) -> None:
    """The daemon has come up: every link it had is gone, and the grace times begin."""
    d.emit("host.started", boot_id=report.boot_id, up_ms=report.up_ms, away_ms=report.away_ms, software=report.software)
    for name in d.state.devices:
        lost(d, DeviceLost(name, "the controller was restarted"))


# --- when a device stops --------------------------------------------------------------------------------------------


@enforces("13.F", "13.G")
def stopped(d: Decision, name: str, given: Given | None, why: str, *, cards_inside: bool, stuck: bool = False) -> None:
    """A device did not do what it should. The shuffler's deck is shuffled again; a round from the shoe is void.

    `cards_inside`: what lies in the device is no longer what it was, also without a cycle. `stuck`: it jams, or stands
    still in a cycle, which is a jam that it could not tell: that voids a round also when only the stub is left in it.
    """
    state, clause = d.state, CLAUSE_OF[name]
    concerned = set(inside(state, name)) if cards_inside else set()
    if given:
        concerned.add(given.deck)
    if name == "shoe" and state.table in IN_A_ROUND and state.method is Method.AUTOMATED_SHOE:
        dealing = next_stack(d.round) is not None
        if dealing or (stuck and not d.round.stub_out):
            void(d, clause, reason=f"the shoe {why}")
    for deck in sorted(concerned & set(state.decks)):
        for kind in ("shuffle.failed", "deck.recalled"):
            if d.may(kind, deck) and state.decks[deck].state is not DeckState.VOIDED:
                d.emit(kind, clause, deck=deck, reason=f"the {name} {why}")
                break


def jammed(d: Decision, name: str) -> None:
    """Cards are stuck."""
    given = d.state.devices[name].doing
    if not d.may("device.jammed", device=name):
        return
    clause = CLAUSE_OF[name]
    d.emit("device.jammed", clause, device=name)
    warn(d, "jam", device=name, clause=(clause,), text=f"cards are stuck in the {name}")
    if given is None or given.name != "ClearJam":
        stopped(d, name, given, "jams", cards_inside=True, stuck=True)


def failed(d: Decision, name: str, why: str, *, begun: bool = True) -> None:
    """A part does not work, or a cycle does not end. `begun`: not where a command was refused for it."""
    given = d.state.devices[name].doing
    if not d.may("device.failed", device=name):
        return
    clause = CLAUSE_OF[name]
    d.emit("device.failed", clause, "13.H", device=name, reason=why)
    warn(d, "fail", device=name, clause=(clause, "13.H"), text=f"the {name} {why}")
    stopped(d, name, given, why, cards_inside=True, stuck=begun and given is not None)


def _cycle_failed(d: Decision, name: str, given: Given, why: str) -> None:
    d.emit("cycle.failed", CLAUSE_OF[name], device=name, id=given.id, command=given.name, reason=why)
    warn(d, "cycle", device=name, clause=(CLAUSE_OF[name],), text=f"the {name} {why}")
    stopped(d, name, given, why, cards_inside=given.name != "SelfTest")
    still_wrong(d, name)  # a jam that it was to look after is as it was


# --- answers --------------------------------------------------------------------------------------------------------


@enforces("13.F", "13.G")
def answered(d: Decision, report: CommandAnswered) -> None:
    """A command was taken on, refused, or its fate is unknown."""
    name = report.device
    device = d.state.devices.get(name)
    if device is None:
        return
    if any(given.id == report.id for given in device.beside):
        _beside_answered(d, report)
        return
    if device.doing is None or device.doing.id != report.id or device.doing.answered:
        return
    given, answer = device.doing, report.answer
    if isinstance(answer, wire.Done):
        d.emit("command.answered", device=name, id=given.id, answer="done")
        if given.name == "Shuffle":
            shuffle_begun(d, given)
        return
    reason = answer.reason if answer else Reason.OTHER_BOOT
    told = "unknown" if reason in _UNKNOWN_OUTCOME else "refused"
    d.emit("command.answered", device=name, id=given.id, answer=told, reason=reason.name.lower())
    if device.state is not DeviceState.WORKING:
        return
    if reason is Reason.JAMMED:
        jammed(d, name)
    elif reason is Reason.FAILED:
        failed(d, name, "has failed", begun=False)
    elif reason is Reason.NOT_JAMMED:
        _way_free(d, name)
    elif reason is Reason.BUSY and 0 <= device.busy_ms < d.now_ms - longest_cycle_ms(d.state, name):
        failed(d, name, "is busy and does not come to an end")
    elif reason in _HINDRANCES or (reason is Reason.NO_CARDS and given.name == "Shuffle"):
        d.emit("cycle.failed", device=name, id=given.id, command=given.name, reason=reason.name.lower())
        why = _HINDRANCES.get(reason, "no cards lie in its infeed")
        side = {"locked": reason is Reason.LOCKED, "busy": reason is Reason.BUSY}
        d.emit("device.hindered", device=name, reason=why, **side)
        still_wrong(d, name)
    elif reason is Reason.NO_CARDS and given.name == "Eject":
        d.emit("cycle.completed", device=name, id=given.id, command=given.name)
        _brought_out(d, name, given, 0)
    else:
        why = "does not know what became of a command" if told == "unknown" else f"refused: {reason.name.lower()}"
        _cycle_failed(d, name, given, why)


def _beside_answered(d: Decision, report: CommandAnswered) -> None:
    """A lock or a light. A device that cannot do it is not asked again; what is forbidden stays forbidden."""
    if isinstance(report.answer, wire.Done):
        d.emit("command.answered", device=report.device, id=report.id, answer="done")
    else:
        reason = report.answer.reason.name.lower() if report.answer else "unknown"
        d.emit("command.answered", device=report.device, id=report.id, answer="refused", reason=reason)


def _way_free(d: Decision, name: str) -> None:
    d.emit("device.cleared", CLAUSE_OF[name], device=name)
    cause_gone(d, f"{name}.jam")


# --- events ---------------------------------------------------------------------------------------------------------


def event(d: Decision, report: DeviceEvent) -> None:
    """Something that a device saw. Each counts once; one of an earlier life is of no use any more."""
    name, happened = report.device, report.event
    device = d.state.devices.get(name)
    if device is None or report.boot != device.boot or happened.number <= device.last_event:
        return
    d.of = {"device": name, "number": happened.number}
    take = _EVENTS.get(type(happened))
    if take is not None and device.state is not _OUT_OF_SERVICE:
        take(d, name, happened)
    if d.of:  # nothing followed: it is kept all the same
        d.emit("device.reported", device=name, event=type(happened).__name__)


def _fault(d: Decision, name: str, happened: wire.Fault) -> None:
    failed(d, name, f"reports a fault: {happened.code.name.lower()}")


def _jam(d: Decision, name: str, happened: wire.Jam) -> None:
    jammed(d, name)


def _powered_up(d: Decision, name: str, happened: wire.PowerUp) -> None:
    """Without its memory it has another boot, and is greeted as restarted."""
    device = d.state.devices[name]
    given = device.doing
    if not happened.memory_kept:
        return
    d.emit("device.powered_up", device=name)
    if given and device.state is _WORKING:
        _cycle_failed(d, name, given, "lost its power")
    elif given or inside(d.state, name):
        warn(d, "restart", device=name, clause=(CLAUSE_OF[name],), text=f"the {name} lost its power")
        stopped(d, name, given, "lost its power", cards_inside=True)


@enforces("13.F", "13.G")
def _door(d: Decision, name: str, happened: wire.Door) -> None:
    """Opened while the device works, or with a deck inside that is ready or in play: nobody knows what it has lost."""
    state, device, door = d.state, d.state.devices[name], happened.state
    if door is wire.DoorState.CLOSED:
        cause_gone(d, f"{name}.door")
        if device.hindered:
            d.emit("device.freed", device=name, door="closed")
    elif door is wire.DoorState.OPEN:
        ready = [deck for deck in inside(state, name) if state.decks[deck].state not in _NOT_HARMED]
        if device.doing or ready:
            warn(d, "door", device=name, clause=(CLAUSE_OF[name],), text=f"the {name} was opened with cards inside")
            stopped(d, name, device.doing, "was opened", cards_inside=True)


def _of_late(d: Decision, name: str, late: Given, happened: wire.AnyEvent) -> None:
    """The end of a cycle that was given up while the link was away: its cards are where they are."""
    deck, round_ = d.state.decks.get(late.deck), d.state.round
    if isinstance(happened, wire.StackPresented) and happened.place is Place.EXIT and deck and inside(d.state, name):
        if late.target == "stub" and round_ and not round_.void:
            stub_at_exit(d, late, happened.cards, late=True)
        elif late.name == "Eject":
            ejected(d, name, late, happened.cards, late=True)
        else:
            source = ledger.HELD if late.name == "Release" else ledger.IN_DEVICE[name][0]
            moves = ledger.part(deck.cards, source, max(happened.cards, 0), ledger.IN_DEVICE[name][-1])
            d.emit("cards.presented", device=name, deck=late.deck, cards=happened.cards, moves=moves, late=True)
    elif isinstance(happened, wire.CycleDone) and d.state.devices[name].hindered:
        d.emit("device.freed", device=name, ended=late.id)


def _of_command(d: Decision, name: str, happened: _OfCommand) -> None:
    """An event of the cycle that runs, or of one that was given up."""
    device = d.state.devices[name]
    given = device.doing
    if given and device.state is _WORKING and happened.command == given.id:
        if given.name == "Shuffle":
            shuffle_begun(d, given)  # its answer must have been lost with a restart of ours
        _OF_COMMAND[type(happened)](d, name, given, happened)
    elif device.late and happened.command == device.late.id:
        _of_late(d, name, device.late, happened)


def _counted(d: Decision, name: str, given: Given, happened: wire.CardsCounted) -> None:
    fits = not happened.kinds or tuple(happened.kinds) == d.state.setup.game.copies
    d.emit("cards.counted", device=name, place=happened.place.name.lower(), cards=happened.cards, fits=fits)


def _face_up(d: Decision, name: str, given: Given, happened: wire.CardFaceUp) -> None:
    if name == "shoe" and d.may("card.face_up") and given.name in ("Dispense", "Release"):
        found_face_up(d, device=name)
    else:
        d.emit("card.turned", device=name)


def _presented(d: Decision, name: str, given: Given, happened: wire.StackPresented) -> None:
    if given.name in ("Dispense", "Release") and d.state.round:
        presented(d, given, happened.cards, happened.place is _HELD)
    else:
        _brought_out(d, name, given, happened.cards)


def _brought_out(d: Decision, name: str, given: Given, cards: int) -> None:
    """What an Eject has brought to the exit: the stub, or cards that are gathered; none, if nothing was inside."""
    round_ = d.state.round
    if given.name == "Eject" and given.target == "stub" and round_ and not round_.void:
        stub_at_exit(d, given, cards)
    elif given.deck in d.state.decks:
        ejected(d, name, given, cards)


@enforces("10.B(1)(2)", "5.B")
def _stack_taken(d: Decision, name: str, happened: wire.StackTaken) -> None:
    device, round_ = d.state.devices[name], d.state.round
    given = device.at_exit
    if given is None or given.id != happened.command:
        _taken_unasked(d, name, happened.cards)
    elif given.name in ("Dispense", "Release") and round_ and not round_.void and d.may("stack.taken"):
        taken(d, given, happened.cards, happened.kinds)
    elif given.name == "Eject" and given.target == "stub" and d.may("stub.removed"):
        stub_taken(d, happened.cards)
    elif given.name == "Deliver" and given.deck in d.state.decks:
        delivered(d, given, happened.cards)
    else:
        taken_out(d, name, given, happened.cards)


@enforces("13.F", "13.G")
def _taken_unasked(d: Decision, name: str, cards: int) -> None:
    """Cards left a device that no finished cycle had brought out: what is inside is no longer a deck."""
    state = d.state
    decks = inside(state, name)
    if not decks:
        if state.devices[name].hindered:
            d.emit("exit.emptied", device=name, cards=cards)
        return
    deck = decks[0]
    if state.decks[deck].state is DeckState.IN_PLAY:
        void(d, CLAUSE_OF[name], reason=f"cards were taken from the {name} that it had not dealt")
    for kind in ("shuffle.failed", "deck.recalled"):
        if d.may(kind, deck):
            d.emit(kind, CLAUSE_OF[name], deck=deck, reason=f"cards were taken from the {name}")
            break
    taken_out(d, name, Given(0, "", 0, 0, deck=deck), cards)


def _cycle_done(d: Decision, name: str, given: Given, done: wire.CycleDone) -> None:
    if done.outcome is _COMPLETE:
        _cycle_completed(d, name, given, done)
    elif done.outcome is Outcome.JAMMED:
        jammed(d, name)
    elif done.outcome is Outcome.FAILED:
        failed(d, name, "has failed")
    else:
        _cycle_failed(d, name, given, f"did not complete its {given.name.lower()}")


def _cycle_completed(d: Decision, name: str, given: Given, done: wire.CycleDone) -> None:
    if given.name == "ClearJam":
        _way_free(d, name)
    elif given.name in ("Dispense", "Release") and given.presented < 0:
        _cycle_failed(d, name, given, "has dealt no stack")
    else:
        d.emit("cycle.completed", device=name, id=given.id, command=given.name)
        if given.name == "Shuffle":
            shuffle_done(d, given, done)
        elif given.name == "Deliver":
            delivery_done(d, given, done.cards)


@enforces("4.A", "4.D", "10.A")
def _cards_present(d: Decision, name: str, happened: wire.CardsPresent) -> None:
    """Somebody has put cards in. If only one deck lies in reach, it is that one; otherwise a person has to say.

    What may be there is no proof: a dealer who takes the wrong deck does so whether it is allowed or not.
    """
    state = d.state
    if not happened.present:
        return
    loose = [deck for deck, found in state.decks.items() if ledger.count(found.cards, (ledger.TABLE, ledger.RACK))]
    if happened.place is Place.INFEED and name == "shuffler":
        fit = [deck for deck in loose if d.may("deck.inserted", deck) and cannot_insert(d, deck) is None]
        if len(fit) == len(loose) == 1:
            inserted(d, fit[0])
        elif not inside(state, name):
            d.emit("cards.unexpected", "4.A", device=name, place="infeed", decks=fit)
    elif happened.place is Place.SHOE and name == "shoe" and not inside(state, name):
        deck = due_deck(state)
        by_dealer = deck and state.decks[deck].state in (DeckState.CUT, DeckState.DELIVERED, DeckState.MIXED)
        shuffler = state.devices.get("shuffler")
        fed = in_service(state, "shuffler") and shuffler and shuffler.doing and shuffler.doing.name == "Deliver"
        if by_dealer and loose == [deck] and d.may("deck.loaded", deck) and cannot_load(state, deck, d.now_ms) is None:
            loaded(d, deck)
        elif not fed and state.table is not TableState.CLOSED:
            d.emit("cards.unexpected", "10.A", device=name, place="shoe", decks=[])


# What becomes of an event, by its type. Those that are not here are kept, and nothing follows from them.
_OF_COMMAND: Final[dict[type, Callable[[Decision, str, Given, Any], None]]] = {
    wire.StackPresented: _presented,
    wire.CycleDone: _cycle_done,
    wire.CardsCounted: _counted,
    wire.CardFaceUp: _face_up,
}
_EVENTS: Final[dict[type, Callable[[Decision, str, Any], None]]] = {
    **dict.fromkeys(_OF_COMMAND, _of_command),
    wire.StackTaken: _stack_taken,
    wire.CardsPresent: _cards_present,
    wire.Fault: _fault,
    wire.Door: _door,
    wire.PowerUp: _powered_up,
    wire.Jam: _jam,
}

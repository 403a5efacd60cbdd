"""Warnings that latch, devices that leave and return, and other ways of dealing: 13.H. Also how commands are given."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.actions import (
    AcceptDevice,
    ChangeMethod,
    ClearWarning,
    EmptyDevice,
    FreeJam,
    OpenDevice,
    PutInService,
    TakeOutOfService,
    TestDevice,
    TryAgain,
)
from controller.core.clauses import enforces
from controller.core.decision import Decision, Refusal, takes
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.guards import in_service, inside
from controller.core.state import State
from controller.games.game import Method

IN_A_ROUND: Final = (
    TableState.DEALING,
    TableState.ACTING,
    TableState.REVEALING,
    TableState.CLEARING,
    TableState.STUB_COUNT,
)
CLAUSE_OF: Final = {"shuffler": "13.F", "shoe": "13.G"}
OUT_HOW: Final = ("covered", "removed", "marked")

# Each warning: who clears it, and whether its cause is gone as soon as it is told.
WARNINGS: Final[dict[str, tuple[str, bool]]] = {
    "jam": ("dealer", False),
    "fail": ("floor", False),
    "lost": ("dealer", False),
    "cycle": ("dealer", True),
    "restart": ("dealer", True),
    "count": ("floor", False),
    "door": ("floor", False),
    "gap": ("floor", False),
}
_RANK: Final = {"dealer": 0, "technician": 1, "floor": 2}

LIMIT: Final = {
    "Shuffle": "shuffle_ms",
    "Deliver": "deliver_ms",
    "Dispense": "dispense_ms",
    "Release": "release_ms",
    "Eject": "eject_ms",
    "ClearJam": "clear_jam_ms",
    "SelfTest": "self_test_ms",
}


_LONGEST: Final = {"shuffler": "Shuffle", "shoe": "SelfTest"}


def longest_cycle_ms(state: State, device: str) -> int:
    """How long a device can be busy with a cycle, at most."""
    return int(getattr(state.setup.limits, LIMIT[_LONGEST[device]]))


def give(
    d: Decision, device: str, name: str, *clause: str, deck: str = "", target: str = "", **args: int | bool
) -> None:
    """Give a device the command for a cycle, unlocked first. The number of this event is the command's id."""
    until_ms = d.now_ms + int(getattr(d.state.setup.limits, LIMIT[name]))
    found = d.state.devices[device]
    if found.locked:
        give_beside(d, device, "Unlock")
    command = {"name": name, **args}
    data = {"device": device, "command": command, "boot": found.boot, "deck": deck, "target": target}
    d.put("command.given", clause, {**data, "until_ms": until_ms})


def give_beside(d: Decision, device: str, name: str, *clause: str, **args: int | str) -> None:
    """Lock, Unlock or Indicate: taken on at any time, and no cycle, so the device's state stays as it is."""
    boot = d.state.devices[device].boot
    d.emit("command.given", *clause, device=device, command={"name": name, **args}, boot=boot, stays=True)


def warn(d: Decision, name: str, *, text: str, clause: tuple[str, ...], device: str = "", deck: str = "") -> None:
    """Raise a warning that stays."""
    needs, gone = WARNINGS[name]
    key = f"{device or deck}.{name}"
    d.emit(
        "warning.raised", *clause, warning=key, text=text, why=list(clause), needs=needs, by_device=device,
        of_deck=deck, gone=gone,
    )  # fmt: skip


def cause_gone(d: Decision, key: str) -> None:
    """The cause of a warning is gone; the warning stays until a person has cleared it."""
    warned = d.state.warnings.get(key)
    if warned and not warned.gone:
        d.emit("warning.cause_gone", warning=key)


def still_wrong(d: Decision, name: str) -> None:
    """A device is back, and what was wrong with it is still wrong."""
    for warning, kind in (("jam", "device.jammed"), ("fail", "device.failed")):
        warned = d.state.warnings.get(f"{name}.{warning}")
        if warned and not warned.gone and d.may(kind, device=name):
            d.emit(kind, device=name, reason=warned.text)


@takes(ClearWarning)
def clear_warning(d: Decision, act: ClearWarning) -> Refusal | None:
    """A person has seen to it."""
    warned = d.state.warnings.get(act.warning)
    if warned is None:
        return Refusal(f"there is no warning {act.warning}", "one stands")
    if not warned.gone:
        return Refusal(f"its cause is not gone: {warned.text}", "the cause is gone", tuple(warned.clause))
    if _RANK.get(act.role, -1) < _RANK[warned.needs]:
        return Refusal(f"a {warned.needs}person must clear it", "a floorperson clears it", tuple(warned.clause))
    d.emit("warning.cleared", *warned.clause, warning=act.warning, who=act.who, role=str(act.role))
    return None


# --- a person asks something of a device ----------------------------------------------------------------------------


@takes(FreeJam)
def free_jam(d: Decision, act: FreeJam) -> Refusal | None:
    """The device checks its way."""
    if d.state.devices[act.device].state is not DeviceState.JAMMED:
        return Refusal(f"the {act.device} is not jammed", "it is", (CLAUSE_OF[act.device],))
    give(d, act.device, "ClearJam", CLAUSE_OF[act.device])
    return None


@takes(OpenDevice)
def open_device(d: Decision, act: OpenDevice) -> Refusal | None:
    """It is unlocked, and stays so until its next cycle or warning."""
    if not d.state.devices[act.device].locked:
        return Refusal(f"the {act.device} is not locked", "it is")
    d.emit("device.opened", CLAUSE_OF[act.device], device=act.device, who=act.who)
    return None


@takes(TestDevice)
def test_device(d: Decision, act: TestDevice) -> Refusal | None:
    """Never with cards inside: what comes out of a test is no shuffled deck."""
    if d.state.devices[act.device].state is not DeviceState.READY:
        return Refusal(f"the {act.device} is not ready", "it is")
    if inside(d.state, act.device):
        return Refusal(f"cards are in the {act.device}", "it is empty", ("5.A",))
    give(d, act.device, "SelfTest")
    return None


@takes(EmptyDevice)
def empty(d: Decision, act: EmptyDevice) -> Refusal | None:
    """Take the deck inside back, or show that nothing is inside."""
    state = d.state
    found = state.devices[act.device]
    if found.state is not DeviceState.READY or found.at_exit:
        return Refusal(f"the {act.device} is not ready, or cards lie at its exit", "it is ready and its exit is empty")
    decks = inside(state, act.device)
    for name in decks:
        if state.decks[name].state is DeckState.IN_PLAY:
            return Refusal("a round is played from it", "the round is over")
        if d.may("deck.recalled", name):
            d.emit("deck.recalled", "5.A", deck=name, reason=f"{act.who} empties the {act.device}")
    looking = [name for name, deck in state.decks.items() if deck.cards.get(ledger.MISSING)]
    give(d, act.device, "Eject", deck=next(iter(decks or looking), ""))
    return None


@takes(TryAgain)
def try_again(d: Decision, act: TryAgain) -> Refusal | None:
    """What stood in the way is seen to."""
    if not d.state.devices[act.device].hindered:
        return Refusal(f"nothing hinders the {act.device}", "it has refused a command")
    d.emit("device.freed", device=act.device, who=act.who)
    return None


@enforces("13.F", "13.G")
@takes(AcceptDevice)
def accept(d: Decision, act: AcceptDevice) -> Refusal | None:
    """A device whose last doings nobody knows is taken on again, once it is empty: its cards are counted anew."""
    told = d.state.devices[act.device].told
    if not told:
        return Refusal(f"the journal lacks no event of the {act.device}", "it does")
    decks = inside(d.state, act.device)
    if decks:
        return Refusal(
            f"cards of deck {decks[0]} are not out of it",
            "every card is taken out and counted",
            (CLAUSE_OF[act.device],),
        )
    d.emit("device.accepted", CLAUSE_OF[act.device], device=act.device, told=told, who=act.who, role=str(act.role))
    cause_gone(d, f"{act.device}.gap")
    return None


# --- out of service, and another way --------------------------------------------------------------------------------


@enforces("13.H")
@takes(TakeOutOfService)
def take_out(d: Decision, act: TakeOutOfService) -> Refusal | None:
    """Covered, removed or marked. A device that leaves the table is empty first."""
    state = d.state
    if act.how not in OUT_HOW:
        return Refusal(f"{act.how!r} is none of: {', '.join(OUT_HOW)}", "it is covered, removed or marked", ("13.H",))
    if act.device == "shoe" and state.table in IN_A_ROUND and state.method is Method.AUTOMATED_SHOE:
        return Refusal("a round is played from it", "the round is over or void", ("13.H",))
    decks = inside(state, act.device)
    if act.how == "removed":
        lost = [name for name, deck in state.decks.items() if deck.cards.get(ledger.MISSING)]
        if decks or lost:
            return Refusal(
                f"cards of deck {(decks or lost)[0]} are not all out of it",
                "it is shown to be empty, or the missing cards are declared",
                ("13.H",),
            )
    given = state.devices[act.device].doing
    if given:
        d.emit("cycle.lost", CLAUSE_OF[act.device], device=act.device, id=given.id, reason="it is taken out of service")
    d.emit("device.out_of_service", "13.H", device=act.device, how=act.how, who=act.who)
    for name in decks:
        for kind in ("shuffle.failed", "deck.recalled"):
            if d.may(kind, name):
                d.emit(kind, CLAUSE_OF[act.device], deck=name, reason=f"the {act.device} is out of service")
                break
    left = list(state.decks.values())
    if act.device == "shuffler" and len(left) == 1 and state.due != left[0].back:
        d.emit("turn.passed", "3.B", back=left[0].back)
    return None


@enforces("13.H")
@takes(PutInService)
def put_in(d: Decision, act: PutInService) -> Refusal | None:
    """The device returns. Its warnings stand as they stood."""
    if act.device == "shoe" and d.state.round is not None:
        return Refusal("a round is on", "the round is over", ("13.H",))
    online, boot = d.state.devices[act.device].online, d.state.devices[act.device].boot
    d.emit("device.in_service", "13.H", device=act.device, who=act.who)
    if online:
        d.emit("device.connected", device=act.device, boot=boot, restarted=False)
        cause_gone(d, f"{act.device}.lost")
        still_wrong(d, act.device)
    return None


@enforces("13.H", "9.A(1)")
@takes(ChangeMethod)
def change_method(d: Decision, act: ChangeMethod) -> Refusal | None:
    """Another way of dealing, once the floorperson has recorded that the broken device is out of the way."""
    state = d.state
    if act.method is state.method:
        return Refusal("this is the method already", "another one is chosen")
    if act.method not in state.setup.game.programme:
        return Refusal(f"{state.setup.game.name} is not dealt that way", "another one is chosen")
    if act.method is Method.AUTOMATED_SHOE and not in_service(state, "shoe"):
        return Refusal("the automated shoe is not in service", "it is in service", ("13.H",))
    if state.method is Method.AUTOMATED_SHOE and in_service(state, "shoe"):
        return Refusal(
            "the automated shoe is neither covered nor removed nor marked out of order",
            "a floorperson has recorded that",
            ("13.H",),
        )
    if act.method is Method.HAND and not in_service(state, "shuffler"):
        return Refusal("dealing by hand needs a shuffler in service", "the shuffler is in service", ("9.A(1)",))
    for name, deck in state.decks.items():
        if deck.state is DeckState.LOADED:
            return Refusal(f"deck {name} is loaded", "it is taken out", ("13.H",))
    d.emit("method.changed", "13.H", method=str(act.method), was=str(state.method), who=act.who)
    return None

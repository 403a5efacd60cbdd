"""Scenarios: a set-up, steps of people, faults and time, and the expected events, in TOML (docs/scenarios.md).

A scenario runs in virtual time through the real core, journal, sessions, links and frames, against physical cards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from controller.core.actions import Configure, Role
from controller.core.events.event import Entry
from controller.core.machines import TableState
from controller.core.setup import Setup, devices_of, setup_fault
from controller.core.step import ACTIONS
from controller.daemon.config import parse_toml
from controller.games.dragon_poker import CLAUSES
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.faults import FaultName
from simulators.table.hands import SOURCE
from simulators.table.house import House, deck_names
from simulators.table.people import WHO, NoMoreDecks, People

DECK_SETS = 4  # decks of each colour in the cupboard
MACHINE = "machine"  # what refuses where no clause applies: the action is not possible now


class ScenarioError(Exception):
    """The file is not a valid scenario; the text says where."""


class ScenarioStep(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One step: exactly one of the first ten keys says what happens, the others belong to it."""

    routine: str = ""  # open, round, work: people follow the guide until bets can be made
    do: str = ""  # an action of a person
    take: str = ""  # a hand takes what lies at the exit of this device
    load: str = ""  # a hand puts a deck into this device
    fault: FaultName | None = None
    mend: FaultName | None = None
    door: Literal["", "open", "closed"] = ""  # a hand opens or closes the device's door
    wait_s: float | None = None
    until: str = ""  # time passes until an event of this kind is seen
    host_dies: bool = False  # the computer under the table restarts

    device: str = ""
    deck: str = ""
    back: str = ""
    seat: int = 0
    seats: tuple[int, ...] | None = None
    after_cards: int = 0
    for_s: float | None = None
    within_s: float = 600.0
    to: str = ""  # the routine ends as soon as an event of this kind is seen
    role: Role | None = None
    who: str = ""
    stuck: bool = False  # people cannot go on with the routine, or the door does not move
    refused: str = ""  # the action must be refused: by this clause, or by the machine alone
    fields: dict[str, Any] = {}  # further fields of the action


class ExpectedEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event that must be seen; `times` 0 is one that must not."""

    event: str
    clause: str = ""
    times: int | None = None  # None: at least once
    data: dict[str, Any] = {}


class ScenarioEnd(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What must hold at the end."""

    table: str = ""
    warnings: tuple[str, ...] | None = None


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    """A whole scenario."""

    title: str
    step: list[ScenarioStep]
    clauses: tuple[str, ...] = ()
    table: Setup = Setup()
    no_shuffler: bool = False  # TOML has no null
    seed: int = 1
    see: list[ExpectedEvent] = []
    end: ScenarioEnd = ScenarioEnd()


def read_scenario(text: str) -> Scenario:
    """Read and check a scenario."""
    try:
        scenario = msgspec.convert(parse_toml(text), Scenario)
    except ValueError as error:  # invalid TOML, or other fields
        raise ScenarioError(str(error)) from None
    if scenario.no_shuffler:
        scenario.table = msgspec.structs.replace(scenario.table, shuffler=None)
    for number, step in enumerate(scenario.step, 1):
        _check(number, step)
        _check_names(number, step, scenario.table)
    return scenario


def _check_names(number: int, step: ScenarioStep, setup: Setup) -> None:
    """Check that the devices and decks of a step are at this table."""
    fault = setup_fault(setup)
    if step.routine and fault:
        raise ScenarioError(f"table: it cannot be opened ({', '.join(fault.rules)}): {fault.reason}")
    devices, decks = devices_of(setup), deck_names(setup, DECK_SETS)
    by_hand = [name for name in (step.take, step.load) if name]
    for name in [*by_hand, *([step.device] if step.fault or step.mend or step.door else [])]:
        if name not in devices:
            known = ", ".join(devices) or "none"
            raise ScenarioError(f"step {number}: no device {name!r} at this table; expected one of: {known}")
    if step.load and step.deck not in decks:
        raise ScenarioError(f"step {number}: no deck {step.deck!r}; expected one of {', '.join(decks)}")
    if step.wait_s is not None and step.wait_s < 0:
        raise ScenarioError(f"step {number}: wait_s is negative: {step.wait_s:g}")
    if step.do == "configure" and "setup" in step.fields and not step.refused:
        try:
            same = msgspec.convert(step.fields["setup"], Setup) == setup
        except msgspec.ValidationError as error:
            raise ScenarioError(f"step {number}: {error}") from None
        if not same:
            raise ScenarioError(f"step {number}: a different set-up than the scenario's; write it under `table`")


def _check(number: int, step: ScenarioStep) -> None:
    verbs = [name for name in _VERBS if getattr(step, name) not in ("", None, False)]
    if len(verbs) != 1:
        found = " and ".join(verbs) or "none"
        raise ScenarioError(f"step {number}: needs exactly one of {', '.join(_VERBS)}; it has {found}")
    if step.do and step.do not in ACTIONS:
        raise ScenarioError(f"step {number}: unknown action {step.do!r}; expected one of {', '.join(sorted(ACTIONS))}")
    if step.refused and step.refused not in (*CLAUSES, MACHINE):
        raise ScenarioError(f"step {number}: refused by {step.refused!r}, which is neither a clause nor {MACHINE!r}")
    if step.routine and step.routine not in ("open", "round", "work"):
        raise ScenarioError(f"step {number}: unknown routine {step.routine!r}; expected open, round or work")


class ScenarioResult(msgspec.Struct):
    """The result of a scenario. `problems` is empty if it passed."""

    title: str
    problems: list[str]
    events: list[Entry]
    virtual_s: float


def play(
    scenario: Scenario, on_step: Callable[[int, ScenarioStep], None] = lambda number, step: None
) -> ScenarioResult:
    """Run a scenario to its end, or to the first step that cannot be done."""
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder) / "journal.db", scenario.table, seed=scenario.seed, sets=DECK_SETS)
        try:
            problems = _run(scenario, house, on_step)
            house.cards.check()
            house.journal.verify()
            return ScenarioResult(scenario.title, problems, list(house.events), round(house.now, 3))
        finally:
            house.close()


def _run(scenario: Scenario, house: House, on_step: Callable[[int, ScenarioStep], None]) -> list[str]:
    people = People(house)
    for number, step in enumerate(scenario.step, 1):
        on_step(number, step)
        verb = _VERBS[next(name for name in _VERBS if getattr(step, name) not in ("", None, False))]
        try:
            problem = verb(people, step)
        except NoMoreDecks as empty:
            problem = str(empty)
        if problem:
            return [f"step {number}: {problem}; the table says: {house.live.table.next_step(house.now).text}"]
    return [*_unseen(scenario.see, house.events), *_at_the_end(scenario.end, house), *_untrue(house)]


# --- the steps ------------------------------------------------------------------------------------------------------


def _routine(people: People, step: ScenarioStep) -> str:
    house, start = people.house, len(people.house.events)

    def seen() -> bool:
        return any(event.kind == step.to for event in house.events[start:])

    people.enough = seen if step.to else None
    if step.routine == "open":
        done = people.open()
    elif step.routine == "round":
        done = people.play(step.seats or (1, 3, 6))
    else:
        done = people.work(limit_s=step.within_s)
    people.enough = None
    if step.to and not seen():
        return f"no {step.to} was seen in `{step.routine}`"
    if step.stuck:
        return "" if not done else f"people finished `{step.routine}`, and should have been stuck"
    return "" if done else f"people could not finish `{step.routine}`"


def _do(people: People, step: ScenarioStep) -> str:
    kind = ACTIONS[step.do]
    role = step.role or kind.roles[0]
    given = {name: getattr(step, name) for name in ("deck", "back", "device", "seats") if getattr(step, name)}
    known = {field.name for field in msgspec.structs.fields(kind)}
    fields = {name: value for name, value in given.items() if name in known} | step.fields
    if kind is Configure:
        fields.setdefault("setup", msgspec.to_builtins(people.house.setup, str_keys=True))
    try:
        data = {"who": step.who or WHO[role], "role": role, "action": step.do, **fields}
        action = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        return f"{step.do} is invalid: {error}"
    people.pause()
    made = people.house.report(action)  # type: ignore[arg-type]
    people.house.look()
    refusals = [event for event in made if event.kind in ("action.refused", "cut.refused")]
    if step.refused and not refusals:
        return f"{step.do} was accepted, and should have been refused"
    if refusals and not step.refused:
        return f"{step.do} was refused: {refusals[0].data['reason']}"
    if refusals and step.refused not in (refusals[0].clause or (MACHINE,)):
        by = ", ".join(refusals[0].clause) or f"the {MACHINE} alone"
        return f"{step.do} was refused by {by}, and should have been by {step.refused}"
    return ""


def _take(people: People, step: ScenarioStep) -> str:
    people.pause()
    spot = Spot(CardPlace.HAND, step.seat) if step.seat else Spot(CardPlace.RACK)
    taken = people.house.wired[step.take].device.take(spot, people.house.now)
    people.pause()
    return "" if taken else f"nothing lay at the exit of the {step.take}"


def _load(people: People, step: ScenarioStep) -> str:
    people.pause()
    source = Spot(CardPlace.TABLE, people.house.decks.index(step.deck))
    people.house.wired[step.load].device.load(source, people.house.now)
    people.pause()
    return ""


def _fault(people: People, step: ScenarioStep) -> str:
    assert step.fault
    device = people.house.wired[step.device].device
    device.inject(step.fault, people.house.now, after_cards=step.after_cards, for_s=step.for_s)
    people.house.look()
    return ""


def _mend(people: People, step: ScenarioStep) -> str:
    assert step.mend
    people.house.wired[step.device].device.mend(step.mend, people.house.now)
    people.house.look()
    return ""


def _door(people: People, step: ScenarioStep) -> str:
    people.pause()
    moved = people.house.wired[step.device].device.door(step.door == "open", people.house.now)
    people.pause()
    if moved is step.stuck:
        return f"the door of the {step.device} {'moved, and should have been' if moved else 'is'} locked"
    return ""


def _wait(people: People, step: ScenarioStep) -> str:
    people.house.run(lambda: False, step.wait_s or 0.0)
    return ""


def _until(people: People, step: ScenarioStep) -> str:
    start = len(people.house.events)
    house = people.house
    seen = house.run(lambda: any(event.kind == step.until for event in house.events[start:]), step.within_s)
    return "" if seen else f"no {step.until} within {step.within_s:g} s"


def _host_dies(people: People, step: ScenarioStep) -> str:
    people.house.restart_host()
    return ""


_VERBS: dict[str, Callable[[People, ScenarioStep], str]] = {
    "routine": _routine,
    "do": _do,
    "take": _take,
    "load": _load,
    "fault": _fault,
    "mend": _mend,
    "door": _door,
    "wait_s": _wait,
    "until": _until,
    "host_dies": _host_dies,
}


# --- what must be seen ----------------------------------------------------------------------------------------------


def _unseen(wanted: list[ExpectedEvent], events: list[Entry]) -> list[str]:
    problems = []
    for one in wanted:
        found = [
            event
            for event in events
            if event.kind == one.event
            and (not one.clause or one.clause in event.clause)
            and all(event.data.get(name) == value for name, value in one.data.items())
        ]
        if (one.times is None and not found) or (one.times is not None and len(found) != one.times):
            number = "at least once" if one.times is None else f"{one.times} times"
            by = f" by {one.clause}" if one.clause else ""
            problems.append(f"{one.event}{by} should be seen {number}, and was seen {len(found)} times")
    return problems


def _at_the_end(end: ScenarioEnd, house: House) -> list[str]:
    problems = []
    if end.table and house.state.table != end.table:
        problems.append(f"at the end the table should be {end.table}, and is {house.state.table}")
    if end.warnings is not None and set(end.warnings) != set(house.state.warnings):
        standing = ", ".join(house.state.warnings) or "none"
        problems.append(f"at the end the warnings should be {', '.join(end.warnings) or 'none'}, and are {standing}")
    return problems


def _untrue(house: House) -> list[str]:
    """Between rounds, the ledger of each deck must match the physical cards."""
    if house.state.table is not TableState.BETTING:
        return []
    problems = []
    for name, deck in house.state.decks.items():
        for what, (places, spots) in _TOGETHER.items():
            lying = [*spots, *(spot for place in places for spot in house.cards.spots(CardPlace[place.upper()]))]
            true = sum(card.deck == name for spot in lying for card in house.cards.pile(spot))
            believed = sum(deck.cards.get(place, 0) for place in (*places, *_ALSO.get(what, ())))
            if true != believed:
                problems.append(f"{true} cards of deck {name} are in the {what}, and the table believes {believed}")
    return problems


# A shuffle is on its way through its places. A shuffler that feeds puts the deck into whatever shoe stands there.
_TOGETHER: dict[str, tuple[tuple[str, ...], tuple[Spot, ...]]] = {
    "shuffler": (("infeed", "shelves", "output"), ()),
    "shoe": (("shoe", "held"), tuple(SOURCE.values())),
    "rack": (("rack",), ()),
}
_ALSO = {"shoe": ("manual_shoe", "hand")}

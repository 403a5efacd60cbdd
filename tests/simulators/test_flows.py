"""Simulated people follow a flow to its end: from every state, after every fault, and from wherever chance leads."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from controller.core import actions as act
from controller.core.flows import Goal, flow_to
from controller.core.machines import DeviceState, TableState
from controller.core.rules.guards import decks_wanted, in_service, inside
from controller.core.setup import Setup
from controller.games.game import Method
from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.people import People, taken

SEATS = (1, 3, 6)
SETUPS = {
    "fed shoe": {},
    "counting": {"shuffler": {"counts": True, "feeds_shoe": False}},
    "manual shoe": {"method": "manual_shoe", "shuffler": {"counts": True, "feeds_shoe": False}},
    "hand": {"method": "hand", "shuffler": {"counts": True, "feeds_shoe": False}},
    "no shuffler": {"backs": ["red"], "shuffler": None},
}
GOALS = [
    (Goal.CLOSE, ""),
    (Goal.CHANGE_DECK, "red-1"),
    (Goal.CHANGE_DECK, "blue-1"),
    (Goal.OUT_OF_SERVICE, "shuffler"),
    (Goal.OUT_OF_SERVICE, "shoe"),
]


def house_of(setup: str = "fed shoe", seed: int = 0) -> tuple[House, People]:
    house = House(None, msgspec.convert(SETUPS[setup], Setup), seed=seed)
    return house, People(house)


def reached(house: House, goal: Goal, about: str) -> bool:
    """Whether a goal is reached, checked without the flow."""
    state = house.state
    if goal is Goal.CLOSE:
        return state.table is TableState.CLOSED and not state.decks
    if goal is Goal.CHANGE_DECK:
        return about in state.retired and len(state.decks) >= decks_wanted(state)
    playable = state.method is not (Method.AUTOMATED_SHOE if about == "shoe" else Method.HAND)
    enough = playable and len(state.decks) <= decks_wanted(state)
    out = not in_service(state, about) and not inside(state, about)
    return out and (enough or state.table is TableState.CLOSED)


def follow(house: House, people: People, goal: Goal, about: str) -> None:
    assert people.reach(goal, about), story(house, goal, about)
    assert reached(house, goal, about), story(house, goal, about)
    house.cards.check()


def story(house: House, goal: Goal, about: str) -> str:
    """What was asked for in the end, and the last events."""
    flow = flow_to(house.state, goal, about, house.now_ms)
    assert flow is not None
    return "\n".join([f"{flow.title}: {flow.tasks} {flow.step}", *(str(entry) for entry in house.events[-12:])])


# --- from every state -------------------------------------------------------------------------------------------------


def until(house: House, people: People, state: TableState) -> None:
    """Follow the guide until the table is in this state."""
    people.enough = lambda: house.state.table is state
    people.work(TableState.CLOSED if state is not TableState.CLOSED else TableState.BETTING)
    people.enough = None
    assert house.state.table is state


def opening(house: House, people: People) -> None:
    for _ in range(7):
        people.chore()


def betting(house: House, people: People) -> None:
    assert people.open()


def in_round(state: TableState) -> Callable[[House, People], None]:
    def prepare(house: House, people: People) -> None:
        assert people.open()
        assert taken(people.perform(act.CloseBets, seats=SEATS))
        until(house, people, state)

    return prepare


def wagered(house: House, people: People) -> None:
    assert people.open()
    assert taken(people.perform(act.Wager, seats=SEATS))


def waiting(house: House, people: People) -> None:
    assert people.open()
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    until(house, people, TableState.CLEARING)
    until(house, people, TableState.WAITING)


def void(house: House, people: People) -> None:
    in_round(TableState.ACTING)(house, people)
    assert taken(people.perform(act.ReportWrongNumber, target="seat1", cards=4))
    people.chore()


def idle(house: House, people: People) -> None:
    assert people.open()
    assert taken(people.perform(act.IdleTable))


def rejected(house: House, people: People) -> None:
    assert people.open()
    assert taken(people.perform(act.RejectDeck, deck="red-1"))


STATES: dict[str, Callable[[House, People], None]] = {
    "opening": opening,
    "betting": betting,
    "wagered": wagered,
    "dealing": in_round(TableState.DEALING),
    "acting": in_round(TableState.ACTING),
    "revealing": in_round(TableState.REVEALING),
    "clearing": in_round(TableState.CLEARING),
    "waiting": waiting,
    "void": void,
    "idle": idle,
    "rejected": rejected,
}


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("state", STATES)
def test_people_reach_every_goal_from_every_state(state: str, setup: str) -> None:
    for goal, about in GOALS:
        house, people = house_of(setup)
        STATES[state](house, people)
        if about in (*house.state.decks, *house.state.devices, ""):
            follow(house, people, goal, about)


# --- after faults -----------------------------------------------------------------------------------------------------

FAULTS = [FaultName.JAM, FaultName.STALL, FaultName.DEAD, FaultName.UNPLUG, FaultName.MISSING_CARD, FaultName.REBOOT]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("device", ["shuffler", "shoe"])
@pytest.mark.parametrize("state", ["betting", "dealing", "waiting"])
def test_people_reach_every_goal_after_a_fault(state: str, device: str, fault: FaultName) -> None:
    for goal, about in GOALS:
        house, people = house_of()
        STATES[state](house, people)
        house.wired[device].device.inject(fault, house.now)
        house.look()
        house.rest(3.0)
        follow(house, people, goal, about)


def test_a_device_that_was_dead_from_the_beginning_has_a_way_out() -> None:
    """It never connected, so there is no warning; the guide offers to take it out of service anyway."""
    house, people = house_of()
    house.wired["shuffler"].device.inject(FaultName.DEAD, 0.0)
    for _ in range(3):
        people.chore()
    assert house.state.devices["shuffler"].state is DeviceState.UNKNOWN
    assert {"action": "take_out_of_service", "device": "shuffler"} in people.step().do
    follow(house, people, Goal.OUT_OF_SERVICE, "shuffler")
    assert people.work()


# --- from wherever chance leads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_people_reach_a_goal_from_wherever_chance_leads(seed: int) -> None:
    rng = random.Random(f"{seed}/flows")
    house, people = house_of(rng.choice(list(SETUPS)), seed)
    for _ in range(rng.randrange(120)):
        if house.state.table is TableState.BETTING and house.state.round is None:
            people.perform(act.CloseBets, seats=SEATS)
        elif not people.chore():
            house.watch(rng.choice([0.1, 1.0, 10.0]))
        if house.wired and rng.random() < 0.03:
            faulty = house.wired[rng.choice(list(house.wired))].device
            faulty.inject(rng.choice(FAULTS), house.now, for_s=rng.choice([2.0, 60.0]))
            house.look()
    goal, about = rng.choice(GOALS)
    if about in (*house.state.decks, *house.state.retired, *house.state.devices, ""):
        follow(house, people, goal, about)

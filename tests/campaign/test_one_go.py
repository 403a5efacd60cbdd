"""A cycle made in one go is the same as one made card by card: journal, times, piles, counters and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.core.actions import CloseBets
from controller.core.setup import Setup, ShufflerKind
from firmware_bridge.wire.messages import AskCounters, AskStatus
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.faults import OF_THE_MECHANICS, FaultName, FaultPlan, Planned
from simulators.devices.shuffling import Uniform
from simulators.table.house import House, Wired
from simulators.table.people import People

SEATS = (1, 3, 6)
SHOE, EXIT, INFEED, RACK = Spot(CardPlace.SHOE), Spot(CardPlace.EXIT), Spot(CardPlace.INFEED), Spot(CardPlace.RACK)
Story = Callable[[House, People], object]  # what it returns was seen along the way


def rounds(house: House, people: People) -> None:
    for _ in range(3):
        people.play(SEATS)


def outcome(folder: Path, story: Story, *, card_by_card: bool, **more: Any) -> dict[str, Any]:
    """Everything that can be seen of a story: it must be the same both ways."""
    house = House(folder / f"journal-{card_by_card}.db", card_by_card=card_by_card, **more)
    try:
        people = People(house)
        people.open()
        asked = story(house, people)
        house.cards.check()
        devices = (house.sim.shuffler, house.sim.shoe)
        for device in devices:
            device.mechanics.wake()
        return {
            "journal": [(event.ts, event.kind, event.data) for event in house.journal.events()],
            "now": house.now,
            "cards": house.cards.snapshot(),
            "random": [device.mechanics.rng.getstate() for device in devices],
            "counters": [
                (m.cards_moved, m.stacks, m.cycles_done, m.jams, m.faults, m.mode, m.armed)
                for m in (device.mechanics for device in devices)
            ],
            "asked": asked,
        }
    finally:
        house.close()


def same_both_ways(folder: Path, story: Story, **more: Any) -> dict[str, Any]:
    one_go = outcome(folder, story, card_by_card=False, **more)
    by_card = outcome(folder, story, card_by_card=True, **more)
    for what, value in by_card.items():
        assert one_go[what] == value, what
    return by_card


@pytest.mark.parametrize("seed", range(5))
def test_whole_rounds(tmp_path: Path, seed: int) -> None:
    seen = same_both_ways(tmp_path, rounds, seed=seed)
    assert [kind for _, kind, _ in seen["journal"]].count("round.completed") == 3


@pytest.mark.parametrize(
    "setup",
    [
        Setup(hold_dealer=True),
        Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True)),
        Setup(shuffler=ShufflerKind(counts=False, feeds_shoe=False)),
    ],
    ids=["held", "recognises", "counts nothing"],
)
def test_other_set_ups(tmp_path: Path, setup: Setup) -> None:
    same_both_ways(tmp_path, rounds, setup=setup, way=Uniform())


@pytest.mark.parametrize("seed", range(8))
def test_faults_by_chance(tmp_path: Path, seed: int) -> None:
    """Faults of every kind, with the cycle they come with or at a time in the middle of one."""

    def plan(name: str) -> FaultPlan:
        chances = dict.fromkeys(sorted(set(FaultName) - {FaultName.DEAD}), 0.02)
        script = [
            Planned(fault, at_s=60.0 + 13.7 * number + seed, for_s=2.0)
            for number, fault in enumerate(sorted(OF_THE_MECHANICS))
        ]
        return FaultPlan(script, chances, f"{seed}/{name}")

    # A plan is used up as it is played: each way gets its own.
    ways = []
    for card_by_card in (False, True):
        plans = {"shuffler_plan": plan("shuffler"), "shoe_plan": plan("shoe")}
        ways.append(outcome(tmp_path, rounds, card_by_card=card_by_card, seed=seed, **plans))
    for what, value in ways[1].items():
        assert ways[0][what] == value, what


def _dealing(house: House, people: People, for_s: float) -> None:
    people.perform(CloseBets, seats=SEATS)
    house.rest(for_s)


def looks(house: House, people: People) -> object:
    _dealing(house, people, 0.25)
    first = (house.cards.count(EXIT), house.cards.count(INFEED), len(house.cards.spots(CardPlace.SHELVES)))
    house.rest(0.4)
    second = (house.cards.count(SHOE), house.cards.count(EXIT), sum(house.cards.kinds(INFEED)))
    people.work()
    return first, second


def asks(house: House, people: People) -> object:
    answers: list[str] = []

    def listen(wired: Wired) -> None:
        inner = wired.happened

        def happened(happening: object, now: float) -> None:
            if hasattr(happening, "ref"):
                answers.append(repr(happening))
            inner(happening, now)

        wired.happened = happened

    _dealing(house, people, 0.4)
    for number, wired in enumerate(house.wired.values()):
        listen(wired)
        wired.session.ask(AskCounters(2 * number), house.now)  # first: a status looks at the cards
        wired.session.ask(AskStatus(2 * number + 1), house.now)
        wired.stirred = True
    house.rest(0.1)
    assert len(answers) == 4
    people.work()
    return answers


def opens_the_doors(house: House, people: People) -> None:
    _dealing(house, people, 0.35)
    for wired in house.wired.values():
        wired.device.door(True, house.now)
    house.rest(3.0)
    for wired in house.wired.values():
        wired.device.door(False, house.now)
    people.work(limit_s=300)


def takes_too_soon(house: House, people: People) -> None:
    _dealing(house, people, 0.35)
    house.wired["shoe"].device.take(Spot(CardPlace.HAND, 1), house.now)
    people.work(limit_s=300)


def turns_a_card(house: House, people: People) -> None:
    _dealing(house, people, 0.2)
    house.cards.flip(house.cards.pile(SHOE)[0])
    people.work(limit_s=300)


def lays_more_in(house: House, people: People) -> None:
    house.rest(5.0)
    house.cards.move_top(1, Spot(CardPlace.FLOOR), Spot(CardPlace.TABLE, 5))
    house.wired["shuffler"].device.load(Spot(CardPlace.TABLE, 5), house.now)
    people.play(SEATS)


@pytest.mark.parametrize(
    "story",
    [looks, asks, opens_the_doors, takes_too_soon, turns_a_card, lays_more_in],
    ids=lambda story: story.__name__,
)
def test_a_hand_in_the_middle_of_a_cycle(tmp_path: Path, story: Story) -> None:
    same_both_ways(tmp_path, story)


@pytest.mark.parametrize("device", ["shuffler", "shoe"])
@pytest.mark.parametrize("fault", sorted(set(FaultName) - {FaultName.DEAD}))
def test_a_fault_in_the_middle_of_a_cycle(tmp_path: Path, fault: FaultName, device: str) -> None:
    def story(house: House, people: People) -> None:
        _dealing(house, people, 0.35)
        house.wired[device].device.inject(fault, house.now, after_cards=1, for_s=1.5)
        house.look()
        people.work(limit_s=300)

    seen = same_both_ways(tmp_path, story)
    assert seen["journal"]


def test_a_cycle_that_nobody_looks_at_is_one_step(tmp_path: Path) -> None:
    """Else none of the above says anything."""
    house = House(tmp_path / "journal.db")
    People(house).open()
    try:
        mechanics = house.sim.shuffler.mechanics
        before = mechanics.cards_moved
        assert mechanics.doing is not None
        assert mechanics.deadline > house.now + 10
        while mechanics.doing:
            assert mechanics.cards_moved == before
            house.step()
        assert mechanics.cards_moved == before + 3 * 53
    finally:
        house.close()

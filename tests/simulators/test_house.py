"""Whole rounds through everything: people, core, journal, sessions, links, frames, firmware and physical cards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.core.actions import CloseBets, Role
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import encode
from controller.daemon.live_table import restore
from controller.games.game import Method
from firmware_bridge.wire.messages import Mode
from simulators.devices.cards import Card, CardPlace, Spot
from simulators.devices.faults import FaultName, FaultPlan
from simulators.pipes.wires import WireQuality
from simulators.table.hands import hand
from simulators.table.house import House
from simulators.table.people import People

SEATS = (1, 3, 6)
STACKS = len(SEATS) + 1


@pytest.fixture
def houses(tmp_path: Path) -> Iterator[list[House]]:
    """The houses of a test; they are closed at its end."""
    open_houses: list[House] = []
    yield open_houses
    for house in open_houses:
        house.close()


def opened(houses: list[House], folder: Path, setup: Setup | None = None, **more: object) -> tuple[House, People]:
    """A house with its table open for bets."""
    house = House(folder / f"journal-{len(houses)}.db", setup, **more)  # type: ignore[arg-type]
    houses.append(house)
    people = People(house)
    assert people.open(), house.live.table.next_step(house.now)
    return house, people


def kinds(house: House, start: int = 0) -> list[str]:
    return [event.kind for event in house.events[start:]]


def pile_of(house: House, place: CardPlace) -> list[Card]:
    """All cards at a place, but the spares on the floor."""
    return [
        card for spot in house.cards.spots(place) if place is not CardPlace.FLOOR for card in house.cards.pile(spot)
    ]


def in_the_deal(house: House, people: People) -> None:
    """Close the bets, and stop with the first card of the first stack at the exit."""
    people.perform(CloseBets, seats=SEATS)
    assert house.run(lambda: house.cards.count(Spot(CardPlace.EXIT)) > 0, 10)


def check_truth(house: House) -> None:
    """Between rounds: what the table believes is what is true, and the journal proves it."""
    house.cards.check()
    for name, deck in house.state.decks.items():
        assert sum(deck.cards.values()) == 53
        for places in (("infeed", "shelves", "output"), ("shoe", "held"), ("rack",)):  # a shuffle is on its way through
            spots = [spot for place in places for spot in house.cards.spots(CardPlace[place.upper()])]
            lying = sum(card.deck == name for spot in spots for card in house.cards.pile(spot))
            assert lying == sum(deck.cards.get(place, 0) for place in places), (name, places)
    house.journal.verify()
    assert encode(restore(house.journal)) == encode(house.state)


def test_rounds_alternate_and_every_stack_has_three(houses: list[House], tmp_path: Path) -> None:
    house, people = opened(houses, tmp_path)
    for _ in range(4):
        assert people.play(SEATS)
        check_truth(house)
    rounds = [event for event in house.events if event.kind == "round.started"]
    assert [event.data["deck"] for event in rounds] == ["red-1", "blue-1", "red-1", "blue-1"]
    taken = [event for event in house.events if event.kind == "stack.taken"]
    assert [event.data["cards"] for event in taken] == [3] * STACKS * 4
    assert [event.data["target"] for event in taken[:STACKS]] == ["seat1", "seat3", "seat6", "dealer"]
    assert "round.voided" not in kinds(house)


def test_the_dealers_stack_stays_in_the_shoe_until_the_players_have_acted(houses: list[House], tmp_path: Path) -> None:
    house, people = opened(houses, tmp_path, Setup(hold_dealer=True))
    assert people.play(SEATS)
    order = [kind for kind in kinds(house) if kind in ("dealer.held", "players.acted", "dealer.revealed")]
    assert order == ["dealer.held", "players.acted", "dealer.revealed"]
    released = next(e for e in house.events if e.kind == "command.given" and e.data["command"]["name"] == "Release")
    acted = next(e for e in house.events if e.kind == "players.acted")
    assert released.seq > acted.seq
    check_truth(house)


@pytest.mark.parametrize(
    "setup",
    [
        Setup(method=Method.MANUAL_SHOE, shuffler=ShufflerKind(counts=True)),
        Setup(method=Method.HAND, shuffler=ShufflerKind(counts=True)),
        Setup(method=Method.MANUAL_SHOE, shuffler=None, backs=("red",)),
        Setup(shuffler=ShufflerKind(counts=False, feeds_shoe=False)),
        Setup(shuffler=None, backs=("red",)),
        Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True)),
    ],
    ids=["manual shoe", "hand", "no shuffler", "shuffler that does not count", "shoe alone", "recognising shuffler"],
)
def test_every_way_of_dealing(houses: list[House], tmp_path: Path, setup: Setup) -> None:
    house, people = opened(houses, tmp_path, setup)
    for _ in range(6):  # past the fifth round, at which the stub must be counted
        assert people.play(SEATS), house.live.table.next_step(house.now)
    assert "round.voided" not in kinds(house)
    assert kinds(house).count("round.completed") == 6


@pytest.mark.parametrize("flip", [1e-4, 1e-3])
def test_a_bad_wire_costs_time_and_no_cards(houses: list[House], tmp_path: Path, flip: float) -> None:
    house, people = opened(houses, tmp_path, quality=WireQuality(flip=flip, bytewise=True, baud=115200))
    for _ in range(2):
        assert people.play(SEATS)
        check_truth(house)
    assert kinds(house).count("round.completed") == 2


AFTER_ONE_CARD = dict.fromkeys(
    (FaultName.JAM, FaultName.STALL, FaultName.INCOMPLETE_CYCLE, FaultName.DOUBLE_FEED, FaultName.SHORT_FEED), "13.G"
) | {FaultName.DOUBLE_FEED: "13.D", FaultName.SHORT_FEED: "13.D"}


@pytest.mark.parametrize(("fault", "clause"), AFTER_ONE_CARD.items())
def test_a_shoe_that_fails_in_the_deal_voids_the_round(
    houses: list[House], tmp_path: Path, fault: FaultName, clause: str
) -> None:
    house, people = opened(houses, tmp_path)
    house.sim.shoe.inject(fault, house.now, after_cards=1)
    start = len(house.events)
    finished = people.play(SEATS)
    voided = [event for event in house.events[start:] if event.kind == "round.voided"]
    assert [clause in event.clause for event in voided] == [True]
    assert "wagers.returned" in kinds(house, start)
    house.cards.check()
    assert finished, house.live.table.next_step(house.now)  # also a stalled shoe: it was switched off and on
    check_truth(house)
    assert people.play(SEATS)
    due = [event.data["deck"] for event in house.events if event.kind == "round.started"]
    assert due == ["red-1", "blue-1"]  # a voided deal counts for alternation


@pytest.mark.parametrize("fault", [FaultName.JAM, FaultName.DOUBLE_FEED, FaultName.SHORT_FEED])
def test_people_who_gather_a_deck_on_one_pile_come_back_to_play(
    houses: list[House], tmp_path: Path, fault: FaultName
) -> None:
    house, people = opened(houses, tmp_path)
    people.in_one_pile = True
    house.sim.shoe.inject(fault, house.now, after_cards=7)  # two hands have their cards
    assert people.play(SEATS)
    assert "round.voided" in kinds(house)
    assert "pile.counted" in kinds(house)
    assert "ledger.disagreed" not in kinds(house)[kinds(house).index("pile.counted") :]
    assert people.play(SEATS)


@pytest.mark.parametrize("fault", [FaultName.MISCOUNT, FaultName.MISSING_CARD, FaultName.EXTRA_CARD])
def test_a_wrong_count_locks_the_deck_out_for_good(houses: list[House], tmp_path: Path, fault: FaultName) -> None:
    house, people = opened(houses, tmp_path)
    house.sim.shuffler.inject(fault, house.now)
    assert people.play(SEATS)
    assert people.play(SEATS)
    assert people.play(SEATS)
    locked = [event.data["deck"] for event in house.events if event.kind == "deck.locked_out"]
    assert len(locked) == 1
    later = [e for e in house.events if e.kind == "round.started" and e.seq > house.state.seq - 1]
    assert all(event.data["deck"] != locked[0] for event in later)
    assert locked[0] in house.state.retired


@pytest.mark.parametrize("fault", [FaultName.UNPLUG, FaultName.SILENCE, FaultName.NOISE])
def test_a_short_interruption_in_the_deal_loses_nothing(houses: list[House], tmp_path: Path, fault: FaultName) -> None:
    house, people = opened(houses, tmp_path)
    in_the_deal(house, people)
    house.sim.shoe.inject(fault, house.now, for_s=3.0)
    assert people.work(), house.live.table.next_step(house.now)
    check_truth(house)
    assert kinds(house).count("round.completed") + kinds(house).count("round.voided") == 1


def test_a_command_that_was_given_up_before_it_came_is_never_carried_out(houses: list[House], tmp_path: Path) -> None:
    house, people = opened(houses, tmp_path)
    house.report(CloseBets(seats=SEATS, who="dealer 1", role=Role.DEALER))
    house.sim.shoe.inject(FaultName.UNPLUG, house.now, for_s=20.0)  # sent, and lost on the wire
    house.look()
    assert house.wired["shoe"].session.unanswered
    assert house.run(lambda: house.state.round is not None and house.state.round.void, 15)
    assert house.wired["shoe"].session.unanswered == []
    assert house.run(lambda: house.state.devices["shoe"].online, 20)
    assert people.work(), house.live.table.next_step(house.now)
    assert house.sim.shoe.mechanics.stacks == 1, "all cards at once, and no stack for a round that was void already"
    assert "ledger.disagreed" not in kinds(house)
    check_truth(house)


def test_a_stack_that_came_out_while_the_link_was_away_is_found_again(houses: list[House], tmp_path: Path) -> None:
    """The shoe had got the command, nobody heard of it, and the round is void: the cards are where they are."""
    house, people = opened(houses, tmp_path)
    house.report(CloseBets(seats=SEATS, who="dealer 1", role=Role.DEALER))
    house.look()
    assert house.run(lambda: house.sim.shoe.mechanics.mode is Mode.WORKING, 5)
    house.sim.shoe.inject(FaultName.UNPLUG, house.now, for_s=20.0)
    assert house.run(lambda: house.state.round is not None and house.state.round.void, 15)
    assert house.cards.count(Spot(CardPlace.EXIT)) == 3
    start = len(house.events)
    assert house.run(lambda: house.state.devices["shoe"].online, 20)
    assert people.work(), house.live.table.next_step(house.now)
    late = [event for event in house.events[start:] if event.data.get("late")]
    assert [(event.kind, event.data["cards"]) for event in late] == [("cards.presented", 3)]
    assert house.sim.shoe.mechanics.stacks == 2, "one stack for one command, and then all other cards"
    assert "ledger.disagreed" not in kinds(house)
    assert "deck.locked_out" not in kinds(house)
    check_truth(house)


def test_a_stub_that_came_out_while_the_link_was_away_voids_nothing(houses: list[House], tmp_path: Path) -> None:
    house, people = opened(houses, tmp_path)
    people.enough = lambda: house.sim.shoe.mechanics.mode is Mode.WORKING and "dealing.completed" in kinds(house)
    people.play(SEATS)
    people.enough = None
    house.sim.shoe.inject(FaultName.UNPLUG, house.now, for_s=20.0)
    assert house.run(lambda: "shoe.lost" in house.state.warnings, 15)
    assert house.run(lambda: house.state.devices["shoe"].online, 20)
    assert people.work(), house.live.table.next_step(house.now)
    assert "ledger.disagreed" not in kinds(house)
    assert "round.voided" not in kinds(house)
    assert kinds(house).count("round.completed") == 1
    check_truth(house)


@pytest.mark.parametrize("fault", [FaultName.REBOOT, FaultName.POWER_LOSS])
def test_a_shoe_that_restarts_in_the_deal_voids_the_round(
    houses: list[House], tmp_path: Path, fault: FaultName
) -> None:
    house, people = opened(houses, tmp_path)
    in_the_deal(house, people)
    house.sim.shoe.inject(fault, house.now, for_s=2.0)
    assert people.work()
    voided = [event for event in house.events if event.kind == "round.voided"]
    assert [event.clause for event in voided] == [("13.G",)]
    check_truth(house)


def test_a_host_that_dies_after_any_stored_event_finishes_the_round(houses: list[House], tmp_path: Path) -> None:
    """Killed between the journal and the wire, at every event of a round: no stack is dealt twice, none is lost."""
    house, people = opened(houses, tmp_path)
    first = house.state.seq
    assert people.play(SEATS)
    last = house.state.seq
    for seq in range(first + 1, last + 1, 3):
        house, people = opened(houses, tmp_path)
        house.dies_at = seq
        finished = people.play(SEATS) or people.work()
        assert finished, (seq, house.live.table.next_step(house.now))
        check_truth(house)
        assert kinds(house).count("round.completed") == 1
        assert "round.voided" not in kinds(house), seq
        dealt = [event for event in house.events if event.kind == "stack.taken"]
        assert [event.data["target"] for event in dealt] == ["seat1", "seat3", "seat6", "dealer"]
        assert not house.cards.spots(CardPlace.HAND)
    assert hand("dealer") == Spot(CardPlace.HAND, 7)


@pytest.mark.parametrize("seed", range(3))
def test_bad_luck_of_every_kind_never_loses_the_truth(houses: list[House], tmp_path: Path, seed: int) -> None:
    """Every fault but `dead`, each with one chance in fifty in each cycle of both devices: some 14 in a hundred."""
    rates: dict[FaultName, float] = {fault: 0.02 for fault in FaultName if fault is not FaultName.DEAD}
    house, people = opened(
        houses,
        tmp_path,
        seed=seed,
        sets=40,
        shuffler_plan=FaultPlan(rates=rates, seed=f"{seed}/shuffler"),
        shoe_plan=FaultPlan(rates=rates, seed=f"{seed}/shoe"),
    )
    for _ in range(8):
        assert people.play(SEATS) or people.work(), house.live.table.next_step(house.now)
        house.cards.check()
        strayed = {card.deck for card in house.cards.pile(Spot(CardPlace.FLOOR)) if card.index < 53}
        strayed |= {card.deck for place in CardPlace for card in pile_of(house, place) if card.index >= 53}
        if not strayed & set(house.state.decks):  # a card that has just fallen is found at the next count
            check_truth(house)
    assert kinds(house).count("round.completed") + kinds(house).count("round.voided") == 8
    house.journal.verify()
    assert encode(restore(house.journal)) == encode(house.state)

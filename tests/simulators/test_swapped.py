"""Decks and devices that are swapped at a whole table: people, core, journal, links, firmware and physical cards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeviceState, TableState
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire.messages import Capability, Place
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SimulatedDevice
from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.people import People
from tests.simulators.test_house import check_truth, kinds

HELD = Setup(hold_dealer=True)
BY_DEALER = Setup(shuffler=ShufflerKind(counts=True))
INTERRUPTED = ["", "cable", "host", "power"]


def opened(setup: Setup | None = None, **more: object) -> tuple[House, People]:
    """A table that is open for bets."""
    house = House(None, setup, **more)  # type: ignore[arg-type]
    people = People(house)
    assert people.open(), house.live.table.next_step(house.now)
    return house, people


def box(house: House, name: str) -> SimulatedDevice:
    """A device as it is at the table."""
    return house.wired[name].device


def swap_deck(house: House, name: str, place: Place, interruption: str) -> None:
    """A hand takes the deck out and puts one with the same back in; something interrupts between the two reports."""
    aside = Spot(CardPlace.TABLE, 90)
    taken = box(house, name).take_out(place, aside, house.now)
    assert taken
    house.rest(1)
    if interruption == "cable":
        box(house, name).inject(FaultName.UNPLUG, house.now, for_s=3)
        house.rest(2)
    elif interruption == "power":
        box(house, name).inject(FaultName.REBOOT, house.now)
    elif interruption == "host":
        house.restart_host()
    box(house, name).mechanics.put_in(aside, Spot(CardPlace[place.name]), place)
    box(house, name).stirred = True
    house.rest(10)


def replace_box(house: House, name: str, *, serial: str = "X-9999", lacks: Capability | None = None) -> None:
    """Another box stands where the device stood; it can do what the other could, except for one thing."""
    device = box(house, name)
    able = frozenset(can for can in device.mechanics.capabilities if can is not lacks)
    device.plate = replace(device.plate, serial=serial, capabilities=able)
    device.inject(FaultName.REBOOT, house.now)
    house.rest(3)


# --- decks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interruption", INTERRUPTED)
@pytest.mark.parametrize("setup", [Setup(), BY_DEALER], ids=["fed", "loaded by the dealer"])
def test_a_deck_swapped_in_a_loaded_shoe_is_shuffled_and_counted_before_it_is_dealt(
    interruption: str, setup: Setup
) -> None:
    house, people = opened(setup)
    shuffles = kinds(house).count("shuffle.completed")
    swap_deck(house, "shoe", Place.SHOE, interruption)
    assert house.state.table is TableState.SUSPENDED
    assert "shoe.cards" in house.state.warnings
    assert people.work(), people.step()
    assert kinds(house).count("shuffle.completed") > shuffles
    assert people.play()
    check_truth(house)


@pytest.mark.parametrize("interruption", INTERRUPTED)
def test_a_deck_swapped_in_the_deal_voids_the_round(interruption: str) -> None:
    house, people = opened()
    people.perform(act.CloseBets, seats=(1, 3))
    assert house.run(lambda: "stack.dispensed" in kinds(house), 30)
    swap_deck(house, "shoe", Place.SHOE, interruption)
    (voided,) = [event for event in house.events if event.kind == "round.voided"]
    assert voided.clause == ("13.G",)
    assert people.work(), people.step()
    assert people.play()
    check_truth(house)


@pytest.mark.parametrize("interruption", INTERRUPTED)
def test_a_deck_swapped_in_the_shuffler_is_shuffled_again_after_the_round(interruption: str) -> None:
    house, people = opened()
    people.perform(act.CloseBets, seats=(1, 3))
    assert house.run(lambda: house.state.decks["blue-1"].state == "shuffled", 300)
    swap_deck(house, "shuffler", Place.OUTPUT, interruption)
    assert people.work(), people.step()
    assert "round.voided" not in kinds(house)
    assert "round.completed" in kinds(house)
    assert kinds(house).count("deck.recalled") == 1
    check_truth(house)


def test_a_deck_that_is_lifted_out_and_kept_is_looked_for() -> None:
    house, people = opened()
    box(house, "shoe").take_out(Place.SHOE, people.hands.own("red-1"), house.now)
    house.rest(3)
    assert people.work(), people.step()
    assert people.play()
    assert "round.voided" not in kinds(house), "it is noticed before the deal"
    check_truth(house)


# --- devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["betting", "dealing"])
def test_a_shoe_replaced_by_one_that_cannot_hold_a_stack_is_refused(when: str) -> None:
    house, people = opened(HELD)
    if when == "dealing":
        people.perform(act.CloseBets, seats=(1, 3))
        assert house.run(lambda: "stack.dispensed" in kinds(house), 30)
    replace_box(house, "shoe", lacks=Capability.HOLDS_STACK)
    assert ("round.voided" in kinds(house)) is (when == "dealing")
    assert (
        house.state.warnings["shoe.refused"].text
        == "the shoe cannot be used here: it lacks what this table needs (holds stack)"
    )
    people.work(limit_s=300)
    assert house.state.devices["shoe"].state is DeviceState.UNKNOWN
    assert kinds(house).count("round.started") == (when == "dealing")
    people.perform(act.TakeOutOfService, device="shoe", how="marked")
    people.perform(act.ChangeMethod, method=Method.MANUAL_SHOE)
    assert people.work(), people.step()
    assert people.play()


def test_no_round_starts_while_a_refused_shuffler_is_at_the_table() -> None:
    house, people = opened()
    replace_box(house, "shuffler", lacks=Capability.COUNTS)
    assert house.state.table is TableState.SUSPENDED
    assert not people.play()
    assert "round.started" not in kinds(house)
    replace_box(house, "shuffler", serial="SH-0001")
    assert people.work(), people.step()
    assert people.play()
    check_truth(house)


def test_a_suitable_replacement_is_recorded_and_confirmed_by_a_person() -> None:
    house, people = opened()
    replace_box(house, "shuffler")
    assert people.work(), people.step()
    found = [event.data["serial"] for event in house.events if event.kind == "device.identified"]
    assert found[0] == "SH-0001"
    assert found[-1] == "X-9999"
    cleared = [event.data for event in house.events if event.kind == "warning.cleared"]
    assert ("shuffler.replaced", "technician") in [(data["warning"], data["role"]) for data in cleared]
    assert people.play()
    check_truth(house)


@pytest.mark.parametrize("way", ["power cycle", "self-test", "out of service"])
def test_a_failed_shoe_that_keeps_its_memory_returns(way: str) -> None:
    house, people = opened()
    shoe = box(house, "shoe")
    shoe.mechanics.capabilities |= {Capability.KEEPS_MEMORY}
    boot = house.state.devices["shoe"].boot
    shoe.inject(FaultName.STALL, house.now)
    people.perform(act.CloseBets, seats=(1, 3))
    assert house.run(lambda: house.state.devices["shoe"].state is DeviceState.FAILED, 60)
    if way == "out of service":
        people.perform(act.ReturnWagers)
        people.perform(act.TakeOutOfService, device="shoe", how="covered")
        shoe.inject(FaultName.REBOOT, house.now)
        house.rest(5)
        people.work(limit_s=100)
        people.perform(act.PutInService, device="shoe")
    elif way == "self-test":
        shoe.mechanics.power_lost()  # the stalled cycle ends, and the host does not notice
        assert shoe.firmware
        shoe.mechanics.report = shoe.firmware.report
        while house.state.table is not TableState.SUSPENDED or "gather_cards" in str(people.step().do):
            assert people.chore() or house.run(lambda: False, 1) is False
        people.perform(act.TestDevice, role=Role.TECHNICIAN, device="shoe")
    assert people.work(), people.step()
    assert house.state.devices["shoe"].boot == boot
    assert people.play()
    check_truth(house)

"""A failed device that returns to service: after a power cycle, or after a self-test (13.H)."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.setup import Setup
from firmware_bridge.wire import messages as wire
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))


def failed(name: str) -> House:
    """A table whose device has failed, and whose cards are all out of it."""
    house = House(ONE).open() if name == "shoe" else House(ONE)
    if name == "shoe":
        house.faults["shoe", "Dispense"] = "fail"
        house.deal((1,))
    else:
        house.ask(act.OpenTable)
        house.receive("red-1", "red")
        house.faults["shuffler", "Shuffle"] = "fail"
    house.work(stop=TableState.SUSPENDED)
    while house.deck("red-1") is not DeckState.STACKED:
        assert house.do_next_task()
    assert house.device(name) is DeviceState.FAILED
    return house


def power_cycle(house: House, name: str) -> None:
    """The device is switched off and on, and keeps its memory: the boot number stays the same."""
    house.disconnect(name)
    house.devices[name].failed = False
    house.connect(name)
    house.report(name, wire.PowerUp, cause=wire.PowerCause.POWER, memory_kept=True)


# --- a device that failed and keeps its memory ----------------------------------------------------------------------


@clause("13.H")
@pytest.mark.parametrize("name", ["shuffler", "shoe"])
def test_a_failed_device_that_keeps_its_memory_returns_after_a_power_cycle(name: str) -> None:
    house = failed(name)
    step = house.table.next_step()
    assert step.text == f"Switch the {name} off and on, or test it, or have a floorperson take it out of service."
    power_cycle(house, name)
    assert house.device(name) is DeviceState.READY
    assert house.state.warnings[f"{name}.fail"].gone
    assert house.refused(act.ClearWarning, f"{name}.fail", role=Role.DEALER), "a floorperson clears it"
    house.work()
    assert house.at() is TableState.BETTING
    house.play((1,))
    same_after_snapshot(house)


@clause("13.H")
@pytest.mark.parametrize("when", ["out of service", "afterwards"])
def test_a_failed_device_that_keeps_its_memory_returns_from_out_of_service(when: str) -> None:
    house = failed("shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    if when == "out of service":
        power_cycle(house, "shoe")
        house.ask(act.PutInService, "shoe")
    else:
        house.ask(act.PutInService, "shoe")
        assert house.device("shoe") is DeviceState.FAILED
        power_cycle(house, "shoe")
    assert house.device("shoe") is DeviceState.READY
    house.work()
    assert house.at() is TableState.BETTING
    house.play((1,))
    same_after_snapshot(house)


@clause("13.H")
def test_a_link_that_comes_back_without_a_power_cycle_repairs_nothing() -> None:
    house = failed("shoe")
    house.disconnect("shoe")
    house.connect("shoe")
    assert house.device("shoe") is DeviceState.FAILED
    assert not house.state.warnings["shoe.fail"].gone


@clause("13.H")
@pytest.mark.parametrize("name", ["shuffler", "shoe"])
def test_a_failed_device_that_passes_its_self_test_returns(name: str) -> None:
    house = failed(name)
    house.devices[name].failed = False
    assert house.refused(act.TestDevice, name, role=Role.DEALER)
    house.ask(act.TestDevice, name, role=Role.TECHNICIAN)
    assert house.device(name) is DeviceState.READY
    assert house.state.warnings[f"{name}.fail"].gone
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("13.H")
@pytest.mark.parametrize("fault", ["", "fail", "incomplete", "refuse:BUSY", "refuse:DOOR_OPEN", "stall", "lost", "jam"])
def test_a_failed_device_that_does_not_pass_its_self_test_stays_failed(fault: str) -> None:
    """Without another fault, the device refuses the test because it has failed."""
    house = failed("shoe")
    if fault:
        house.devices["shoe"].failed = False
    if fault == "lost":
        house.auto_work = False
    elif fault:
        house.faults["shoe", "SelfTest"] = fault
    house.ask(act.TestDevice, "shoe")
    if fault == "lost":
        house._todo.clear()
        house.disconnect("shoe")
        house.tick(20)
        house.connect("shoe")
    elif fault == "stall":
        house.tick(61)
    elif fault == "jam":
        house.ask(act.FreeJam, "shoe")
    assert house.device("shoe") is DeviceState.FAILED
    assert not house.state.warnings["shoe.fail"].gone
    house.restart("shoe")
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING


@clause("13.H")
def test_a_failed_device_with_cards_inside_is_not_tested() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "fail"
    house.deal((1,))
    assert house.refused(act.TestDevice, "shoe").clause == ("5.A",)


@clause("13.G")
def test_a_jammed_device_is_freed_before_it_is_tested() -> None:
    house = House(ONE)
    house.report("shoe", wire.Jam, command=0, place=wire.Place.EXIT)
    assert house.device("shoe") is DeviceState.JAMMED
    assert house.refused(act.TestDevice, "shoe").data["possible_when"] == "the device is ready, or has failed"


def test_the_guide_does_not_offer_a_test_of_a_device_with_cards_inside() -> None:
    house = failed("shoe")
    house.state.decks["red-1"].cards = house.folded.decks["red-1"].cards = {"shoe": 53}
    step = house.table.next_step()
    assert step.text == "Switch the shoe off and on, or have a floorperson take it out of service."
    assert [offer["action"] for offer in step.do] == ["take_out_of_service"]


@clause("13.G")
def test_a_failed_shoe_that_is_switched_off_and_on_before_it_is_empty_brings_its_cards_out() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "fail"
    house.deal((1,))
    power_cycle(house, "shoe")
    assert house.device("shoe") is DeviceState.READY
    assert "shoe.restart" in house.state.warnings
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("13.G")
def test_a_shoe_that_jammed_and_then_failed_is_still_jammed_after_a_power_cycle() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "jam"
    house.deal((1,))
    house.report("shoe", wire.Fault, code=wire.FaultCode.MOTOR)
    assert house.device("shoe") is DeviceState.FAILED
    power_cycle(house, "shoe")
    assert house.device("shoe") is DeviceState.JAMMED
    house.work()
    assert house.at() is TableState.BETTING
    assert not house.state.warnings

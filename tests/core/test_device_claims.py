"""What a device says about itself or does not follow: times of its cycles, sessions it refuses, floods of events."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.machines import DeviceState, TableState
from controller.core.reports import DeviceFlooding, DeviceReady, DeviceUnusable
from controller.core.setup import Limits, Setup
from tests.support.core_driver import House, capabilities, same_after_snapshot

clause = pytest.mark.clause
UNWELCOME = "the device refused the session: this host knows another device"


def dispense_limit_ms(setup: Setup, longest_ms: tuple[int, ...]) -> int:
    """How long the shoe may take for its first stack."""
    house = House(setup).open()
    house.auto_work = False
    able = capabilities(setup, "shoe")
    house.handle(DeviceReady("shoe", house.devices["shoe"].boot, able, longest_ms=longest_ms))
    house.ask(act.CloseBets, (1,))
    doing = house.state.devices["shoe"].doing
    assert doing is not None
    same_after_snapshot(house)
    return doing.until_ms - round(house.now * 1000)


@pytest.mark.parametrize(
    ("longest_ms", "limit_ms"),
    [
        ((), 15_000),
        ((0, 0, 40_000), 40_000),
        ((0, 0, 0), 15_000),
        ((0, 0), 15_000),
        ((0, 0, 2**53 - 1), 120_000),  # a broken shoe must not stay unnoticed
        ((0, 0, 1), 1_000),
    ],
)
@clause("13.G")
def test_a_device_says_how_long_its_cycles_take(longest_ms: tuple[int, ...], limit_ms: int) -> None:
    assert dispense_limit_ms(Setup(), longest_ms) == limit_ms


def test_the_configuration_has_the_last_word_on_how_long_a_cycle_takes() -> None:
    assert dispense_limit_ms(Setup(limits=Limits(dispense_ms=5_000)), (0, 0, 40_000)) == 5_000


@clause("13.G")
def test_a_device_that_refuses_the_session_voids_the_deal_at_once_and_says_why() -> None:
    house = House().open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.handle(DeviceUnusable("shoe", UNWELCOME))
    assert house.at() is TableState.VOIDING
    assert house.state.warnings["shoe.refused"].text == f"the shoe cannot be used here: {UNWELCOME}"
    made = house.handle(DeviceUnusable("shoe", UNWELCOME))
    assert made == [], "it is recorded once, however often it is tried"
    house.connect("shoe")
    assert house.state.warnings["shoe.refused"].gone


@clause("13.H")
def test_a_device_that_refuses_the_session_out_of_service_is_recorded_once() -> None:
    house = House().open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    made = house.handle(DeviceUnusable("shoe", UNWELCOME))
    assert [entry.kind for entry in made] == ["device.seen"]
    assert house.handle(DeviceUnusable("shoe", UNWELCOME)) == []
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.UNKNOWN
    assert "shoe.refused" in house.state.warnings


def test_a_device_that_never_answered_is_told_apart_from_one_that_refuses() -> None:
    house = House(connect=False)
    house.ask(act.OpenTable)
    assert house.table.next_step().why == "The shuffler does not answer."
    house.handle(DeviceUnusable("shuffler", UNWELCOME))
    assert UNWELCOME in house.table.next_step().why


def test_too_many_events_are_a_warning_that_a_floorperson_clears() -> None:
    house = House().open()
    house.handle(DeviceFlooding("shoe", "it keeps sending more than 10 events per second"))
    warned = house.state.warnings["shoe.flood"]
    assert warned.text == "the shoe may be faulty: it keeps sending more than 10 events per second"
    assert house.device("shoe") is DeviceState.READY
    assert (warned.gone, warned.needs) == (True, "floor")


def test_a_report_about_a_device_that_the_table_does_not_have_is_ignored() -> None:
    house = House().open()
    assert house.table.handle(DeviceUnusable("camera", UNWELCOME), house.now) == []
    assert house.table.handle(DeviceFlooding("camera", "it floods"), house.now) == []

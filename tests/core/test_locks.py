"""Locks, lights and doors: which commands keep cards from being dealt when they must not be."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.events.event import Entry
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.reports import DeviceEvent, DeviceReady
from controller.core.setup import Setup
from controller.core.state import pending_of
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import DoorState, Place
from tests.support.core_driver import BESIDE, House, capabilities, pending, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))


def locked(house: House, name: str = "shoe") -> bool:
    """Whether the device is really locked."""
    return house.devices[name].locked


def commands(events: list[Entry]) -> list[str]:
    """The names of the commands given."""
    return [event.data["command"]["name"] for event in events if event.kind == "command.given"]


def side_commands(house: House, start: int = 0) -> list[str]:
    """The lock and light commands given since."""
    return [name for name in commands(house.events[start:]) if name in BESIDE]


def dealing(setup: Setup = ONE) -> House:
    """The shoe has its first Dispense and has not carried it out."""
    house = House(setup).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1, 2))
    return house


def jam(house: House, name: str = "shoe") -> list[Entry]:
    """The device's Jam event, and what the table decides because of it."""
    device, given = house.devices[name], house.state.devices[name].doing
    device.jammed, device.number = True, device.number + 1
    report = wire.Jam(number=device.number, at_ms=0, command=given.id if given else 0, place=Place.UNKNOWN)
    made = house.table.handle(DeviceEvent(name, device.boot, report), house.now)
    house._todo.clear()
    house._keep(made)
    house.tick()
    return made


# --- the lock -------------------------------------------------------------------------------------------------------


@clause("13.G")
def test_a_jam_locks_the_shoe_in_the_same_decision() -> None:
    house = dealing()
    made = jam(house)
    assert [event.kind for event in made] == [
        "device.reported", "device.jammed", "warning.raised", "round.voided", "command.given", "command.given",
    ]  # fmt: skip
    assert made[4].data == {
        "device": "shoe", "command": {"name": "Lock"}, "boot": house.devices["shoe"].boot, "stays": True,
        "at_ms": made[4].data["at_ms"],
    }  # fmt: skip
    assert made[4].clause == ("13.G",)
    assert commands(made) == ["Lock", "Indicate"]
    assert house.device("shoe") is DeviceState.JAMMED, "a lock is not a cycle"
    assert (house.devices["shoe"].locked, house.state.devices["shoe"].locked) == (True, True)
    same_after_snapshot(house)


@clause("13.F")
def test_a_jam_locks_the_shuffler_and_not_the_shoe() -> None:
    house = House().open()
    jam(house, "shuffler")
    assert [house.devices[name].locked for name in ("shuffler", "shoe")] == [True, False]


@clause("13.F")
@pytest.mark.parametrize("fault", ["incomplete", "fail", "stall"])
def test_every_warning_of_a_device_locks_it(fault: str) -> None:
    house = dealing()
    house.faults["shoe", "Dispense"] = fault
    house.step()
    house.tick(20)
    assert house.state.warnings
    assert locked(house)


@clause("13.G")
def test_a_freed_jam_is_checked_unlocked_and_locked_until_the_warning_is_cleared() -> None:
    house = dealing()
    jam(house)
    house.ask(act.ReturnWagers)
    made = house.ask(act.FreeJam, "shoe")
    assert commands(made) == ["Unlock", "ClearJam"]
    assert not locked(house)
    house.auto_work, house.auto_take = True, True
    house.tick()
    assert locked(house), "the warning is still there, and nobody is reaching into it"
    house.work(stop=TableState.WAITING)
    while house.state.warnings:
        assert house.do_next_task()
    assert not locked(house)
    house.work()
    assert house.at() is TableState.BETTING


@clause("13.G")
def test_a_jam_that_is_not_gone_locks_again() -> None:
    house = dealing()
    jam(house)
    house.faults["shoe", "ClearJam"] = "still"
    house.auto_work = True
    house.ask(act.FreeJam, "shoe")
    assert house.device("shoe") is DeviceState.JAMMED
    assert locked(house)


@clause("13.G")
def test_who_reaches_into_a_locked_device_says_so() -> None:
    house = dealing()
    house.refused(act.OpenDevice, "shoe")  # it is not locked
    jam(house)
    made = house.ask(act.OpenDevice, "shoe")
    assert [event.kind for event in made] == ["device.opened", "command.given"]
    assert (made[0].data["who"], made[0].clause, commands(made)) == ("dana", ("13.G",), ["Unlock"])
    house.tick()
    assert not locked(house), "it stays unlocked while somebody is reaching into it"
    house.refused(act.OpenDevice, "shoe")
    house.faults["shoe", "ClearJam"] = "still"
    house.auto_work = True
    house.ask(act.FreeJam, "shoe")
    assert locked(house), "the next warning locks it again"


@clause("13.E", "13.G")
def test_a_void_locks_the_shoe_until_its_cards_come_out() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.step()  # the first stack is at the exit
    made = house.ask(act.ReportDealerExposed)
    assert "Lock" not in commands(made), "cards are at its exit"
    house.take("shoe")
    assert locked(house)
    house.ask(act.ReturnWagers)
    house.move("red-1", "taken", "table", 3)
    made = house.ask(act.GatherCards, "red-1", "taken", 3)
    assert commands(made) == ["Unlock", "Eject"]
    house.step()
    assert not locked(house), "the cards at its exit are to be taken"
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING
    assert not locked(house)


@clause("13.G")
def test_a_lock_outlives_a_restart_of_the_host_and_of_the_device() -> None:
    house = dealing()
    house.answers = False
    jam(house)
    waiting = pending(house.state)
    assert [given.name for given in waiting] == ["Lock", "Indicate"]
    assert pending_of(house.state.devices["shoe"]) == waiting
    assert len({given.id for given in waiting}) == 2
    same_after_snapshot(house)
    house.answers = True
    house.tick()
    assert pending(house.state) == []
    start = len(house.events)
    house.restart("shoe")
    assert side_commands(house, start) == ["Lock", "Indicate"], "its memory is gone, the warning is not"
    given = next(e for e in house.events[start:] if e.kind == "command.given")
    assert given.data["boot"] == house.devices["shoe"].boot
    assert locked(house)


@clause("13.G")
def test_what_a_device_that_restarted_has_not_answered_is_dropped() -> None:
    house = dealing()
    house.answers = False
    jam(house)
    house.restart("shoe")
    boot = house.devices["shoe"].boot
    assert [(given.name, given.command.boot) for given in pending(house.state)] == [("Lock", boot), ("Indicate", boot)]


@clause("13.G")
def test_a_device_that_lost_its_power_and_kept_its_memory_is_locked_again() -> None:
    house = dealing()
    jam(house)
    start = len(house.events)
    house.devices["shoe"].locked = False
    house.report("shoe", wire.PowerUp, cause=wire.PowerCause.POWER, memory_kept=True)
    assert side_commands(house, start) == ["Lock", "Indicate"]
    assert locked(house)


@clause("13.G")
def test_a_device_that_is_away_is_locked_when_it_is_back() -> None:
    house = House(ONE).open()
    start = len(house.events)
    house.disconnect("shoe")
    house.tick(20)
    assert "shoe.lost" in house.state.warnings
    assert side_commands(house, start) == []
    house.connect("shoe")
    assert side_commands(house, start) == ["Lock", "Indicate"]
    house.ask(act.ClearWarning, "shoe.lost")
    assert side_commands(house, start) == ["Lock", "Indicate", "Unlock", "Indicate"]


@clause("13.H")
def test_a_device_out_of_service_is_not_locked() -> None:
    house = dealing()
    jam(house)
    house.ask(act.ReturnWagers)
    house.ask(act.TakeOutOfService, "shoe", "marked")
    assert not locked(house)
    assert house.devices["shoe"].shows == "RED"


@pytest.mark.parametrize("why", ["lacks", "refuses"])
def test_a_device_that_cannot_lock_is_not_asked(why: str) -> None:
    house = House(ONE).open()
    if why == "lacks":
        house.restart("shoe")
        house.work()
        able = tuple(can for can in capabilities(ONE, "shoe") if can != wire.Capability.LOCKS)
        house.handle(DeviceReady("shoe", house.devices["shoe"].boot, able))
    else:
        house.faults["shoe", "Lock"] = "refuse:NOT_ABLE"
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    start = len(house.events)
    jam(house)
    assert not locked(house)
    assert side_commands(house, start) == (["Indicate"] if why == "lacks" else ["Lock", "Indicate"])
    house.tick()
    house.tick()
    assert "Lock" not in side_commands(house, start + 5)
    assert house.devices["shoe"].shows == "RED", "it still shows a light"


def test_a_device_that_cannot_show_is_still_locked() -> None:
    house = dealing()
    house.faults["shoe", "Indicate"] = "refuse:NOT_ABLE"
    jam(house)
    assert locked(house)
    start = len(house.events)
    house.ask(act.OpenDevice, "shoe")
    house.ask(act.ReturnWagers)
    assert side_commands(house, start) == ["Unlock"]


def test_a_device_that_somebody_else_has_locked_is_unlocked_and_tried_again() -> None:
    house = House(ONE).open()
    house.devices["shoe"].locked = True
    start = len(house.events)
    house.ask(act.CloseBets, (1,))
    assert house.state.devices["shoe"].hindered == "it is locked"
    assert [name for name in side_commands(house, start) if name != "Indicate"] == ["Unlock"]
    assert house.devices["shoe"].shows == "YELLOW"
    assert not house.find("stack.dispensed"), "a person decides when it continues"
    house.ask(act.TryAgain, "shoe")
    assert house.find("stack.dispensed")
    assert not house.find("round.voided")


# --- the light ------------------------------------------------------------------------------------------------------


def test_a_round_without_trouble_gives_no_lock_and_no_light() -> None:
    house = House().open()
    assert {name: device.shows for name, device in house.devices.items()} == {"shuffler": "GREEN", "shoe": "GREEN"}
    start = len(house.events)
    house.play()
    house.play()
    assert side_commands(house, start) == []


@clause("13.G")
def test_the_light_is_red_then_yellow_then_green() -> None:
    house = dealing()
    jam(house)
    shown: list[tuple[str, str, str]] = []

    def look() -> None:
        given = [e.data["command"] for e in house.find("command.given") if e.data["device"] == "shoe"]
        command = [one for one in given if one["name"] == "Indicate"][-1]
        now = (wire.Light(command["light"]).name, command["text"], wire.Sound(command["sound"]).name)
        if not shown or shown[-1] != now:
            shown.append(now)

    look()
    house.auto_work = True
    while house.at() is not TableState.BETTING and house.do_next_task():
        look()
    look()
    assert shown == [
        ("RED", "cards are stuck in the shoe", "ALARM"),
        ("YELLOW", "clear the warning: cards are stuck in the shoe", "CHIME"),
        ("GREEN", "", "NONE"),
    ]


def test_a_text_is_no_longer_than_a_device_takes() -> None:
    house = dealing()
    (given,) = pending(house.state)
    house._answer("shoe", given.id, wire.Reason.OTHER_BOOT)
    texts = [e.data["command"]["text"] for e in house.find("command.given") if "text" in e.data["command"]]
    assert max(map(len, texts)) == 64
    assert texts[-1].startswith("clear the warning: the shoe does not know")


@clause("13.E")
def test_cards_of_a_void_round_are_shown() -> None:
    house = House(ONE).open()
    house.deal((1,))
    assert house.devices["shoe"].shows == "GREEN"
    house = dealing()
    house.ask(act.ReportDealerExposed)
    assert house.devices["shoe"].shows == "YELLOW"


# --- doors ----------------------------------------------------------------------------------------------------------


@clause("13.G")
def test_a_door_opened_with_a_deck_ready_inside() -> None:
    """There is no proof that no card was touched, so the deck is shuffled again."""
    house = House(ONE).open()
    house.auto_work = False
    house.report("shoe", wire.Door, state=DoorState.OPEN)
    assert house.deck("red-1") is DeckState.RECALLED
    assert house.at() is TableState.SUSPENDED
    warning = house.state.warnings["shoe.door"]
    assert (warning.needs, warning.gone, warning.clause) == ("floor", False, ["13.G"])
    assert house.refused(act.ClearWarning, "shoe.door", role=Role.FLOOR).clause == ("13.G",)
    house.report("shoe", wire.Door, state=DoorState.CLOSED)
    house.refused(act.ClearWarning, "shoe.door", role=Role.DEALER)
    house.ask(act.ClearWarning, "shoe.door", role=Role.FLOOR)
    house.auto_work = True
    house.tick()
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.find("shuffle.completed")) == 2


@clause("13.G")
def test_a_door_that_was_closed_when_nobody_was_told_is_opened_and_closed_again() -> None:
    """The shoe was off at that moment. It is locked, so the guide must say how to open its door."""
    house = dealing()
    house.report("shoe", wire.Door, state=DoorState.OPEN)
    house.restart("shoe")
    house.auto_work = house.auto_take = True
    house.work()  # until nothing is left to do
    assert house.at() is TableState.SUSPENDED
    assert not house.state.warnings["shoe.door"].gone, "the door is not assumed to be closed"
    step = house.table.next_step()
    assert "open it and close it again" in step.text
    assert [offer["action"] for offer in step.do] == ["open_device", "take_out_of_service"]
    house.ask(act.OpenDevice, "shoe")
    assert not house.devices["shoe"].locked
    for door in (DoorState.OPEN, DoorState.CLOSED):
        house.report("shoe", wire.Door, state=door)
    house.work()
    assert [event.data["warning"] for event in house.find("warning.cleared")][-1] == "shoe.door"
    assert not house.state.warnings


@clause("13.G")
def test_a_door_opened_in_the_deal_voids_the_round() -> None:
    house = dealing()
    house.report("shoe", wire.Door, state=DoorState.OPEN)
    assert [event.clause for event in house.find("round.voided")] == [("13.G",)]
    assert "shoe.door" in house.state.warnings


@clause("13.F")
@pytest.mark.parametrize("when", ["shuffling", "shuffled"])
def test_a_door_opened_in_the_shuffler(when: str) -> None:
    house = House()
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.receive("blue-1", "blue")
    while not house.find("deck.inserted"):
        house.auto_work = False
        assert house.do_next_task()
    if when == "shuffled":
        house.step()
        house._todo.clear()
        assert house.deck("red-1") is DeckState.SHUFFLED
    house.report("shuffler", wire.Door, state=DoorState.OPEN)
    assert house.deck("red-1") is DeckState.RECALLED
    assert "shuffler.door" in house.state.warnings


def test_a_door_of_an_empty_device_is_only_noted() -> None:
    house = House(connect=True)
    house.ask(act.OpenTable)
    for state in DoorState:
        house.report("shoe", wire.Door, state=state)
        assert house.last[0].kind == "device.reported", state
    assert not house.state.warnings


@clause("13.F")
def test_a_deck_that_waits_for_its_shuffle_is_not_harmed_by_a_door() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.devices["shuffler"].door_open = True
    while not house.state.devices["shuffler"].hindered:
        assert house.do_next_task()
    assert house.state.devices["shuffler"].hindered == "its door is open"
    house.report("shuffler", wire.Door, state=DoorState.OPEN)
    assert not house.state.warnings
    house.devices["shuffler"].door_open = False
    house.report("shuffler", wire.Door, state=DoorState.LOCKED)
    assert house.state.devices["shuffler"].hindered, "a lock does not resolve the refusal"
    house.report("shuffler", wire.Door, state=DoorState.CLOSED)
    assert house.at() is TableState.BETTING

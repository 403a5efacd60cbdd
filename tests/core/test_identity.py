"""Which device answers: one that is refused, one that is not the same as before, and what a device reports about itself
(13.F, 13.G, 13.H, 3.B(2)).
"""

from __future__ import annotations

from typing import Any

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.events.event import Entry
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.reports import DeviceReady
from controller.core.setup import Setup
from controller.core.warning_kinds import remedy
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Place
from tests.support.core_driver import House, capabilities, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))
HELD = Setup(hold_dealer=True, backs=("red",))
FIRST = {"maker": "Acme", "model": "S1", "serial": "A-1", "firmware": "1.0", "firmware_digest": "aa"}


def answers(house: House, name: str, *, boot: int, **more: Any) -> list[Entry]:
    """A device answers on this device's line."""
    able = more.pop("able", capabilities(house.setup, name))
    house.devices[name].boot, house.devices[name].online = boot, True
    return house.handle(DeviceReady(name, boot, able, **more))


def foreign(house: House, name: str, why: str) -> list[Entry]:
    """A box answers that cannot be used at this table."""
    house._todo.clear()
    if why == "another journal":
        return answers(house, name, boot=777, last_command=10_000)
    return answers(house, name, boot=777, able=())


REFUSED = ["another journal", "lacks a capability"]


# --- a box that is refused ------------------------------------------------------------------------------------------


@clause("13.G")
@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize("when", ["forming a stack", "stack at the exit", "link down"])
def test_a_shoe_that_is_refused_in_the_deal_voids_the_round(why: str, when: str) -> None:
    house = House(HELD).open()
    house.auto_work = house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    if when == "stack at the exit":
        house.step()
    elif when == "link down":
        house.disconnect("shoe")
    foreign(house, "shoe", why)
    (voided,) = house.find("round.voided")
    assert (voided.clause, voided.data["reason"]) == (("13.G",), "the shoe cannot be used here")
    assert house.find("device.refused")[-1].clause == ("13.G",)
    assert house.table.next_step().text == "Return all wagers."
    assert house.state.warnings["shoe.refused"].text.startswith("the shoe cannot be used here: it")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.work(stop=TableState.WAITING)
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.auto_work = house.auto_take = True
    house.work()
    assert house.at() is TableState.BETTING, house.table.next_step()
    same_after_snapshot(house)


@clause("13.G")
def test_a_stack_that_was_taken_while_the_shoe_was_exchanged_is_asked_for_before_it_is_called_missing() -> None:
    """The shoe that was there cannot report it, and the other one knows nothing of it: the cards are in a hand."""
    house = House(ONE).open()
    house.auto_work = house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    house.step()
    foreign(house, "shoe", "another journal")
    house.ask(act.ReturnWagers)
    house.ask(act.GatherCards, "red-1", "shoe", 50, confirmed=True)
    assert house.state.decks["red-1"].cards == {"table": 50, "taken": 3}
    assert house.find("ledger.disagreed") == []
    assert house.table.next_step().text == "Put the cards last taken from the shoe on the pile and count them."
    assert house.attempt(act.DeclareMissing, "red-1")[-1].kind == "action.refused"
    house.ask(act.GatherCards, "red-1", "taken", 3)
    assert house.state.decks["red-1"].cards == {"table": 53}
    same_after_snapshot(house)


@clause("13.G")
@pytest.mark.parametrize("why", REFUSED)
def test_play_goes_on_when_the_right_shoe_is_back_and_a_floorperson_has_cleared_the_warning(why: str) -> None:
    house = House(HELD).open()
    right = house.devices["shoe"].boot
    house.auto_work = house.auto_take = False
    house.ask(act.CloseBets, (1,))
    foreign(house, "shoe", why)
    house.ask(act.ReturnWagers)
    house._todo.clear()
    answers(house, "shoe", boot=right)
    assert house.state.warnings["shoe.refused"].gone
    assert house.refused(act.ClearWarning, "shoe.refused", role=Role.DEALER).clause == ("13.G", "13.H")
    house.auto_work = house.auto_take = True
    house.tick()
    house.work()
    assert house.at() is TableState.BETTING, house.table.next_step()
    assert not house.state.warnings
    same_after_snapshot(house)


@clause("10.A", "13.G")
@pytest.mark.parametrize("why", REFUSED)
def test_a_deck_in_a_shoe_that_was_swapped_before_the_deal_is_shuffled_again(why: str) -> None:
    house = House(HELD).open()
    foreign(house, "shoe", why)
    assert house.deck("red-1") is DeckState.RECALLED
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.CloseBets, (1,))
    assert "count" in house.table.next_step().text
    house.work(stop=TableState.WAITING)
    step = house.table.next_step()
    assert step.text == f"{remedy('shoe.refused')}."
    assert {"action": "take_out_of_service", "device": "shoe"} in step.do


@clause("3.B(2)", "13.F")
@pytest.mark.parametrize("why", REFUSED)
def test_no_round_starts_while_a_refused_box_is_where_the_other_deck_was(why: str) -> None:
    house = House().open()
    assert house.deck("blue-1") is DeckState.SHUFFLED
    foreign(house, "shuffler", why)
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.CloseBets, (1,)).clause == ("13.F", "13.H")
    assert house.deck("blue-1") is DeckState.RECALLED
    house.ask(act.TakeOutOfService, "shuffler", "marked")
    house.work()
    assert house.refused(act.CloseBets, (1,)).clause == ("3.B",), "two decks need a shuffler"


@clause("13.F")
def test_a_round_goes_on_while_a_refused_box_is_where_the_shuffler_was() -> None:
    house = House().open()
    house.deal((1,))
    foreign(house, "shuffler", "another journal")
    assert not house.find("round.voided")
    house.finish()
    assert house.find("round.completed")
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.CloseBets, (1,))


@clause("10.B(5)")
def test_only_the_stub_is_left_in_a_shoe_that_is_refused() -> None:
    """All hands have their cards: the dealer takes the stub out by hand, and the round ends as usual."""
    house = House().open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.take("shoe")
    house.auto_work = False
    house.take("shoe")
    assert house.at() is TableState.ACTING
    foreign(house, "shoe", "another journal")
    assert not house.find("round.voided")
    assert house.table.next_step().text == "Take the stub out."
    house.move_all("shoe", "rack")
    house.ask(act.RemoveStub)
    house.finish()
    assert house.find("round.completed")
    assert house.at() is TableState.SUSPENDED


def test_a_device_that_keeps_its_memory_is_not_reset_by_switching_it_off_and_on() -> None:
    house = House(ONE)
    able = (*capabilities(ONE, "shoe"), wire.Capability.KEEPS_MEMORY)
    answers(house, "shoe", boot=5, able=able, last_command=10_000)
    assert house.find("device.refused")[-1].data["reason"].endswith(": reset it as its manufacturer describes")


def test_a_device_that_the_table_does_not_have_is_ignored() -> None:
    house = House(ONE)
    assert house.table.handle(DeviceReady("camera", 1, (), serial="C-1"), house.now) == []


def test_a_refused_box_that_connects_again_and_again_is_warned_of_once() -> None:
    house = House().open()
    for _ in range(3):
        foreign(house, "shuffler", "another journal")
    assert [event.data["warning"] for event in house.find("warning.raised")] == ["shuffler.refused"]


@clause("13.H")
def test_a_box_that_lacks_a_capability_does_not_come_into_service() -> None:
    house = House(HELD).open()
    house.ask(act.EmptyDevice, "shoe")
    house.work(stop=TableState.WAITING)
    house.ask(act.TakeOutOfService, "shoe", "removed")
    foreign(house, "shoe", "lacks a capability")
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.UNKNOWN
    assert (
        house.state.warnings["shoe.refused"].text
        == "the shoe cannot be used here: it lacks what this table needs (holds stack)"
    )
    answers(house, "shoe", boot=778)
    assert house.device("shoe") is DeviceState.READY
    assert house.state.warnings["shoe.refused"].gone


# --- one that is not the same as before -----------------------------------------------------------------------------


def test_every_connection_records_which_device_it_is() -> None:
    house = House(ONE)
    made = answers(house, "shoe", boot=5, **FIRST)
    (identified,) = [event for event in made if event.kind == "device.identified"]
    assert FIRST.items() <= identified.data.items()
    assert identified.event.sentence() == "The shoe is Acme S1, serial number A-1, firmware 1.0."
    assert not house.state.warnings
    answers(house, "shoe", boot=5, **FIRST)
    assert len(house.find("device.identified")) == 2
    assert not house.state.warnings
    same_after_snapshot(house)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"serial": "A-2"}, "another shoe is connected: serial number A-2 instead of A-1"),
        ({"firmware": "1.1"}, "the firmware of the shoe is 1.1, and was 1.0"),
        ({"firmware_digest": "bb"}, "the firmware of the shoe has changed, although its version is still 1.0"),
    ],
)
def test_a_device_that_is_not_the_same_as_before_raises_a_warning(change: dict[str, str], text: str) -> None:
    house = House(ONE)
    answers(house, "shoe", boot=5, **FIRST)
    house.open()
    answers(house, "shoe", boot=6, **{**FIRST, **change})
    warned = house.state.warnings["shoe.replaced"]
    assert (warned.text, warned.needs) == (text, "technician")
    assert house.at() is TableState.SUSPENDED
    refused = house.refused(act.ClearWarning, "shoe.replaced", role=Role.DEALER)
    assert refused.data["reason"] == "only a floorperson or a technician may clear it"
    house.ask(act.ClearWarning, "shoe.replaced", role=Role.TECHNICIAN)
    house.work()
    assert house.at() is TableState.BETTING
    answers(house, "shoe", boot=house.devices["shoe"].boot, **{**FIRST, **change})
    assert not house.state.warnings, "it is the same one now"
    same_after_snapshot(house)


@clause("13.G")
@pytest.mark.parametrize("boot", [5, 6])
def test_a_round_from_a_shoe_that_was_replaced_by_a_suitable_one_is_void(boot: int) -> None:
    """Also if the two shoes happen to have the same boot number."""
    house = House(ONE)
    answers(house, "shoe", boot=5, **FIRST)
    house.open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house._todo.clear()
    answers(house, "shoe", boot=boot, **{**FIRST, "serial": "A-2"})
    assert house.find("round.voided")[-1].data["reason"] == "the shoe was replaced"
    assert house.find("round.voided")[-1].clause == ("13.G",)
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING


def test_a_device_replaced_while_it_is_out_of_service_is_warned_of_when_it_returns() -> None:
    house = House(ONE)
    answers(house, "shoe", boot=5, **FIRST)
    house.open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "removed")
    answers(house, "shoe", boot=6, **{**FIRST, "serial": "A-2"})
    assert house.find("device.identified")[-1].data["serial"] == "A-2"
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.READY
    assert house.at() is TableState.SUSPENDED
    assert "shoe.replaced" in house.state.warnings


def test_a_refused_box_is_recorded_and_the_tables_own_is_still_the_same() -> None:
    house = House(ONE)
    answers(house, "shoe", boot=5, **FIRST)
    answers(house, "shoe", boot=6, last_command=10_000, **{**FIRST, "serial": "B-9"})
    assert [event.data["serial"] for event in house.find("device.identified")] == ["A-1", "B-9"]
    answers(house, "shoe", boot=5, **FIRST)
    assert "shoe.replaced" not in house.state.warnings


# --- what devices report, in full -----------------------------------------------------------------------------------

SEEN = [
    (wire.CardsPresent, {"place": Place.EXIT, "present": False}, {"place": "exit", "present": False},
     "The shoe reported no cards at its exit."),
    (wire.Door, {"state": wire.DoorState.OPEN}, {"door": "open"}, "The door of the shoe was opened."),
    (wire.Door, {"state": wire.DoorState.CLOSED}, {"door": "closed"}, "The door of the shoe was closed."),
    (wire.Button, {"button": wire.ButtonName.RED}, {"button": "red"}, "The red button of the shoe was pressed."),
    (wire.Jam, {"command": 0, "place": Place.SHOE}, {"place": "shoe"}, "The shoe reported: jam."),
    (wire.Fault, {"code": wire.FaultCode.MOTOR, "text": "feed"}, {"code": "motor", "text": "feed"},
     "The shoe reported a fault (motor: feed)."),
    (wire.PowerUp, {"cause": wire.PowerCause.RESET, "memory_kept": True}, {"cause": "reset", "memory_kept": True},
     "The shoe started after a reset, with its memory."),
    (wire.UnknownEvent, {"message_number": 90, "content": b"x"}, {"message_number": 90, "content": "78"},
     "The shoe sent an event of an unknown kind (message 90)."),
    (wire.MalformedEvent, {"message_number": 66, "content": b"x", "problem": "why"},
     {"message_number": 66, "content": "78", "problem": "why"},
     "The shoe sent an event that cannot be read (message 66: why)."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "stored", "text"), SEEN, ids=lambda value: getattr(value, "__name__", ""))
def test_what_a_device_reports_is_recorded_in_full(
    kind: type[wire.EventMessage], fields: dict[str, Any], stored: dict[str, Any], text: str
) -> None:
    """Whatever follows from it."""
    house = House(ONE).open()
    house.auto_work = False
    start = len(house.events)
    house.report("shoe", kind, **fields)
    reported = house.events[start]
    assert reported.kind == "device.reported"
    assert stored.items() <= reported.data.items()
    assert reported.data["event"] == kind.__name__
    assert reported.event.sentence() == text
    same_after_snapshot(house)


def test_cards_taken_without_effect_are_recorded_with_their_number() -> None:
    house = House(ONE, connect=True)
    house.ask(act.OpenTable)
    house.report("shoe", wire.StackTaken, command=7, place=Place.EXIT, cards=2)
    (reported,) = house.last
    assert reported.data["cards"] == 2
    assert (reported.data["place"], reported.data["command"]) == ("exit", 7)

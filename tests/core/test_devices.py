"""Devices that jam, stop, restart and disconnect (13.F, 13.G, 13.H); warnings; deadlines."""

from __future__ import annotations

import msgspec
import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.reports import CommandReply, DeviceAhead, DeviceEvent, DeviceReady
from controller.core.setup import Setup, ShufflerKind
from controller.core.warning_kinds import remedy
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Dispense, Place, Reason
from tests.support.core_driver import House, capabilities, pending, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))
TWO = Setup()
HELD = Setup(hold_dealer=True)


def shuffling_red(setup: Setup = TWO) -> House:
    """Round 1 is over; red is in the infeed and the shuffler has not yet carried out its command."""
    house = House(setup).open()
    house.deal()
    house.finish()
    house.tick()
    house.auto_work = False
    house.insert("red-1")
    return house


# --- 13.F -----------------------------------------------------------------------------------------------------------


@clause("13.F")
@pytest.mark.parametrize(
    "fault", ["jam", "incomplete", "stopped", "stall", "fail", "refuse:OTHER_BOOT", "refuse:FAILED"]
)
def test_a_shuffle_that_does_not_end_well_is_done_again(fault: str) -> None:
    house = shuffling_red()
    house.faults["shuffler", "Shuffle"] = fault
    house.auto_work = True
    house.tick()
    if fault == "stall":
        assert house.deck("red-1") is DeckState.SHUFFLING
        assert house.table.deadline <= house.now + 180
        house.tick(181)
    assert house.find("shuffle.failed")[-1].clause == ("13.F",)
    assert house.deck("red-1") in (DeckState.RECALLED, DeckState.STACKED)
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.CloseBets, (1,))
    assert not house.find("round.voided")
    if fault in ("stall", "fail", "refuse:FAILED"):
        assert house.device("shuffler") is DeviceState.FAILED
        house.restart("shuffler")
    house.work()
    assert house.at() is TableState.BETTING
    assert house.deck("blue-1") is DeckState.LOADED
    assert house.state.decks["red-1"].counted
    same_after_snapshot(house)


@clause("13.F")
@pytest.mark.parametrize("what", ["restart", "lost"])
def test_a_restart_or_a_lost_link_during_a_shuffle(what: str) -> None:
    house = shuffling_red()
    (_, id, _) = house._todo.popleft()
    house._answer("shuffler", id)
    assert house.deck("red-1") is DeckState.SHUFFLING
    if what == "restart":
        house.restart("shuffler")
    else:
        house.disconnect("shuffler")
        house.tick(5)
        assert house.deck("red-1") is DeckState.SHUFFLING, "its grace period is not over"
        house.tick(6)
        assert house.find("warning.raised")[-1].data["warning"] == "shuffler.lost"
    assert house.find("shuffle.failed")[-1].clause == ("13.F",)
    house.auto_work = True
    house.connect("shuffler")
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("13.F")
def test_a_link_that_is_back_in_time_has_lost_nothing() -> None:
    house = shuffling_red()
    house.disconnect("shuffler")
    house.tick(5)
    house.auto_work = True
    house.connect("shuffler")
    assert house.find("device.resumed")
    assert not house.find("shuffle.failed")
    house.work()
    assert house.at() is TableState.BETTING
    assert not house.state.warnings


@clause("13.F", "3.B(2)")
def test_a_round_with_the_other_deck_is_not_touched() -> None:
    house = shuffling_red()
    (_, id, _) = house._todo.popleft()
    house._answer("shuffler", id)
    assert house.at() is TableState.BETTING
    house.auto_work = True
    house.ask(act.CloseBets, (1, 2))
    house.report("shuffler", wire.Jam, command=id, place=Place.SHELVES)
    house.devices["shuffler"].jammed = True
    assert house.deck("red-1") is DeckState.RECALLED
    assert house.at() is TableState.ACTING
    house.finish()
    assert house.find("round.completed")[-1].data["round"] == 2
    assert house.at() is TableState.SUSPENDED
    house.work()
    assert house.at() is TableState.BETTING
    assert house.find("betting.opened")[-1].data["deck"] == "red-1"


@clause("13.F")
@pytest.mark.parametrize("fault", ["jam", "incomplete", "stall"])
def test_a_jam_while_the_deck_is_delivered_is_no_void(fault: str) -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.faults["shuffler", "Deliver"] = fault
    house.work()
    if fault == "stall":
        house.tick(31)
        house.restart("shuffler")
        house.work()
    assert not house.find("round.voided")
    assert [e.clause for e in house.find("deck.recalled")] == [("13.F",)]
    assert house.at() is TableState.BETTING
    assert len(house.find("shuffle.completed")) == 2


@clause("13.F")
def test_cards_that_were_in_a_shuffler_that_restarted_are_shuffled_again() -> None:
    house = House().open()
    assert house.deck("blue-1") is DeckState.SHUFFLED
    house.restart("shuffler")
    assert house.deck("blue-1") is DeckState.RECALLED or house.find("deck.gathered")
    house.work()
    assert house.at() is TableState.BETTING


# --- 13.G -----------------------------------------------------------------------------------------------------------

IN_THE_DEAL = [
    "jam",
    "incomplete",
    "stopped",
    "stall",
    "fail",
    "refuse:OTHER_BOOT",
    "refuse:FORGOTTEN",
    "refuse:NO_CARDS",
]


@clause("13.G")
@pytest.mark.parametrize("fault", IN_THE_DEAL)
@pytest.mark.parametrize("command", ["Dispense", "Release"])
@pytest.mark.parametrize("decks", [1, 2])
def test_a_shoe_that_stops_voids_the_round(fault: str, command: str, decks: int) -> None:
    house = House(msgspec.structs.replace(HELD, backs=("red", "blue")[:decks])).open()
    house.faults["shoe", command] = fault
    house.deal((1, 4))
    if command == "Release":
        house.ask(act.PlayersActed)
    if fault == "stall":
        house.tick(16)
    assert house.find("round.voided")[-1].clause == ("13.G",)
    assert house.at() is TableState.VOIDING
    assert house.table.next_step().text == "Return all wagers."
    given = len(house.find("command.given"))
    house.tick(300)
    assert len(house.find("command.given")) == given, "nothing moves before the wagers are returned"
    if house.device("shoe") is DeviceState.FAILED:
        house.restart("shoe")
    house.work()
    assert house.at() is TableState.BETTING, house.table.next_step()
    assert house.find("wagers.returned")
    assert house.state.decks["red-1"].counted
    same_after_snapshot(house)


@clause("13.G")
@pytest.mark.parametrize("what", ["restart", "lost", "power"])
def test_a_shoe_that_restarts_or_stays_away_in_the_deal(what: str) -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1, 2))
    house.step()
    house.take("shoe")
    assert house.device("shoe") is DeviceState.WORKING
    if what == "restart":
        house.restart("shoe")
    elif what == "power":
        house._todo.clear()
        house.report("shoe", wire.PowerUp, cause=wire.PowerCause.POWER, memory_kept=True)
    else:
        house.disconnect("shoe")
        house.tick(5)
        assert house.at() is TableState.DEALING
        house.tick(6)
    assert house.find("round.voided")[-1].clause == ("13.G",)
    house.auto_work = True
    house._todo.clear()
    house.connect("shoe")
    house.work()
    assert house.at() is TableState.BETTING


@clause("10.B(5)")
@pytest.mark.parametrize("reported_by", ["dealer", "shoe"])
@pytest.mark.parametrize("memory_kept", [True, False])
def test_a_stub_at_the_exit_of_a_shoe_that_restarts_is_not_taken_for_gone(memory_kept: bool, reported_by: str) -> None:
    """It may still be there, or somebody took it while the shoe was off: the dealer or the shoe reports it."""
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    while not ((given := house.state.devices["shoe"].at_exit) and given.target == "stub"):
        if not house.take("shoe"):
            house.step()
    if memory_kept:
        house.report("shoe", wire.PowerUp, cause=wire.PowerCause.POWER, memory_kept=True)
    else:
        house.restart("shoe")
    step = house.table.next_step()
    assert (step.text, step.do) == ("Take the stub out.", ({"action": "remove_stub"},))
    house.move("red-1", "exit", "rack", 47)
    if reported_by == "dealer":
        house.ask(act.RemoveStub)
    else:
        house.report("shoe", wire.StackTaken, command=0, place=wire.Place.EXIT, cards=47)
    assert house.state.decks["red-1"].cards == {"seat1": 3, "dealer": 3, "rack": 47}
    assert not house.find("round.voided")
    same_after_snapshot(house)


@clause("13.G")
def test_a_shoe_that_is_back_in_time_goes_on() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1, 2))
    house.disconnect("shoe")
    house.auto_work = True
    house.tick(8)
    house.connect("shoe")
    assert house.at() is TableState.ACTING
    assert not house.find("round.voided")
    taken = [e.data["target"] for e in house.find("stack.taken")]
    assert taken == ["seat1", "seat2", "dealer"], "none twice, none missing"


@clause("13.G")
def test_a_shoe_that_gets_lost_when_all_is_dealt_does_no_harm() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.take("shoe")
    house.auto_work = False
    house.take("shoe")
    assert house.at() is TableState.ACTING
    house.disconnect("shoe")
    house.tick(30)
    assert not house.find("round.voided")
    house.move_all("shoe", "rack")
    house.ask(act.RemoveStub)
    house.finish()
    assert house.find("round.completed")
    assert house.at() is TableState.SUSPENDED
    house.auto_work = house.auto_take = True
    house._todo.clear()
    house.connect("shoe")
    house.work()
    assert house.at() is TableState.BETTING


@clause("13.G")
def test_a_loaded_shoe_that_restarts_before_the_deal() -> None:
    house = House(ONE).open()
    house.restart("shoe")
    assert not house.find("round.voided")
    assert house.at() is TableState.SUSPENDED
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.find("shuffle.completed")) == 2


@clause("13.G")
def test_cards_taken_out_of_a_dead_shoe_by_hand() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1, 2))
    house.step()
    house.take("shoe")
    house.disconnect("shoe")
    house.tick(11)
    house.ask(act.ReturnWagers)
    house.ask(act.GatherCards, "red-1", "seat1", 3)
    assert "count" in house.table.next_step().text
    house.ask(act.GatherCards, "red-1", "shoe", 50)
    assert house.state.decks["red-1"].cards == {"table": 53}
    assert house.at() is TableState.SUSPENDED


# --- hindrances -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["DOOR_OPEN", "LOCKED", "BUSY", "EVENTS_FULL"])
def test_a_shoe_that_is_hindered_is_asked_again(reason: str) -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = f"refuse:{reason}"
    house.deal((1,))
    assert house.state.devices["shoe"].hindered
    assert "try again" in house.table.next_step().text
    assert not house.find("round.voided")
    house.ask(act.TryAgain, "shoe")
    assert house.at() is TableState.ACTING


@clause("13.F", "13.G")
@pytest.mark.parametrize(("device", "command", "longest_s"), [("shuffler", "Shuffle", 180), ("shoe", "Dispense", 60)])
def test_a_device_that_stays_busy_has_failed(device: str, command: str, longest_s: int) -> None:
    """A device stuck in a cycle that was given up stayed busy, and the guide kept saying: try again."""
    house = House(ONE)
    busy = {(device, command): "refuse:BUSY"}
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    if device == "shoe":
        house.work()
        house.faults |= busy
        house.ask(act.CloseBets, (1,))
    else:
        house.faults |= busy
        while not house.find("device.hindered"):
            house.do_next_task()
    for _ in range(4):
        house.faults |= busy
        house.now += longest_s / 4 - 2
        house.ask(act.TryAgain, device)
        assert not house.find("device.failed")
    house.faults |= busy
    house.now += longest_s / 4
    house.ask(act.TryAgain, device)
    assert house.find("device.failed")[-1].data["reason"] == "stays busy"
    assert house.state.warnings[f"{device}.fail"].needs == "floor"
    house.restart(device)  # switched off and on
    house.work()
    assert house.at() is TableState.BETTING


def test_a_closed_door_is_noticed() -> None:
    house = House(ONE).open()
    house.devices["shoe"].door_open = True
    house.deal((1,))
    assert house.state.devices["shoe"].hindered == "its door is open"
    house.devices["shoe"].door_open = False
    house.report("shoe", wire.Door, state=wire.DoorState.CLOSED)
    assert house.at() is TableState.ACTING


def test_a_shuffle_without_cards_waits_for_them() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.faults["shuffler", "Shuffle"] = "refuse:NO_CARDS"
    house.work()
    assert house.at() is TableState.BETTING
    assert house.find("device.hindered")[0].data["reason"] == "no cards are in its infeed"


# --- warnings -------------------------------------------------------------------------------------------------------


@clause("13.F")
def test_a_jam_stays_until_it_is_gone_and_a_person_has_cleared_it() -> None:
    house = shuffling_red()
    house.faults["shuffler", "Shuffle"] = "jam"
    house.auto_work = True
    house.tick()
    assert house.refused(act.ClearWarning, "shuffler.jam").data["possible_when"] == "the cause is gone"
    assert house.refused(act.EmptyDevice, "shuffler")
    assert house.refused(act.TestDevice, "shuffler")
    house.faults["shuffler", "ClearJam"] = "still"
    house.ask(act.FreeJam, "shuffler")
    assert house.device("shuffler") is DeviceState.JAMMED
    house.restart("shuffler")
    assert house.device("shuffler") is DeviceState.JAMMED, "a restart does not free a jam"
    house.ask(act.FreeJam, "shuffler")
    assert house.state.warnings["shuffler.jam"].gone
    assert house.refused(act.InsertDeck, "red-1").clause == ("13.F",)
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.CloseBets, (1,))
    assert house.refused(act.ClearWarning, "shuffler.jam", role=Role.AUDITOR)
    assert house.refused(act.ClearWarning, "nothing")
    house.work()
    cleared = house.find("warning.cleared")
    assert all(event.data["who"] for event in cleared)
    assert house.at() is TableState.BETTING


@pytest.mark.parametrize("name", ["shuffler", "shoe"])
@pytest.mark.parametrize("fault", ["stopped", "incomplete", "refuse:DOOR_OPEN", "refuse:BUSY", "refuse:LOCKED"])
@clause("13.F", "13.G")
def test_a_jam_that_could_not_be_looked_after_can_be_freed_again(name: str, fault: str) -> None:
    """For example, a door was opened: the device was ready with its jam not gone, and it could not be freed again."""
    if name == "shuffler":
        house = shuffling_red()
        house.faults["shuffler", "Shuffle"] = "jam"
        house.auto_work = True
        house.tick()
    else:
        house = House().open()
        house.faults["shoe", "Dispense"] = "jam"
        house.ask(act.CloseBets, (1,))
        house.ask(act.ReturnWagers)
    house.faults[name, "ClearJam"] = fault
    house.ask(act.FreeJam, name)
    assert house.device(name) is DeviceState.JAMMED
    assert not house.state.warnings[f"{name}.jam"].gone
    given = [event.data["command"]["name"] for event in house.find("command.given") if "until_ms" in event.data]
    assert given[-1] == "ClearJam", "a jammed device gets no other command"
    step = house.table.next_step()
    assert {"action": "free_jam", "device": name} in step.do
    assert ("refused" in step.why) == fault.startswith("refuse")
    house.work()
    assert house.at() is TableState.BETTING
    assert not house.state.warnings


@clause("13.F")
def test_a_warned_shuffler_shuffles_nothing() -> None:
    house = shuffling_red()
    house.faults["shuffler", "Shuffle"] = "incomplete"
    house.auto_work = True
    house.tick()
    while house.deck("red-1") is not DeckState.STACKED:
        assert house.do_next_task()
    assert not house.state.warnings or house.refused(act.InsertDeck, "red-1").clause == ("13.F",)


# --- 13.H -----------------------------------------------------------------------------------------------------------


@clause("13.H")
@pytest.mark.parametrize("how", ["covered", "removed", "marked"])
def test_no_other_way_before_the_shoe_is_out_of_the_way(how: str) -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "fail"
    house.deal((1,))
    assert house.attempt(act.ChangeMethod, Method.MANUAL_SHOE)[0].clause == ("13.H",)
    if how == "removed":
        assert house.refused(act.TakeOutOfService, "shoe", how).clause == ("13.H",)
    house.work(stop=TableState.SUSPENDED)
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.ChangeMethod, Method.MANUAL_SHOE).clause == ("13.H",)
    assert house.refused(act.ChangeMethod, Method.MANUAL_SHOE, role=Role.DEALER)
    assert house.refused(act.TakeOutOfService, "shoe", "kicked").clause == ("13.H",)
    assert house.refused(act.TakeOutOfService, "shoe", how, role=Role.DEALER)
    house.ask(act.TakeOutOfService, "shoe", how)
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.work()
    assert house.at() is TableState.BETTING
    house.play((1, 2))
    assert house.find("round.completed")
    same_after_snapshot(house)


@clause("13.H", "9.A(1)", "3.C")
def test_by_hand_when_the_shoe_is_out_and_the_shuffler_works() -> None:
    house = House(TWO).open()
    house.play()
    house.ask(act.UnloadDeck, "blue-1")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.HAND)
    house.work()
    assert house.at() is TableState.BETTING
    house.play((1, 2))
    assert house.find("round.completed")[-1].data["round"] == 2
    assert house.state.decks, "two decks still take turns"
    assert house.find("round.started")[-1].data["deck"] == "blue-1"


@clause("13.H", "3.B", "9.A(1)", "5.E")
def test_a_shuffler_out_of_service_leaves_one_deck_shuffled_by_hand() -> None:
    house = House(TWO).open()
    house.play()
    assert house.refused(act.ShuffleByHand, "red-1").data["reason"]
    house.restart("shuffler")
    house.auto_work = True
    house.work(stop=TableState.SUSPENDED)
    house.ask(act.TakeOutOfService, "shuffler", "marked")
    assert house.attempt(act.ChangeMethod, Method.HAND)[0].kind == "action.refused"
    house.work()
    assert house.at() is not TableState.BETTING
    assert house.attempt(act.CloseBets, (1,))[0].kind == "action.refused"
    (out,) = [name for name, deck in house.state.decks.items() if deck.state is DeckState.STACKED]
    assert house.table.next_step().text == f"A floorperson takes deck {out} off the table."
    house.ask(act.RemoveDeck, out)
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.state.decks) == 1
    house.deal()
    house.finish()
    assert house.refused(act.ReceiveDeck, "red-2", "red" if out == "red-1" else "blue").clause == ("3.B",)
    house.work()
    for _ in range(4):
        house.play((1,))
    assert house.find("cut.made"), "shuffled by hand, so it is cut"
    assert house.find("stub.counted"), "without a counting shuffler, the stub is counted"
    same_after_snapshot(house)


@clause("13.H")
def test_a_device_is_not_taken_away_before_it_is_shown_empty() -> None:
    house = House(TWO).open()
    for name in ("shuffler", "shoe"):
        assert house.refused(act.TakeOutOfService, name, "removed").clause == ("13.H",)
    house.auto_work = False
    house.ask(act.UnloadDeck, "blue-1")
    assert house.refused(act.TakeOutOfService, "shuffler", "removed").data["reason"]
    house.auto_work = True
    house.tick()
    house.ask(act.TakeOutOfService, "shuffler", "removed")


@clause("13.H", "5.D")
def test_sixteen_cards_left_behind_are_declared_before_a_shuffler_leaves() -> None:
    house = House(TWO).open()
    house.move("blue-1", "output", "nowhere", 16)
    house.ask(act.UnloadDeck, "blue-1")
    assert house.state.decks["blue-1"].cards == {"table": 37, "missing": 16}
    assert house.refused(act.TakeOutOfService, "shuffler", "removed").data["possible_when"].startswith("it is shown")
    assert house.refused(act.RemoveDeck, "blue-1").clause == ("5.D",)
    house.ask(act.DeclareMissing, "blue-1")
    house.ask(act.RemoveDeck, "blue-1")
    house.ask(act.TakeOutOfService, "shuffler", "removed")


@clause("13.H")
def test_a_device_comes_back_into_service() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "fail"
    house.deal((1,))
    house.work(stop=TableState.SUSPENDED)
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.work()
    house.play((1,))
    house.restart("shoe")
    assert house.device("shoe") is DeviceState.OUT_OF_SERVICE
    assert house.refused(act.EmptyDevice, "shoe")
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.READY
    assert house.at() is TableState.SUSPENDED, "its warning remains"
    house.ask(act.UnloadDeck, "red-1")
    house.work(stop=TableState.WAITING)
    house.ask(act.ChangeMethod, Method.AUTOMATED_SHOE)
    house.work()
    assert house.at() is TableState.BETTING
    house.play((1,))
    same_after_snapshot(house)


@clause("9.A(1)")
def test_a_table_that_deals_by_hand_needs_its_shuffler() -> None:
    house = House(Setup(method=Method.HAND, backs=("red",), shuffler=ShufflerKind(counts=True))).open()
    house.ask(act.TakeOutOfService, "shuffler", "marked")
    assert house.refused(act.CloseBets, (1,)).clause == ("9.A(1)",)
    house.ask(act.UnloadDeck, "red-1")
    house.work()
    assert house.at() is not TableState.BETTING
    assert house.refused(act.LoadDeck, "red-1").clause == ("9.A(1)",)
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.work()
    assert house.at() is TableState.BETTING


# --- reports that lead to nothing -----------------------------------------------------------------------------------


def test_reports_of_strangers_and_of_earlier_lives_change_nothing() -> None:
    house = House(ONE).open()
    device = house.devices["shoe"]
    late = wire.StackTaken(number=99, at_ms=0, command=1, place=Place.EXIT, cards=3)
    assert house.table.handle(DeviceEvent("shoe", device.boot + 7, late), house.now) == []
    assert house.table.handle(DeviceEvent("camera", 1, late), house.now) == []
    assert house.table.handle(CommandReply("shoe", 12345, wire.Done(12345)), house.now) == []
    assert house.table.handle(CommandReply("camera", 1, None), house.now) == []
    house.report("shoe", wire.Button, button=wire.ButtonName.GREEN)
    assert house.last[0].kind == "device.reported"
    again = wire.Button(number=device.number, at_ms=0, button=wire.ButtonName.GREEN)
    assert house.table.handle(DeviceEvent("shoe", device.boot, again), house.now) == []
    assert house.state.devices["shoe"].last_event == device.number


def test_what_no_device_has_answered_is_given_again_after_a_restart_of_the_host() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    (given,) = pending(house.state)
    assert given.command == Dispense(given.id, house.devices["shoe"].boot, 3, False)
    assert house.events[given.id - 1].kind == "command.given"
    house._answer("shoe", given.id)
    assert pending(house.state) == []


def test_time_never_goes_back() -> None:
    house = House(ONE).open()
    before = house.state.now_ms
    house.table.handle(act.UnloadDeck("red-1", who="dana", role=Role.DEALER), 0.0)
    assert house.state.now_ms == before


@clause("13.F", "13.G")
def test_an_answer_that_nobody_knows_is_never_guessed() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    (given,) = pending(house.state)
    house.handle(CommandReply("shoe", given.id, wire.Refused(given.id, Reason.OTHER_BOOT)))
    (answer,) = [e.data["answer"] for e in house.find("command.answered") if e.data["id"] == given.id]
    assert answer == "unknown"
    assert house.find("round.voided")[-1].clause == ("13.G",)


@clause("10.B(5)", "13.G")
def test_a_stub_is_taken_by_hand_from_a_shoe_that_failed_and_is_still_there() -> None:
    """All cards are dealt, and the shoe reports that it cannot bring out the stub: there must still be a next step."""
    house = House().open()
    house.faults["shoe", "Eject"] = "refuse:FAILED"
    house.deal()
    assert (house.device("shoe"), house.devices["shoe"].online) == (DeviceState.FAILED, True)
    assert not house.find("round.voided"), "the cycle has not begun, so nothing is stuck"
    house.move_all("shoe", "rack")
    house.ask(act.RemoveStub)
    assert house.state.round
    assert house.state.round.stub_out


@clause("10.B(5)", "13.G")
@pytest.mark.parametrize("fault", ["jam", "stall", "fail"])
def test_cards_that_are_stuck_while_the_stub_comes_out_void_the_round(fault: str) -> None:
    """Reported or not: a shoe that stops with cards on their way counts as jammed."""
    house = House().open()
    house.faults["shoe", "Eject"] = fault
    house.deal()
    if fault == "stall":
        house.refused(act.RemoveStub)  # it is still working
        house.tick(120)
    assert [event.clause for event in house.find("round.voided")] == [("13.G",)]
    house.ask(act.ReturnWagers)
    if fault != "jam":
        house.restart("shoe")
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


# --- a device from another journal ----------------------------------------------------------------------------------


def test_a_device_that_is_ahead_of_the_journal_is_refused() -> None:
    """Ids come from the journal. A device that has seen a higher id would refuse every command as forgotten."""
    house = House(ONE).open()
    boot, last, able = house.devices["shoe"].boot + 1, house.state.seq, capabilities(ONE, "shoe")
    (refused, *_) = house.handle(DeviceReady("shoe", boot, able, last_command=last + 1))
    assert refused.kind == "device.refused"
    assert refused.data["reason"] == (
        f"its last command was {last + 1}, from another journal, and this journal is at {last}: "
        "switch it off and on to reset it"
    )
    assert house.device("shoe") is DeviceState.UNKNOWN
    assert house.refused(act.CloseBets, (1,))
    house.restart("shoe")
    assert house.device("shoe") is DeviceState.READY


@clause("13.F", "13.G")
@pytest.mark.parametrize("name", ["shuffler", "shoe"])
def test_a_device_that_has_done_what_the_journal_lacks_is_emptied_and_accepted(name: str) -> None:
    """As after a disk that lost data. The guide used to say only that the device does not answer."""
    house = House().open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    last = house.state.devices[name].last_event
    ahead = DeviceAhead(name, house.devices[name].boot, last + 2)
    house.devices[name].online = False
    made = house.handle(ahead)
    assert house.device(name) is DeviceState.UNKNOWN
    text = house.state.warnings[f"{name}.gap"].text
    assert text == f"the journal is missing events {last + 1} to {last + 2} of the {name}"
    assert bool(house.find("round.voided")) is (name == "shoe")
    assert [event.kind for event in made].count("cycle.lost") == (name == "shoe")
    assert house.handle(ahead) == [], "it is reported once"
    deck = "red-1" if name == "shoe" else "blue-1"
    refused = house.refused(act.AcceptDevice, name)
    assert refused.data["reason"] == f"cards of deck {deck} are still in it"
    house.refused(act.AcceptDevice, name, role=Role.DEALER)
    if name == "shoe":
        house.ask(act.ReturnWagers)
    place = "shoe" if name == "shoe" else "output"
    house.ask(act.GatherCards, deck, place, 53)
    house.move_whole_deck(deck, "table")
    if name == "shoe":
        step = house.table.next_step()
        assert step.text == "Is the shoe empty? Then a technician or a floorperson accepts it again."
        assert step.do == ({"action": "accept_device", "device": "shoe"},)
    (accepted, gone, *_) = house.ask(act.AcceptDevice, name, role=Role.TECHNICIAN)
    assert (accepted.kind, accepted.data["told"], accepted.data["who"]) == ("device.accepted", last + 2, "tess")
    assert (gone.kind, gone.data["warning"]) == ("warning.cause_gone", f"{name}.gap")
    assert house.state.devices[name].last_event == last + 2
    assert house.refused(act.AcceptDevice, name).data["reason"] == f"no event of the {name} is missing from the journal"
    house.devices[name].number = last + 2
    house.auto_work = True
    house.connect(name)
    assert house.device(name) in (DeviceState.READY, DeviceState.WORKING)
    assert not house.state.devices[name].refused
    same_after_snapshot(house)


@clause("13.G")
def test_a_shoe_that_is_not_accepted_yet_is_not_loaded() -> None:
    house = House(Setup(backs=("red",), shuffler=None))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    while house.deck("red-1") is not DeckState.CUT:
        assert house.do_next_task()
    house.handle(DeviceAhead("shoe", house.devices["shoe"].boot, house.state.devices["shoe"].last_event + 1))
    refused = house.refused(act.LoadDeck, "red-1")
    assert refused.clause == ("13.G",)
    assert refused.data["possible_when"] == "the shoe is empty and has been accepted again"
    house.ask(act.AcceptDevice, "shoe")
    house.ask(act.LoadDeck, "red-1")


def test_one_event_that_the_journal_lacks_of_a_device_that_is_out_of_service_is_told_when_it_returns() -> None:
    house = House().open()
    house.ask(act.EmptyDevice, "shoe")
    house.work(stop=TableState.WAITING)
    house.ask(act.TakeOutOfService, "shoe", "marked")
    ahead = DeviceAhead("shoe", house.devices["shoe"].boot, house.state.devices["shoe"].last_event + 1)
    assert house.handle(ahead) == []
    house.disconnect("shoe")
    house.ask(act.PutInService, "shoe")
    house.handle(ahead)
    assert house.state.warnings["shoe.gap"].text == f"the journal is missing event {ahead.told} of the shoe"


def test_a_refused_device_is_told_with_its_reason() -> None:
    house = House(ONE, connect=False)
    house.ask(act.OpenTable)
    for name in ("shuffler", "shoe"):
        house.handle(DeviceReady(name, 5, capabilities(ONE, name), last_command=10_000))
    step = house.table.next_step()
    assert step.text == f"{remedy('shuffler.refused')}."
    assert "switch it off and on" in step.why


def test_a_device_that_has_seen_the_journals_last_command_is_taken() -> None:
    house = House(ONE).open()
    house.handle(DeviceReady("shoe", house.devices["shoe"].boot, capabilities(ONE, "shoe"),
                             last_command=house.state.seq))  # fmt: skip
    assert house.device("shoe") is DeviceState.READY


@clause("13.H")
def test_a_device_of_another_journal_does_not_come_into_service() -> None:
    house = House(ONE).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    boot = house.devices["shoe"].boot + 1
    house.handle(DeviceReady("shoe", boot, capabilities(ONE, "shoe"), last_command=10_000))
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.UNKNOWN
    house.connect("shoe", boot=boot + 1)
    assert house.device("shoe") is DeviceState.READY


@clause("13.H")
def test_a_lost_device_that_is_taken_out_gives_its_command_up() -> None:
    house = shuffling_red()
    given = house.state.devices["shuffler"].doing
    assert given
    house.disconnect("shuffler")
    house.ask(act.TakeOutOfService, "shuffler", "marked")
    assert [event.data["id"] for event in house.find("cycle.lost")] == [given.id]
    assert pending(house.state) == []


@clause("10.B(5)", "13.G")
def test_nobody_takes_the_stub_by_hand_while_the_shoe_may_be_bringing_it() -> None:
    """The link is briefly down in the middle of the cycle, so it is unknown whether the cards are out."""
    house = House().open()
    house.faults["shoe", "Eject"] = "stall"
    house.deal()
    house.disconnect("shoe")
    assert house.refused(act.RemoveStub).clause == ("10.B(5)",)
    house.tick(house.setup.limits.grace_ms / 1000)
    assert not house.find("stub.removed")
    assert house.find("cycle.lost")


@clause("10.B(5)", "13.G")
def test_a_stub_at_the_exit_is_not_taken_twice_in_the_books() -> None:
    """The stub is at the exit when the link goes down, and a hand takes it; the shoe reports this when it is back."""
    house = House().open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    for _ in range(2):  # the player's stack and the dealer's; the stub stays at the exit
        assert house.take("shoe")
    assert house.state.devices["shoe"].at_exit
    house.disconnect("shoe")
    assert house.refused(act.RemoveStub).clause == ("10.B(5)",)
    house.tick(house.setup.limits.grace_ms / 1000)
    house.move_all("exit", "rack")
    house.ask(act.RemoveStub)  # the link did not come back: now a hand may take it

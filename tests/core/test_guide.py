"""The next step, and the actions that report it as done."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from controller.core import actions as act
from controller.core.actions import Action, AnyAction, Role
from controller.core.events.event import Entry
from controller.core.machines import DeckState, TableState
from controller.core.reports import Report
from controller.core.setup import Setup, ShufflerKind
from controller.core.step import ByHand, Step
from controller.games.game import Method
from firmware_bridge.wire.messages import Place, StackPresented
from tests.support.core_driver import WHO, House

KINDS: dict[str, type[Action]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyAction)}


class Checked(House):
    """Checks after every report that the actions of the step are possible and have the right fields."""

    def handle(self, report: Report) -> list[Entry]:
        """Handle a report, then check the step."""
        made = super().handle(report)
        self.steps: list[Step] = [*getattr(self, "steps", []), self.table.next_step()]
        for offer in self.steps[-1].do:
            kind = KINDS[str(offer["action"])]
            assert offer["action"] in self.steps[-1].allowed_actions, self.steps[-1]
            assert set(offer) - {"action"} <= {field.name for field in msgspec.structs.fields(kind)}, offer
        return made


def offered(house: Checked) -> set[str]:
    """The actions that were offered so far."""
    return {str(offer["action"]) for step in house.steps for offer in step.do}


@pytest.mark.parametrize("method", ["automated_shoe", "manual_shoe", "hand"])
def test_what_a_step_offers_is_possible_in_every_method(method: str) -> None:
    shuffler = {"counts": True, "feeds_shoe": method != "hand"}
    house = Checked(msgspec.convert({"method": method, "shuffler": shuffler}, Setup))
    house.open()
    house.play()
    assert {"open_table", "inspect_deck", "verify_deck", "spread_deck", "wash_deck", "stack_deck"} <= offered(house)
    assert {"insert_deck", "close_bets", "players_acted", "reveal_dealer", "collect_all"} <= offered(house)
    assert ("finish_deal" in offered(house)) == (method != "automated_shoe")


@pytest.mark.clause("3.B(2)")
@pytest.mark.parametrize("feeds_shoe", [True, False])
def test_the_second_prepared_deck_goes_into_the_shuffler(feeds_shoe: bool) -> None:
    house = Checked(Setup(shuffler=ShufflerKind(counts=False, feeds_shoe=feeds_shoe)))
    house.ask(act.OpenTable)
    for back in ("red", "blue"):
        house.receive(f"{back}-1", back, prepared=True)
    assert [offer["action"] for offer in house.table.next_step().do] == ["cut_deck"]
    house.ask(act.CutDeck, "red-1", 20)
    house.gather_real("red-1", "shoe")
    house.ask(act.LoadDeck, "red-1")
    step = house.table.next_step()
    assert (step.text, step.do) == (
        "Put deck blue-1 into the shuffler.",
        ({"action": "insert_deck", "deck": "blue-1"},),
    )
    house.work()
    assert house.at() is TableState.BETTING


def test_what_a_step_offers_is_possible_after_a_jam() -> None:
    house = Checked()
    house.open()
    house.faults["shoe", "Dispense"] = "jam"
    house.ask(act.CloseBets, (2, 5))
    assert house.at() is TableState.VOIDING
    assert [offer["action"] for offer in house.table.next_step().do] == ["return_wagers"]
    house.work()
    assert {"return_wagers", "free_jam", "clear_warning"} <= offered(house)


def test_a_deck_is_opened_by_taking_what_is_offered() -> None:
    house = Checked()
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.receive("blue-1", "blue")
    taken = []
    while (offer := house.table.next_step().do[0])["action"] != "insert_deck":
        kind = KINDS[str(offer["action"])]
        house.do(msgspec.convert({**offer, "who": WHO[kind.roles[0]], "role": kind.roles[0]}, kind))
        taken.append(offer["action"])
    assert taken == ["inspect_deck", "verify_deck", "spread_deck", "wash_deck", "stack_deck"]
    assert house.deck("red-1") is DeckState.STACKED


def test_a_shoe_that_is_out_of_service_leads_to_another_way() -> None:
    """Otherwise the screen would offer to load a shoe that is out of service."""
    house = Checked()
    house.open()
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.work()
    step = house.table.next_step()
    assert "changes the dealing method" in step.text
    assert step.clause == ("13.H",)
    assert [offer["action"] for offer in step.do] == ["change_method", "put_in_service"]
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.work()
    house.play()
    assert house.state.rounds == 1


def test_a_void_round_says_why_with_its_own_clause() -> None:
    house = Checked()
    house.open()
    house.ask(act.CloseBets, (2, 5))
    house.ask(act.ReportDealerExposed)
    step = house.table.next_step()
    assert step.clause == ("13.E",)
    assert "exposed" in step.why


def test_a_step_says_who_acts() -> None:
    house = Checked()
    house.open()
    by = {str(step.do[0]["action"]): step.by[0] for step in house.steps if step.do}
    assert by["inspect_deck"] is Role.DEALER
    assert by["verify_deck"] is Role.FLOOR
    assert {step.by for step in house.steps if step.text.startswith("Wait")} == {()}
    house.ask(act.IdleTable)
    while (step := house.table.next_step()).do[0]["action"] == "spread_deck":
        house.ask(act.SpreadDeck, str(step.do[0]["deck"]))
    assert (step.text, step.by[0]) == ("Wait for a player.", Role.DEALER)


def test_a_stack_at_the_exit_is_a_step_for_hands() -> None:
    house = Checked()
    house.open()
    house.play()
    found = [step for step in house.steps if step.by_hand is ByHand.TAKE and step.device == "shoe"]
    assert {(step.by, step.do) for step in found} == {((Role.DEALER,), ())}


def test_a_pulled_cable_is_the_headline_at_once() -> None:
    """Long before the grace period ends and the round becomes void."""
    house = House()
    house.open()
    house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    house.disconnect("shoe")
    step = house.table.next_step()
    assert step.text == "The shoe is offline: check its cable and power."
    assert step.why == "If it is not back within 10 seconds, the round is void."
    assert (step.clause, step.by_hand, step.device) == (("13.G",), ByHand.CHECK, "shoe")
    house.connect("shoe")
    assert house.table.next_step().text == "Take the stack to seat 1, face down."


@pytest.mark.parametrize("betting", [True, False])
def test_an_offline_shuffler_is_in_the_headline_and_the_round_goes_on(betting: bool) -> None:
    house = House()
    house.open()
    house.auto_take = False
    if not betting:
        house.ask(act.CloseBets, (1, 2))
    before = house.table.next_step()
    house.disconnect("shuffler")
    step = house.table.next_step()
    assert step.text == f"The shuffler is offline. {before.text}"
    assert step.why == f"Check its cable and power. {before.why}"
    assert (step.do, step.by_hand) == (before.do, before.by_hand)


def test_a_warning_is_named_by_what_happened_when_it_is_to_be_cleared_and_when_it_was() -> None:
    house = House(Setup(backs=("red",))).open()
    house.faults["shoe", "Dispense"] = "jam"
    house.ask(act.CloseBets, (1,))
    house.ask(act.ReturnWagers)
    house.ask(act.FreeJam, "shoe")
    said = house.find("warning.cause_gone")[-1].event.sentence()
    assert said == "The cause of the warning is gone: cards are stuck in the shoe."
    house.ask(act.ClearWarning, "shoe.jam")
    said = house.find("warning.cleared")[-1].event.sentence()
    assert said == f"{WHO[Role.DEALER]} cleared the warning: cards are stuck in the shoe."


@pytest.mark.parametrize(("fault", "asked"), [("jam", "clear the jam"), ("fail", "test itself")])
def test_people_wait_while_a_device_clears_its_jam_or_tests_itself(fault: str, asked: str) -> None:
    """Nobody is asked to take a device out of service before it has answered."""
    house = House(Setup(backs=("red",))).open()
    house.faults["shoe", "Dispense"] = fault
    house.ask(act.CloseBets, (1,))
    house.ask(act.ReturnWagers)
    house.ask(act.OpenDevice, "shoe")
    house.ask(act.GatherCards, "red-1", "shoe", 53)
    house.auto_work = False
    if fault == "jam":
        house.ask(act.FreeJam, "shoe")
    else:
        house.ask(act.TestDevice, "shoe", role=Role.TECHNICIAN)
    step = house.table.next_step()
    assert (step.text, step.why, step.do) == ("Wait for the shoe.", f"It was asked to {asked}.", ())


def test_a_reason_is_a_sentence() -> None:
    house = House(Setup(backs=("red",))).open()
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    assert house.table.next_step().why == "The automated shoe is out of service."


@pytest.mark.clause("10.B(5)")
def test_the_stub_is_taken_when_it_is_out() -> None:
    house = House(Setup(backs=("red",))).open()
    house.faults["shoe", "Eject"] = "stall"
    house.deal((1, 2))
    doing = house.state.devices["shoe"].doing
    assert doing is not None
    assert (doing.name, doing.target) == ("Eject", "stub")
    step = house.table.next_step()
    assert (step.text, step.why) == ("Wait for the shoe.", "It is bringing out the stub.")
    house.auto_take = False
    house.move_all("shoe", "exit")
    house.devices["shoe"].presented_by = doing.id
    house.report("shoe", StackPresented, command=doing.id, place=Place.EXIT, cards=house.count("exit"))
    assert house.table.next_step().text == "Take the stub from the shoe."

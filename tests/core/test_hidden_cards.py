"""A hand that is face down is as secret as the stub: the shoe is asked for its cards after they are turned over."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.events.event import Entry
from controller.core.events.rounds import RoundStarted, StackTakenToHand
from controller.core.history import rebuild
from controller.core.machines import TableState
from controller.core.reports import CardsRecognised
from controller.core.setup import Setup
from controller.core.state import questions_of, requestable_rounds
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
KINDS = [2, 7, 7]
NAMES = ["gold dragon", "rabbit", "rabbit"]


def recognising(setup: Setup | None = None, *, knows: bool = True) -> House:
    """A table whose shoe recognises cards, and can remember them."""
    house = House(setup, recognises=True).open()
    house.kinds = KINDS
    if not knows:
        house.asked = Forgetful()
    return house


class Forgetful(list[int]):
    """The commands that a shoe is asked about which answers nothing."""

    def __contains__(self, command: object) -> bool:
        return True


def recognised(house: House) -> list[tuple[Any, ...]]:
    return [(event.data["round"], event.data["target"], event.data["kinds"]) for event in house.find("hand.recognised")]


def seen(house: House, number: int = 1) -> dict[str, str]:
    return {target: hand["seen"] for target, hand in rebuild(house.events, number)["hands"].items()}


def void_round(house: House, seats: tuple[int, ...] = (1, 4)) -> None:
    """Deal a round, which becomes void, and play on until bets can be made again."""
    house.deal(seats)
    house.ask(act.ReportDealerExposed)
    house.ask(act.ReturnWagers)
    house.work()
    assert house.at() is TableState.BETTING


@clause("11.E", "11.D(2)")
@pytest.mark.parametrize("hold", [False, True])
def test_the_shoe_is_asked_for_all_hands_after_the_dealer_has_shown_and_not_before(hold: bool) -> None:
    house = recognising(Setup(hold_dealer=hold))
    house.deal((1, 4))
    house.ask(act.PlayersActed)
    assert house.asked == []
    assert set(seen(house).values()) == {"hidden"}
    house.ask(act.RevealDealer)
    assert recognised(house) == [(1, "seat1", NAMES), (1, "seat4", NAMES), (1, "dealer", NAMES)]
    assert house.find("hand.recognised")[0].seq > house.find("dealer.revealed")[0].seq
    assert house.find("hand.recognised")[0].clause == ("11.E",)
    house.stub()
    house.ask(act.CollectAll)
    assert set(seen(house).values()) == {"known"}
    assert house.find("hand.recognised")[0].event.sentence() == (
        "Cards dealt to seat 1 in round 1: gold dragon, rabbit, rabbit."
    )
    same_after_snapshot(house)


def test_what_a_shoe_says_before_it_is_asked_is_ignored() -> None:
    house = recognising()
    house.deal((1,))
    command = house.find("stack.taken")[0].data["command"]
    assert house.handle(CardsRecognised("shoe", command, (2, 2, 2))) == []
    assert house.handle(CardsRecognised("shuffler", command, (2, 2, 2))) == []


def test_a_shoe_that_does_not_recognise_cards_is_not_asked() -> None:
    house = House().open()
    house.play((1,))
    assert house.asked == []
    assert set(seen(house).values()) == {""}
    assert "command" not in house.find("stack.taken")[0].data


def test_a_shoe_that_was_offline_is_asked_when_it_is_back_with_the_same_boot() -> None:
    house = recognising()
    house.deal((1,))
    house.ask(act.PlayersActed)
    house.disconnect("shoe")
    house.ask(act.RevealDealer)
    assert recognised(house) == []
    assert set(seen(house).values()) == {"not known"}
    house.connect("shoe")
    assert [target for _, target, _ in recognised(house)] == ["seat1", "dealer"]
    assert set(seen(house).values()) == {"known"}
    same_after_snapshot(house)


def test_a_shoe_that_has_restarted_is_not_asked_and_the_hands_are_not_known() -> None:
    house = recognising()
    house.deal((1,))
    house.ask(act.PlayersActed)
    house.disconnect("shoe")
    house.ask(act.RevealDealer)
    house.restart("shoe")
    assert house.asked == []
    assert recognised(house) == []
    assert set(seen(house).values()) == {"not known"}
    same_after_snapshot(house)


def test_a_shoe_that_has_forgotten_leaves_no_event_and_the_hands_are_not_known() -> None:
    house = recognising(knows=False)
    house.play((1, 4))
    assert recognised(house) == []
    assert set(seen(house).values()) == {"not known"}
    house.play((2,))
    assert set(seen(house, 2).values()) == {"not known"}


def test_a_kind_that_the_game_does_not_have_is_unknown() -> None:
    house = recognising()
    house.kinds = [-1, 7, 8]
    house.play((1,))
    assert recognised(house)[0][2] == ["unknown", "rabbit", "unknown"]


def test_only_the_last_16_stacks_are_remembered() -> None:
    house = recognising(knows=False)
    for _ in range(3):
        house.play((1, 2, 3, 4, 5, 6))
    assert [stack.round for stack in house.state.devices["shoe"].dealt] == [1] * 2 + [2] * 7 + [3] * 7


# --- void rounds ----------------------------------------------------------------------------------------------------


def test_nobody_asks_for_the_hands_of_a_void_round() -> None:
    house = recognising()
    void_round(house)
    house.play((1,))
    assert {number for number, _, _ in recognised(house)} == {2}
    assert set(seen(house).values()) == {"hidden"}


@clause("11.E")
@pytest.mark.parametrize("later", [False, True])
def test_a_floorperson_can_request_the_hands_of_a_void_round(later: bool) -> None:
    house = recognising()
    void_round(house)
    if later:
        house.play((1,))
    house.ask(act.RequestHands, 1, "seat 4 says that it had three dragons")
    (requested,) = house.find("hands.requested")
    assert requested.data["who"] == "flo"
    assert requested.data["reason"] == "seat 4 says that it had three dragons"
    assert requested.clause == ("11.E",)
    found = [target for number, target, _ in recognised(house) if number == 1]
    assert found == ["seat1", "seat4", "dealer"]
    rebuilt = rebuild(house.events, 1)
    assert rebuilt["hands"]["seat4"] == {"cards": 3, "kinds": NAMES, "seen": "known"}
    assert [(one["who"], one["reason"]) for one in rebuilt["requested"]] == [("flo", requested.data["reason"])]
    assert rebuilt["void"]
    if later:
        assert rebuilt["last_seq"] < house.find("round.started")[1].seq
        assert rebuild(house.events, 2)["requested"] == []
    same_after_snapshot(house)


def test_a_request_is_made_by_a_floorperson_about_a_void_round_and_with_a_reason() -> None:
    house = recognising()
    house.deal((1, 4))
    why = "a dispute"
    assert house.refused(act.RequestHands, 1, why).data["reason"] == "the cards of round 1 are still hidden"
    house.ask(act.ReportDealerExposed)
    assert requestable_rounds(house.state) == [1]
    for role in (Role.DEALER, Role.TECHNICIAN, Role.AUDITOR):
        assert "may not do this" in house.refused(act.RequestHands, 1, why, role=role).data["reason"]
    assert house.refused(act.RequestHands, 1, "  ").data["reason"] == "no reason is given"
    assert house.refused(act.RequestHands, 7, why).data["reason"] == "the shoe has no hidden hands of round 7"
    assert house.asked == []
    house.ask(act.RequestHands, 1, why)
    assert requestable_rounds(house.state) == []
    assert "no hidden hands" in house.refused(act.RequestHands, 1, why).data["reason"]


def test_the_hands_of_a_round_that_became_void_after_the_reveal_are_known() -> None:
    house = recognising()
    house.deal((1,))
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    house.ask(act.ReportWrongNumber, "seat1", 4)
    assert set(seen(house).values()) == {"known"}
    assert requestable_rounds(house.state) == []


def test_a_shoe_that_has_restarted_cannot_be_asked_about_a_void_round() -> None:
    house = recognising()
    void_round(house)
    house.restart("shoe")
    house.work()
    assert "no hidden hands" in house.refused(act.RequestHands, 1, "a dispute").data["reason"]
    assert questions_of(house.state.devices["shoe"]) == []


def test_cards_that_version_0_1_stored_when_they_were_taken_are_still_read() -> None:
    started = RoundStarted(round=1, deck="red-1", seats=[1], method="automated_shoe", plan=[], next_back="red")
    taken = StackTakenToHand(round=1, target="seat1", deck="red-1", cards=3, kept=3, moves=[], kinds=NAMES)
    rebuilt = rebuild([Entry(1, (), started), Entry(2, (), taken)], 1)
    assert rebuilt["hands"]["seat1"] == {"cards": 3, "kinds": NAMES, "seen": "known"}

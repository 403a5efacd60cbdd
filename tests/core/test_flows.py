"""Flows: the way to a goal, worked out from the state alone. tests/simulators/test_flows.py follows them."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.flows import Flow, Goal, flow_to, flows
from controller.core.machines import TableState
from controller.core.state import due_deck, encode
from controller.core.step import ACTIONS
from controller.games.game import Method
from tests.support.core_driver import House, house_in


def flow(house: House, goal: Goal, about: str = "") -> Flow:
    """The way to a goal; working it out changes nothing, and only what the state machines allow is offered."""
    before = encode(house.state)
    found = flow_to(house.state, goal, about, house.state.now_ms)
    assert found is not None
    assert encode(house.state) == before
    for offer in found.step.do if found.step else ():
        assert offer["action"] in found.step.allowed_actions, found.step  # type: ignore[union-attr]
    return found


def tasks(found: Flow) -> list[tuple[str, bool]]:
    return [(task.text, task.done) for task in found.tasks]


@pytest.mark.parametrize("state", [state for state in TableState if state is not TableState.CLOSED])
def test_from_every_state_of_the_table_there_is_a_next_step(state: TableState) -> None:
    house = house_in(state)
    for goal, about, title in flows(house.state):
        found = flow(house, goal, about)
        assert found.title == title
        assert found.step is not None
        assert found.step.text


def test_a_table_in_play_is_closed_task_by_task() -> None:
    house = House().open()
    found = flow(house, Goal.CLOSE)
    assert tasks(found) == [
        ("No round is in progress", True),
        ("Take out deck red-1", False),
        ("Take out deck blue-1", False),
        ("A floorperson closes the table", False),
    ]
    assert found.step is not None
    assert found.step.do == ({"action": "unload_deck", "deck": "red-1"},)
    house.ask(act.UnloadDeck, "red-1")
    found = flow(house, Goal.CLOSE)  # the shoe brings the deck out, and the other one follows to make room
    assert all(done for _, done in tasks(found)[:-1])
    assert found.step is not None
    assert (found.step.do, found.step.by) == (({"action": "close_table"},), (Role.FLOOR,))
    house.ask(act.CloseTable)
    assert flow(house, Goal.CLOSE).step is None


def test_a_round_is_finished_before_the_table_is_closed() -> None:
    house = house_in(TableState.ACTING)
    found = flow(house, Goal.CLOSE)
    assert tasks(found)[0] == ("Play round 1 to its end", False)
    assert found.step is not None
    assert found.step.do == house.table.next_step().do == ({"action": "players_acted"},)
    house.ask(act.ReportDealerExposed)
    found = flow(house, Goal.CLOSE)
    assert tasks(found)[0] == ("Finish void round 1", False)
    assert found.step is not None
    assert found.step.do == ({"action": "return_wagers"},)


def test_wagers_are_returned_before_a_loaded_deck_comes_out() -> None:
    house = House().open()
    house.ask(act.Wager, (1, 2))
    found = flow(house, Goal.CLOSE).step
    assert found is not None
    assert found.text == "Return the wagers, and take deck red-1 out."


def test_a_deck_is_changed_up_to_the_opening_of_the_new_one() -> None:
    house = House().open()
    house.ask(act.UnloadDeck, "red-1")
    found = flow(house, Goal.CHANGE_DECK, "red-1")
    assert found.step is not None
    assert found.step.do == ({"action": "remove_deck", "deck": "red-1"},)
    house.ask(act.RemoveDeck, "red-1")
    found = flow(house, Goal.CHANGE_DECK, "red-1")
    assert found.step is not None
    assert found.step.do == ({"action": "receive_deck", "back": "red"},)
    assert [done for _, done in tasks(found)] == [True, True, True, False, False]
    house.receive("red-2", "red")
    seen = []
    while (found := flow(house, Goal.CHANGE_DECK, "red-1")).step is not None:
        offer = found.step.do[0]
        seen.append(offer["action"])
        house.ask(ACTIONS[str(offer["action"])], str(offer["deck"]))
    assert seen == ["inspect_deck", "verify_deck", "spread_deck", "wash_deck", "stack_deck"]


def test_a_device_that_works_is_emptied_first() -> None:
    house = House().open()
    found = flow(house, Goal.OUT_OF_SERVICE, "shuffler")
    assert [text for text, _ in tasks(found)] == [
        "Take all cards out of the shuffler",
        "A floorperson covers, removes or marks the shuffler",
        "One deck leaves the table",
    ]
    assert found.step is not None
    assert found.step.do == ({"action": "unload_deck", "deck": "blue-1"},)


def test_a_device_that_is_dead_is_covered_first() -> None:
    house = House().open()
    house.disconnect("shuffler")
    house.tick(20)
    found = flow(house, Goal.OUT_OF_SERVICE, "shuffler")
    assert found.step is not None
    assert found.step.do == ({"action": "take_out_of_service", "device": "shuffler"},)
    assert found.step.clause == ("13.H",)
    house.ask(act.TakeOutOfService, "shuffler", "covered")
    found = flow(house, Goal.OUT_OF_SERVICE, "shuffler")
    assert tasks(found)[1] == ("Take all cards out of the shuffler", False)
    assert found.step is not None
    assert found.step.do == ({"action": "gather_cards", "deck": "blue-1", "place": "output"},)


def test_the_shoe_is_not_taken_out_of_service_while_a_deck_is_on_its_way_into_it() -> None:
    house = House().open()
    house.deal()
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    house.auto_work = False
    house.ask(act.CollectAll)
    doing = house.state.devices["shuffler"].doing
    assert doing is not None
    assert doing.name == "Deliver"
    found = flow(house, Goal.OUT_OF_SERVICE, "shoe")
    assert found.step is not None
    assert (found.step.text, found.step.do) == ("Wait for the shuffler.", ())
    assert tasks(found)[-1] == ("A floorperson chooses another dealing method", False)


def test_only_what_exists_has_a_flow() -> None:
    house = house_in(TableState.CLOSED)
    assert [(goal, about) for goal, about, _ in flows(house.state)] == [
        (Goal.OUT_OF_SERVICE, "shuffler"),
        (Goal.OUT_OF_SERVICE, "shoe"),
    ]
    assert flow_to(house.state, Goal.CHANGE_DECK, "red-9", 0) is None
    assert flow_to(house.state, Goal.OUT_OF_SERVICE, "kettle", 0) is None


def test_a_slip_of_the_finger_can_be_corrected_within_a_flow() -> None:
    house = House().open()
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.work()
    deck = due_deck(house.state)
    house.ask(act.UnloadDeck, deck)
    house.ask(act.GatherCards, deck, "manual_shoe", 44, confirmed=True)
    step = flow(house, Goal.CHANGE_DECK, deck).step
    assert step is not None
    assert step.do[-1] == {"action": "correct_count"}
    house.ask(act.CorrectCount, 53)
    step = flow(house, Goal.CHANGE_DECK, deck).step
    assert step is not None
    assert {"action": "correct_count"} not in step.do

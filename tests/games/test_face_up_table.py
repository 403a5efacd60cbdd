"""A table of Face-Up Chinese Poker, with simulated people, devices and cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from controller.api.available_actions import actions_now
from controller.api.table_view import table_view
from controller.core import actions as act
from controller.core.events.event import Entry
from controller.core.events.play import HandDecided, RoundSettled, StakesNoted
from controller.core.events.rounds import RoundStarted, StackTakenToHand
from controller.core.events.table import ActionRefused
from controller.core.guide import next_step
from controller.core.history import rebuild
from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind, setup_fault
from controller.games import description_named, game_with
from controller.games.game import Method
from firmware_bridge.wire.messages import Capability
from simulators.table.house import House
from simulators.table.people import People, taken

clause = pytest.mark.clause

GAME = description_named("face-up-chinese-poker")
assert GAME is not None
SHUFFLERS = {
    "none": None,
    "counts": ShufflerKind(counts=True),
    "recognises": ShufflerKind(counts=True, recognises=True),
    "does not count": ShufflerKind(counts=False),
    "feeds the shoe": ShufflerKind(counts=True, feeds_shoe=True),
}


class RecognisingHouse(House):
    """A table whose shoe recognises cards."""

    def capabilities_of(self, device: str) -> frozenset[Capability]:
        more = {Capability.RECOGNISES} if device == "shoe" else set()
        return super().capabilities_of(device) | more


def a_setup(method: Method = Method.HAND, shuffler: str = "counts", **options: Any) -> Setup:
    assert GAME is not None
    game = game_with(GAME, {**GAME.options, **options})
    kind = SHUFFLERS[shuffler]
    backs = ("red", "blue") if kind else ("red",)
    return Setup(game=game, method=method, shuffler=kind, backs=backs, seats=5, options=options)


@pytest.fixture
def open_table() -> Iterator[Callable[..., People]]:
    """Opens tables until bets can be made; they are closed after the test."""
    houses: list[House] = []

    def opened(setup: Setup, kind: type[House] = House) -> People:
        houses.append(kind(None, setup, seed=4))
        people = People(houses[-1])
        assert people.open()
        return people

    yield opened
    for house in houses:
        house.cards.check()
        house.close()


def found(people: People, kind: type) -> list[Any]:
    return [entry.event for entry in people.house.events if isinstance(entry.event, kind)]


def allowed(method: Method, shuffler: str) -> bool:
    return setup_fault(a_setup(method, shuffler)) is None


@clause("deal", game="face-up-chinese-poker")
@pytest.mark.parametrize("shuffler", SHUFFLERS)
@pytest.mark.parametrize("method", Method)
def test_four_hands_are_dealt_by_every_method_with_every_shuffler(
    open_table: Callable[..., People], method: Method, shuffler: str
) -> None:
    if not allowed(method, shuffler):
        assert (method, shuffler) == (Method.HAND, "feeds the shoe")  # there is no shoe to feed
        return
    people = open_table(a_setup(method, shuffler))
    for _ in range(2):
        assert people.play((1, 2, 3, 4))
    assert len(found(people, RoundSettled)) == 2
    assert [
        event.kind for event in (entry.event for entry in people.house.events) if event.kind == "round.voided"
    ] == []


@clause("deal", game="face-up-chinese-poker")
@clause("fantasy land", game="face-up-chinese-poker")
def test_a_recognising_shoe_names_every_card_and_nobody_enters_one(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup(Method.AUTOMATED_SHOE, "feeds the shoe"), RecognisingHouse)
    assert people.play((1, 2, 3, 4))
    kinds = {entry.kind for entry in people.house.events}
    assert "cards.entered" not in kinds
    assert sum(entry.kind == "hand.recognised" for entry in people.house.events) == 4 * 8
    (settled,) = found(people, RoundSettled)
    assert settled.payments


@clause("table", game="face-up-chinese-poker")
def test_the_deal_begins_left_of_the_button_one_by_one(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    assert people.play((2, 4, 5))
    targets = [event.target for event in found(people, StackTakenToHand)]
    assert targets == ["seat4", "seat5", "seat2"] * 13
    assert all(event.kept == 1 for event in found(people, StackTakenToHand))


@clause("table", game="face-up-chinese-poker")
def test_a_sixth_seat_is_refused() -> None:
    fault = setup_fault(msgspec.structs.replace(a_setup(), seats=6))
    assert fault is not None
    assert fault.rules == ("table",)


@clause("stakes", game="face-up-chinese-poker")
@pytest.mark.parametrize("options", [{"schedule": 9}, {"schedule": 2, "most_buy_in": 100}, {"most_buy_in": "much"}])
def test_what_the_house_cannot_choose_is_refused(options: dict[str, Any]) -> None:
    assert setup_fault(msgspec.structs.replace(a_setup(), options=options)) is not None


# --- fantasy land -----------------------------------------------------------------------------------------------------


def fantasy(people: People, **hands: str) -> None:
    """The table remembers that these hands have earned fantasy land."""
    people.house.state.carried["fantasy"] = hands


def plan_of(people: People) -> list[tuple[str, int]]:
    started = found(people, RoundStarted)[-1]
    return [(stack.target, stack.cards) for stack in started.plan]


def joined(people: People, *seats: int) -> None:
    for seat in seats:
        assert taken(people.perform(act.RecordBet, seat=seat, bet="stack", amount=5000))


@clause("fantasy land", game="face-up-chinese-poker")
def test_whoever_sits_out_is_in_fantasy_land_in_their_next_hand(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 2, 3, 4, 5)
    assert people.play((1, 2, 3, 4, 5))
    fantasy(people, seat1="seat1")
    (block,) = [one for one in table_view(people.house.state, 0)["board"] if one["label"] == "Fantasy land"]
    assert block["lines"] == ("seat 1",)
    assert people.play((1, 2, 3, 4, 5))
    assert ("seat1", 13) not in plan_of(people)  # the fifth player
    assert people.house.state.carried["fantasy"].get("seat1") == "seat1"
    assert people.close_bets((1, 3, 4, 5))
    assert plan_of(people) == [("seat1", 13)]


@clause("fantasy land", game="face-up-chinese-poker")
def test_a_player_who_earned_it_with_a_second_hand_has_it_with_the_only_hand(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 3)
    assert people.play((1, 3))
    fantasy(people, seat2="seat1")
    assert people.close_bets((1, 3))
    assert plan_of(people) == [("seat1", 13)]


@clause("fantasy land", game="face-up-chinese-poker")
def test_two_hands_in_fantasy_land_are_both_set_before_the_others_are_dealt(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 2, 3)
    assert people.play((1, 2, 3))
    fantasy(people, seat1="seat1", seat3="seat3")
    start = len(people.house.events)
    assert people.play((1, 2, 3))
    order = [
        (type(event).__name__, event.target)
        for event in (entry.event for entry in people.house.events[start:])
        if (isinstance(event, HandDecided) and event.choice in ("set", "show")) or isinstance(event, StackTakenToHand)
    ]
    assert order[:5] == [
        ("StackTakenToHand", "seat3"),
        ("StackTakenToHand", "seat1"),
        ("HandDecided", "seat3"),
        ("HandDecided", "seat1"),
        ("StackTakenToHand", "seat2"),
    ]
    assert [who for what, who in order[-2:] if what == "HandDecided"] == ["seat3", "seat1"]


# --- stakes and fees --------------------------------------------------------------------------------------------------


@clause("stakes", game="face-up-chinese-poker")
def test_a_void_round_leaves_stacks_fees_and_buttons_as_they_were(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 2)
    assert people.close_bets((1, 2))
    assert taken(people.perform(act.ReportIrregularity, irregularity="foreign card"))
    assert people.work()
    assert people.close_bets((1, 2))
    assert people.house.state.carried["stacks"] == {"seat1": 5000, "seat2": 5000}
    assert [started.button for started in found(people, RoundStarted)] == [1, 1]
    (noted,) = found(people, StakesNoted)
    assert [fee.hand for fee in noted.fees] == ["seat2", "seat1"]


@clause("stakes", game="face-up-chinese-poker")
def test_a_settled_round_that_becomes_void_moves_no_chips(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 2)
    people.enough = lambda: people.house.state.table is TableState.CLEARING
    assert people.play((1, 2))
    people.enough = None
    assert taken(people.perform(act.ReportWrongNumber, target="seat1", cards=12))
    assert people.work()
    assert people.house.state.carried["stacks"] == {"seat1": 5000, "seat2": 5000}


@clause("collection", game="face-up-chinese-poker")
def test_a_player_who_comes_at_the_end_of_a_down_pays_the_next_one_in_full(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup(schedule=5))
    joined(people, 1, 2)
    assert people.play((1, 2))
    people.house.rest(39 * 60.0)
    joined(people, 3)
    assert people.play((1, 2, 3))
    fees = [[(fee.hand, fee.cents) for fee in noted.fees] for noted in found(people, StakesNoted)]
    assert fees == [[("seat2", 1500), ("seat1", 1500)], [("seat3", 1500), ("seat1", 1500), ("seat2", 1500)]]


@clause("collection", game="face-up-chinese-poker")
def test_whoever_leaves_and_comes_back_pays_as_a_new_player(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup(schedule=5))
    joined(people, 1, 2)
    assert people.play((1, 2))
    assert taken(people.perform(act.LeaveSeat, seat=2))
    people.house.rest(21 * 60.0)
    joined(people, 2)
    assert people.play((1, 2))
    assert [(fee.hand, fee.cents) for fee in found(people, StakesNoted)[-1].fees] == [("seat2", 750)]


@clause("stakes", game="face-up-chinese-poker")
def test_a_stack_that_was_entered_wrong_is_corrected_after_the_round(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 2)
    early = people.perform(act.RecordBet, seat=3, bet="corrected stack", amount=500)
    assert taken(early)
    assert reasons(people.perform(act.CloseBets, seats=(1, 2, 3))) == ["seat 3: there is no stack to correct"]
    assert taken(people.perform(act.RecordBet, seat=3, bet="corrected stack", amount=0))
    assert people.play((1, 2))
    fantasy(people, seat1="seat1")
    stacks = dict(people.house.state.carried["stacks"])
    assert taken(people.perform(act.RecordBet, seat=1, bet="stack", amount=60))
    text = f"seat 1: no chips are taken from the table: the stack is {stacks['seat1']}; if it is not, correct it"
    assert reasons(people.perform(act.CloseBets, seats=(1, 2))) == [text]
    assert taken(people.perform(act.RecordBet, seat=1, bet="stack", amount=0))
    assert taken(people.perform(act.RecordBet, seat=1, bet="corrected stack", amount=60))
    assert taken(people.perform(act.RecordBet, seat=2, bet="corrected stack", amount=70))
    assert taken(people.perform(act.RecordBet, seat=2, bet="stack", amount=170))  # 100 are added
    assert people.close_bets((1, 2))
    assert people.house.state.carried["stacks"] == {"seat1": 60, "seat2": 170}
    assert plan_of(people) == [("seat1", 13)]
    assert found(people, StakesNoted)[-1].fees == []
    assert people.work()
    assert sum(people.house.state.carried["stacks"].values()) == 230


@clause("stakes", game="face-up-chinese-poker")
def test_a_stack_that_is_too_small_is_named_with_what_is_needed(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup(schedule=2))
    joined(people, 1)
    assert reasons(people.perform(act.CloseBets, seats=(1, 2))) == ["the stack of seat 2 is 0; nine points are 45"]


# --- cards and their places -------------------------------------------------------------------------------------------


def test_the_deal_begins_at_the_left_of_the_button_says_the_guide(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    assert people.close_bets((1, 2))
    assert next_step(people.house.state, 0).why == "Cards are dealt clockwise, starting at the button's left."


def placing(people: People) -> str:
    """Play until the first single card waits to be placed, and say whose it is."""
    people.enough = lambda: "places the card face up" in next_step(people.house.state, 0).text
    assert people.play((1, 2))
    people.enough = None
    return str(table_view(people.house.state, 0)["turn"]["hand"])


@clause("segments", game="face-up-chinese-poker")
def test_a_card_that_was_not_named_is_hidden_again_when_its_place_is_taken_back(
    open_table: Callable[..., People],
) -> None:
    people = open_table(a_setup())
    target = placing(people)
    choice = table_view(people.house.state, 0)["turn"]["choices"][0]
    assert taken(people.perform(act.DecideHand, target=target, choice=choice))
    assert next_step(people.house.state, 0).text.startswith("Enter the cards")
    again = people.perform(act.DecideHand, target=target, choice=choice)
    assert reasons(again) == [f"the cards of {target.replace('seat', 'seat ')} are not entered"]
    assert taken(people.perform(act.TakeBackDecision))
    assert "places the card face up" in next_step(people.house.state, 0).text
    assert people.work()


@clause("segments", game="face-up-chinese-poker")
def test_a_card_can_be_corrected_to_a_segment_in_which_nothing_was_entered(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    people.enough = lambda: people.house.state.table is TableState.ACTING
    assert people.play((1, 2))
    people.enough = None
    first = table_view(people.house.state, 0)["turn"]["cards"][0]
    assert taken(people.perform(act.DecideHand, target="seat2", choice="middle", kinds=(first,)))
    correct = next(one for one in actions_now(people.house.state, 0) if one["action"] == "correct_decision")
    (choices,) = [field["choices"] for field in correct["fields"] if field["name"] == "choice"]
    assert choices == ["front", "middle", "back", "clean sweep", "no sweep"]
    assert taken(people.perform(act.CorrectDecision, target="seat2", choice="back", kinds=(first,)))


@clause("segments", game="face-up-chinese-poker")
def test_the_history_of_a_round_has_what_was_corrected(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    people.enough = lambda: people.house.state.table is TableState.ACTING
    assert people.play((1, 2))
    people.enough = None
    wrong, other, *_ = table_view(people.house.state, 0)["turn"]["cards"]
    unseen = [
        kind for kind in people.house.state.setup.game.kinds if not people.house.state.decks["red-1"].seen.get(kind)
    ]
    assert taken(people.perform(act.DecideHand, target="seat2", choice="middle", kinds=(wrong, other)))
    assert taken(people.perform(act.CorrectCards, target="seat2", was=(wrong,), kinds=(unseen[0],)))
    assert taken(people.perform(act.CorrectDecision, target="seat2", choice="back", kinds=(unseen[0],)))
    assert taken(people.perform(act.CorrectDecision, target="seat2", choice="back", kinds=(other,)))
    assert taken(people.perform(act.TakeBackDecision))
    found = rebuild(people.house.events, 1)
    assert found["hands"]["seat2"]["kinds"] == people.house.state.round.kinds["seat2"]  # type: ignore[union-attr]
    assert [(one["choice"], one["kinds"], one["corrected"], one["taken_back"]) for one in found["decisions"]] == [
        ("middle", [unseen[0], other], False, False),
        ("back", [unseen[0]], True, False),
        ("back", [other], True, True),
    ]


def reasons(made: list[Entry]) -> list[str]:
    return [entry.event.reason for entry in made if isinstance(entry.event, ActionRefused)]


def refusals(made: list[Entry]) -> list[tuple[str, ...]]:
    return [tuple(entry.clause) for entry in made if entry.kind == "action.refused"]


@clause("segments", game="face-up-chinese-poker")
def test_what_is_not_of_this_game_is_refused(open_table: Callable[..., People]) -> None:
    people = open_table(a_setup())
    joined(people, 1, 2)
    people.enough = lambda: people.house.state.table is TableState.ACTING
    assert people.play((1, 2))
    people.enough = None
    for choice, kinds in (("back", ()), ("set", ()), ("nowhere", ("ace of spades",))):
        made = people.perform(act.CorrectDecision, target="seat1", choice=choice, kinds=kinds)
        assert refusals(made) == [("segments",)]
    assert refusals(people.perform(act.DecideHand, target="seat2", choice="set")) == [("segments",)]

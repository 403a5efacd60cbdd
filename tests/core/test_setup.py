"""Every set-up: legal ones are accepted, others refused with their clause. Another game is only data."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from controller.core import actions as act
from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind, setup_fault
from controller.games import DRAGON_POKER
from controller.games.game import Deal, Game, Method
from tests.support.core_driver import SIDE, House, capabilities, same_after_snapshot

clause = pytest.mark.clause

SHUFFLERS: dict[str, ShufflerKind | None] = {
    "none": None,
    "not counting": ShufflerKind(),
    "counting": ShufflerKind(counts=True),
    "feeding": ShufflerKind(feeds_shoe=True),
    "counting and feeding": ShufflerKind(counts=True, feeds_shoe=True),
    "self-reshuffling": ShufflerKind(counts=True, reshuffles=True),
    "self-reshuffling and feeding": ShufflerKind(counts=True, reshuffles=True, feeds_shoe=True),
    "recognising": ShufflerKind(counts=True, recognises=True, feeds_shoe=True),
    "reshuffling, not counting": ShufflerKind(reshuffles=True),
}
DECKS = {"one": ("red",), "two": ("red", "blue"), "two alike": ("red", "red"), "three": ("red", "blue", "green")}
SEATS = (0, 1, 6, 7)

MATRIX = list(itertools.product(Method, SHUFFLERS, DECKS, SEATS, (False, True)))


def expected(method: Method, shuffler: str, decks: str, seats: int, hold: bool) -> set[str]:
    """The clauses that a combination breaks, worked out independently of the core."""
    kind = SHUFFLERS[shuffler]
    broken = set()
    if seats not in (1, 6):
        broken.add("2.A")
    if decks == "three" or (decks.startswith("two") and kind is None):
        broken.add("3.B")
    if decks == "two alike":
        broken.add("3.B(1)")
    if method is Method.HAND and kind is None:
        broken.add("9.A(1)")
    if (method is Method.HAND and "feeding" in shuffler) or (method is Method.HAND and shuffler == "recognising"):
        broken.add("5.C")
    if shuffler == "reshuffling, not counting":
        broken.add("5.I")
    if hold and method is not Method.AUTOMATED_SHOE:
        broken.add("10.B(3)(4)")
    return broken


@clause("2.A", "3.B", "3.B(1)", "5.C", "5.I", "9.A(1)", "10.B(3)(4)")
@pytest.mark.parametrize("method", Method)
def test_the_whole_matrix(method: Method) -> None:
    for combination in MATRIX:
        if combination[0] is not method:
            continue
        _, shuffler, decks, seats, hold = combination
        setup = Setup(method, DECKS[decks], SHUFFLERS[shuffler], hold, seats)
        fault = setup_fault(setup)
        broken = expected(*combination)
        assert (fault is None) == (not broken), (combination, fault)
        if fault:
            assert set(fault.rules) & broken, (combination, fault)
            assert fault.reason
            assert fault.possible_when


LEGAL = [c for c in MATRIX if not expected(*c) and c[3] == 6]


@clause("8", "9", "10", "5.B", "5.C", "5.I")
@pytest.mark.parametrize("combination", LEGAL, ids=str)
def test_every_legal_combination_plays(combination: tuple[Method, str, str, int, bool]) -> None:
    method, shuffler, decks, seats, hold = combination
    house = House(Setup(method, DECKS[decks], SHUFFLERS[shuffler], hold, seats)).open()
    for _ in range(3):
        events = house.play((1, 2))
        assert [e.kind for e in events].count("round.completed") == 1
        assert house.at() is TableState.BETTING
    house.check()


@clause("3.B")
def test_an_illegal_set_up_is_refused_at_the_start() -> None:
    house = House()
    event = house.refused(act.Configure, Setup(shuffler=None))
    assert event.clause == ("3.B",)
    assert house.state.setup == Setup()


@clause("3.B(1)")
@pytest.mark.parametrize("other", ["red", "Red ", " RED"])
def test_backs_that_differ_only_in_case_or_spaces_are_the_same(other: str) -> None:
    house = House()
    assert house.refused(act.Configure, Setup(backs=("red", other))).clause == ("3.B(1)",)
    assert house.state.setup == Setup()


def test_only_a_closed_table_is_set_up() -> None:
    house = House().open()
    assert "closed" in house.refused(act.Configure, Setup()).data["possible_when"]


def test_a_table_that_is_not_set_up_does_not_open() -> None:
    house = House()
    house.table.state.configured = False
    assert house.refused(act.OpenTable).data["reason"] == "the table is not set up"


@clause("3.A(1)(3)")
def test_a_deck_is_53_cards() -> None:
    assert sum(DRAGON_POKER.copies) == 53
    assert dict(zip(DRAGON_POKER.kinds, DRAGON_POKER.copies, strict=True)) == {
        "red dragon": 3, "blue dragon": 3, "gold dragon": 1, "phoenix": 7, "tiger": 8, "panda": 9, "monkey": 10,
        "rabbit": 12,
    }  # fmt: skip
    wrong = msgspec.structs.replace(DRAGON_POKER, copies=(3, 3, 1, 7, 8, 9, 10, 11))
    fault = setup_fault(Setup(game=wrong))
    assert fault is not None
    assert fault.rules == ("3.A(1)(3)",)
    assert "52" in fault.reason


@clause("5.B", "5.C")
def test_a_device_that_does_not_fit_the_set_up_is_refused() -> None:
    house = House(connect=False)
    house.setup = msgspec.structs.replace(house.setup, shuffler=ShufflerKind())
    assert capabilities(house.setup, "shuffler") == SIDE
    (event, warned) = house.connect("shuffler")
    assert (event.kind, warned.kind) == ("device.refused", "warning.raised")
    assert event.data["reason"] == "it lacks what this table needs (counts, feeds shoe)"
    assert house.device("shuffler") == "unknown"


# --- another game, without changing any code ------------------------------------------------------------------------

TWO_HANDS = (Deal("player", 1), Deal("banker", 1), Deal("player", 1), Deal("banker", 1))
LITTLE_BACCARAT = Game(
    name="Little Baccarat",
    kinds=("low", "high"),
    copies=(26, 26),
    deck_size=52,
    most_seats=9,
    programme=dict.fromkeys(Method, TWO_HANDS),
    extra_cards=1,
)


@pytest.mark.parametrize("method", [Method.AUTOMATED_SHOE, Method.MANUAL_SHOE])
def test_a_game_with_two_hands_and_a_third_card_fits(method: Method) -> None:
    setup = Setup(method, ("red",), ShufflerKind(counts=True), False, 9, LITTLE_BACCARAT)
    house = House(setup).open()
    house.deal((4,))
    assert house.at() is TableState.ACTING
    assert house.state.decks["red-1"].cards["banker"] == 2
    house.ask(act.RequestCard, "player")
    if method is Method.MANUAL_SHOE:
        house.deal_by_hand()
    assert house.state.decks["red-1"].cards["player"] == 3
    assert house.refused(act.RequestCard, "player")
    house.finish()
    targets = [e.data["target"] for e in house.find("stack.taken")]
    assert targets == ["player", "banker", "player", "banker", "player"]
    assert house.find("round.completed")
    same_after_snapshot(house)


def test_a_game_after_acting_deals_then() -> None:
    late = msgspec.structs.replace(
        LITTLE_BACCARAT,
        extra_cards=0,
        programme={
            Method.AUTOMATED_SHOE: (Deal("players", 2), Deal("dealer", 1), Deal("dealer", 1, after_acting=True))
        },
    )
    house = House(Setup(seats=3, game=late)).open()
    house.deal((1, 2))
    assert house.state.decks["red-1"].cards["dealer"] == 1
    house.ask(act.PlayersActed)
    assert house.state.decks["red-1"].cards["dealer"] == 2
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.find("round.completed")

"""What the view of a table has from the description of its game: hands, turns, scoreboards, bets and results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from controller.api.available_actions import actions_now
from controller.api.bystander import open_view
from controller.api.table_view import table_view
from controller.core import actions as act
from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind
from controller.games import GAMES, game_with
from controller.games.game import Method
from simulators.table.house import House
from simulators.table.people import People, taken


class Played:
    """A simulated table of one game, with people who follow the guide."""

    def __init__(self, name: str, method: Method | None = None, seats: tuple[int, ...] = (1, 3)) -> None:
        description = GAMES[name]
        options = dict(description.example_options)
        game = game_with(description, options)
        method = method or next(iter(game.programme))
        shuffler = ShufflerKind(feeds_shoe=method is not Method.HAND)
        seats_ = min(6, game.most_seats)
        setup = Setup(game=game, method=method, shuffler=shuffler, options=options, seats=seats_)
        self.house = House(None, setup)
        self.people = People(self.house)
        self.people.open()
        self.seats = seats

    def deal(self) -> Played:
        """Close the bets."""
        assert self.people.close_bets(self.seats)
        return self

    def until(self, *states: TableState, step: str = "") -> dict[str, Any]:
        """Follow the guide to a state, or to a step; returns the view."""
        for _ in range(400):
            view = self.view()
            if self.house.state.table in states and step in view["step"]["text"]:
                return view
            if not self.people.chore():
                self.house.watch(5)
        raise AssertionError(f"never came to {states} {step}: {self.view()['step']}")

    def view(self) -> dict[str, Any]:
        return table_view(self.house.state, self.house.now_ms)

    def actions(self) -> dict[str, dict[str, Any]]:
        return {one["action"]: one for one in actions_now(self.house.state, self.house.now_ms)}


def hand(view: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in view["hands"] if one["name"] == name]
    return dict(found)


def field(action: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in action["fields"] if one["name"] == name]
    return dict(found)


@pytest.fixture
def table() -> Iterator[Any]:
    """Opens tables, and closes them."""
    opened: list[Played] = []

    def open_(*args: Any, **kwargs: Any) -> Played:
        opened.append(Played(*args, **kwargs))
        return opened[-1]

    yield open_
    for one in opened:
        one.house.close()


@pytest.mark.parametrize("name", GAMES)
def test_the_view_has_the_seats_and_the_named_hands_of_each_game(table: Any, name: str) -> None:
    played = table(name)
    seats = [f"seat{number}" for number in range(1, played.house.state.setup.seats + 1)]
    expected = [*seats, *GAMES[name].game.hands()]
    assert [one["name"] for one in played.view()["hands"]] == expected
    assert not any(one["cards"] for one in played.view()["hands"])


def test_face_up_cards_are_listed_in_order_and_cards_at_the_seats_are_not(table: Any) -> None:
    view = table("dragon-baccarat-tournament").deal().until(TableState.CLEARING)
    kinds = {name: hand(view, name)["kinds"] for name in ("player", "banker")}
    blocks = {block["hand"]: list(block["cards"][""]) for block in view["board"] if block["hand"]}
    assert kinds == blocks
    assert min(map(len, kinds.values())) >= 2
    assert hand(view, "seat1")["cards"] == 0


def test_hands_that_are_face_down_are_only_counted(table: Any) -> None:
    played = table("dragon-poker").deal()
    view = played.until(TableState.ACTING)
    assert {one["cards"] for one in view["hands"]} == {0, 3}
    assert not any(one["kinds"] for one in view["hands"])
    sent = json.dumps([view["hands"], view["board"], open_view(view)])
    assert [kind for kind in played.house.state.setup.game.kinds if kind in sent] == []


def test_the_view_says_which_cards_are_to_be_entered(table: Any) -> None:
    played = table("dragon-baccarat-tournament").deal()
    view = played.until(TableState.DEALING, step="Enter the cards of the player")
    assert [one["to_enter"] for one in view["hands"][-2:]] == [1, 0]
    entering = played.actions()["enter_cards"]
    assert field(entering, "target")["possible"] == ["player"]
    assert entering["allowed"]


def test_a_card_that_is_dealt_by_hand_and_face_up_can_be_reported(table: Any) -> None:
    played = table("dragon-baccarat-tournament", Method.MANUAL_SHOE).deal()
    view = played.until(TableState.DEALING, step="Deal a card to the banker")
    assert view["step"]["do"] == [{"action": "deal_cards", "target": "banker", "cards": 1}]
    assert played.actions()["deal_cards"]["allowed"]
    assert field(played.actions()["correct_cards"], "target")["possible"] == ["player"]
    wrong = played.view()["hands"][-2]["kinds"][0]
    right = next(kind for kind in played.house.state.setup.game.kinds if kind != wrong)
    assert taken(played.people.perform(act.CorrectCards, target="player", kinds=(right,)))
    assert hand(played.view(), "player")["kinds"] == [right]


def test_a_turn_has_what_can_be_chosen(table: Any) -> None:
    played = table("dragon-poker-chinese-deck").deal()
    view = played.until(TableState.ACTING)
    assert view["turn"]["hand"] == "seat3"
    assert view["turn"]["choices"] == ("exchange", "pass")
    assert view["turn"]["numbers"] == {"exchange": (1, 3)}
    assert view["turn"]["anybody"] == ("win",)
    assert view["step"]["asks"] == [["number"], [], ["kinds"]]  # to exchange, to pass, to win
    assert view["button"] == 1
    assert {"label": "Pot", "figure": "2 units"}.items() <= view["board"][0].items()
    assert taken(played.people.perform(act.DecideHand, target="seat3", choice="pass"))
    assert hand(played.view(), "seat3")["decisions"] == [{"choice": "pass", "number": 0, "kinds": ()}]
    assert open_view(played.view())["turn"] == {"hand": "seat1"}


def test_a_win_can_be_declared_while_the_stock_is_to_be_shuffled(table: Any) -> None:
    played = table("dragon-poker-chinese-deck", Method.HAND, (1, 2, 3, 4)).deal()
    played.until(TableState.ACTING)
    while "let another player cut" not in played.view()["step"]["text"]:
        turn = played.view()["turn"]["hand"]
        assert taken(played.people.perform(act.DecideHand, target=turn, choice="exchange", number=3))
        assert taken(played.people.perform(act.FinishDeal))
    view = played.view()
    assert view["turn"]["choices"] == ()
    assert view["turn"]["anybody"] == ("win",)
    assert view["turn"]["enter"] == {"win": 6}
    assert open_view(view)["turn"] == {"hand": ""}
    action = played.actions()["decide_hand"]
    assert action["allowed"]
    assert field(action, "choice")["choices"] == ["win"]
    assert field(action, "target")["choices"] == ["seat2", "seat3", "seat4", "seat1"]


def test_a_step_says_what_else_a_decision_asks_for(table: Any) -> None:
    played = table("dragon-poker-chinese-deck").deal()
    view = played.view()
    assert view["step"]["asks"] == [[] for _ in view["step"]["do"]]
    assert played.until(TableState.ACTING)["step"]["asks"] == [["number"], [], ["kinds"]]


def test_nobody_has_a_turn_while_a_card_is_due(table: Any) -> None:
    played = table("face-up-chinese-poker", Method.HAND).deal()
    assert played.view()["turn"] is None
    view = played.until(TableState.DEALING, step="face up, and enter it")
    assert view["step"]["asks"] == [["kinds"]]
    view = played.until(TableState.ACTING, step="places its first cards")
    first = view["turn"]["hand"]
    assert list(view["turn"]["cards"]) == hand(view, first)["kinds"]
    assert view["step"]["asks"] == [["kinds"]] * 3
    assert played.actions()["decide_hand"]["allowed"]


def test_what_is_possible_is_known_while_a_single_card_is_on_its_way(table: Any) -> None:
    """Every hand has been set as far as it was dealt, but none is complete."""
    played = table("face-up-chinese-poker").deal()
    played.until(TableState.ACTING, step="places the card face up")
    view = played.until(TableState.ACTING, step="Take the card to")
    assert view["turn"] is None
    assert not played.actions()["decide_hand"]["allowed"]
    refused = played.people.perform(act.DecideHand, target="seat1", choice="back")
    assert not taken(refused)


def test_bets_result_and_payments_stay_in_view_until_the_next_result(table: Any) -> None:
    played = table("dragon-baccarat-tournament")
    for seat, bet in ((1, "player"), (3, "banker"), (3, "tie")):
        assert taken(played.people.perform(act.RecordBet, seat=seat, bet=bet, amount=10))
    assert hand(played.view(), "seat3")["bets"] == {"banker": 10, "tie": 10}
    assert field(played.actions()["record_bet"], "seat")["choices"] == [1, 2, 3, 4, 5, 6]
    view = played.deal().until(TableState.BETTING)
    assert view["round"] is None
    settled = view["settled"]
    assert settled["round"] == 1
    assert "wins" in settled["result"] or "tie" in settled["result"]
    assert {(one["hand"], one["bet"]) for one in settled["payments"]} == {
        ("seat1", "player"),
        ("seat3", "banker"),
        ("seat3", "tie"),
    }
    boards = {block["label"]: block["cells"] for block in view["board"]}
    assert len(boards["Bead plate"]) == 1
    assert view["session_ended"] is None
    assert taken(played.people.perform(act.EndSession))
    assert played.view()["session_ended"]["result"]


def test_bets_that_name_a_seat_are_known(table: Any) -> None:
    named = {name: table(name).view()["seat_bets"] for name in GAMES}
    assert {name: tuple(bets) for name, bets in named.items() if bets} == {
        "dragon-poker": ("second area of seat",),
        "face-up-chinese-poker": ("second hand of seat",),
    }


def test_any_seats_that_can_play_can_begin_a_round(table: Any) -> None:
    """Before seats are marked, bets can be closed with those that have stacks, whichever they are."""
    played = table("face-up-chinese-poker", seats=(3, 5))
    assert not played.actions()["close_bets"]["allowed"]
    played.deal().until(TableState.BETTING)
    assert played.view()["wagered"] == []
    assert played.actions()["close_bets"]["allowed"]


def test_stacks_stay_in_view_between_rounds(table: Any) -> None:
    """Whoever adds chips has to know what lies there."""
    played = table("face-up-chinese-poker").deal()

    def stacks() -> dict[str, int]:
        return {block["hand"]: int(block["figure"]) for block in played.view()["board"] if block["hand"]}

    before = stacks()
    assert set(before) == {"seat1", "seat3"}
    played.until(TableState.BETTING)
    assert set(stacks()) == set(before)
    assert sum(stacks().values()) == sum(before.values())


def test_the_last_round_of_a_shoe_is_announced(table: Any) -> None:
    played = table("dragon-baccarat-tournament").deal()
    assert "last round" not in played.until(TableState.DEALING)["step"]["why"]
    assert taken(played.people.perform(act.ReportCutCard))
    step = played.until(TableState.BETTING)["step"]
    assert step["why"] == "It is the last round of this shoe. Mark the seats that have wagered."


def test_a_correction_with_too_many_cards_says_so(table: Any) -> None:
    played = table("dragon-baccarat-tournament").deal()
    kind = hand(played.until(TableState.CLEARING), "player")["kinds"][-1]
    (refused,) = played.people.perform(act.CorrectCards, target="player", was=(kind,), kinds=(kind, kind))
    assert refused.event.reason == "2 cards cannot replace 1"


def test_a_bet_that_cannot_be_made_now_is_not_offered(table: Any) -> None:
    """Dragon bets are made at the beginning of a session."""
    played = table("dragon-baccarat-tournament")
    assert "possible" not in field(played.actions()["record_bet"], "bet")
    played.deal().until(TableState.BETTING)
    bets = field(played.actions()["record_bet"], "bet")
    assert {*bets["choices"]} - {*bets["possible"]} == {"player dragon", "banker dragon", "any dragon"}


def test_a_card_is_burnt_because_the_shoe_is_new(table: Any) -> None:
    played = table("dragon-baccarat-tournament").deal()
    view = played.until(TableState.DEALING, step="to the burnt cards")
    assert view["step"]["why"] == "It is the first round of this shoe."


def test_only_cards_that_are_left_can_be_entered(table: Any) -> None:
    played = table("face-up-chinese-poker", Method.HAND).deal()
    played.until(TableState.DEALING, step="Deal a card to seat 1")
    dealt = hand(played.view(), "seat3")["kinds"]
    assert len(dealt) == 1
    kinds = field(played.actions()["deal_cards"], "kinds")
    assert set(kinds["choices"]) - set(kinds["possible"]) == set(dealt)


@pytest.mark.parametrize(
    ("name", "there", "missing"),
    [
        ("dragon-poker", {"players_acted", "reveal_dealer"}, {"report_cut_card", "reconstruct_hands", "end_session"}),
        ("dragon-baccarat-tournament", {"report_cut_card", "reconstruct_hands"}, {"players_acted", "decide_hand"}),
        ("dragon-poker-chinese-deck", {"decide_hand", "reshuffle_stock"}, {"record_bet", "report_dealer_exposed"}),
        ("face-up-chinese-poker", {"record_bet", "take_back_decision"}, {"players_acted", "reveal_dealer"}),
    ],
)
def test_the_list_of_actions_says_which_the_game_has(table: Any, name: str, there: set[str], missing: set[str]) -> None:
    in_game = {action for action, one in table(name).actions().items() if one["in_game"]}
    assert there <= in_game
    assert not missing & in_game

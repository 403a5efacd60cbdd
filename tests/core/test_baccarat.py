"""A table of Dragon Baccarat Tournament: its packs, its bets, a shoe that lasts many rounds, and its irregularities."""

from __future__ import annotations

import random
from typing import Any

import pytest

from controller.api.game_view import game_view
from controller.api.table_view import table_view
from controller.cli.table_text import command_lines
from controller.core import actions as act
from controller.core.history import rebuild
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, setup_fault
from controller.games import description_named, game_with
from controller.games.game import Method
from controller.games.standard_cards import kind_of_code
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
GAME = description_named("dragon-baccarat-tournament")
assert GAME is not None
PLAYER_WINS = "9s 2s kh kd"
BANKER_WINS = "2s 9s kh kd"


def a_setup(method: Method = Method.MANUAL_SHOE, backs: tuple[str, ...] = ("red",), **options: Any) -> Setup:
    """A table without a shuffler, with what the house has chosen."""
    assert GAME is not None
    chosen = {**GAME.options, **options}
    return Setup(method=method, backs=backs, shuffler=None, game=game_with(GAME, chosen), options=options)


def a_table(**options: Any) -> House:
    return House(a_setup(burn_cards=0, **options)).open()


def kinds(codes: str) -> tuple[str, ...]:
    """The cards of `5s 10h`."""
    return tuple(kind_of_code(code) for code in codes.split())


def deal(house: House, codes: str) -> None:
    """Deal these cards to the hands that the table names, and enter them."""
    for kind in kinds(codes):
        round_ = house.state.round
        assert round_ is not None
        stack = round_.plan[round_.dealt]
        house.ask(act.DealCards, target=stack.target, kinds=(kind,))


def a_shoe(house: House) -> list[str]:
    """All cards of a pack in some order, the next one last."""
    game = house.setup.game
    found = [kind for kind, copies in zip(game.kinds, game.copies, strict=True) for _ in range(copies)]
    random.Random(7).shuffle(found)
    return found


def deal_from(house: House, shoe: list[str]) -> None:
    """Deal a whole round from these cards, burning cards first if it is the first round."""
    while house.at() is TableState.DEALING:
        round_ = house.state.round
        assert round_ is not None
        stack = round_.plan[round_.dealt]
        drawn = [shoe.pop() for _ in range(stack.cards)]
        house.ask(act.DealCards, target=stack.target, cards=stack.cards, kinds=tuple(drawn) if stack.face_up else ())


def play(house: House, codes: str) -> None:
    """A whole round with these cards."""
    house.ask(act.CloseBets, (1,))
    deal(house, codes)
    house.ask(act.CollectAll)


def results(house: House) -> list[str]:
    """Who has won in this session so far."""
    return [ended["result"] for ended in house.state.carried["session"]]


def bead_plate(house: House) -> list[str]:
    """The results on the screen."""
    (board,) = [block for block in game_view(house.state)["board"] if block["label"] == "Bead plate"]
    return [cell["mark"] for cell in board["cells"]]


# --- the pack -------------------------------------------------------------------------------------------------------


@clause("2.1", game="dragon-baccarat-tournament")
@pytest.mark.parametrize("decks", range(4, 11))
def test_a_pack_is_four_to_ten_decks_and_each_is_counted(decks: int) -> None:
    house = House(a_setup(decks=decks))
    assert house.setup.game.deck_size == 52 * decks
    house.ask(act.OpenTable)
    assert house.table.next_step().text == f"Bring {decks} new red decks."
    house.cards["red-1"] = {"table": 52 * decks}
    house.ask(act.ReceiveDeck, "red-1", "red")
    assert house.table.next_step().do[0]["counts"] == (52,) * decks
    for counts in ((), (52,) * (decks - 1), (51, *(52,) * (decks - 1)), (52 * decks,)):
        assert house.refused(act.InspectDeck, "red-1", counts=counts).clause == ("2.1",)
    house.ask(act.InspectDeck, "red-1", counts=(52,) * decks)
    assert house.deck("red-1") is DeckState.INSPECTED


@clause("2.1", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"decks": 3}, "decks: found 3; expected a number from 4 to 10"),
        ({"decks": 11}, "decks: found 11; expected a number from 4 to 10"),
        ({"decks": "8"}, "decks: found '8'; expected a number from 4 to 10"),
        ({"session_rounds": 30, "session_minutes": 20}, "a session of 30 rounds and 20 minutes: set one of them"),
    ],
)
def test_options_that_the_game_does_not_have_are_refused(options: dict[str, Any], fault: str) -> None:
    assert GAME is not None
    assert GAME.options_fault({**GAME.options, **options}).startswith(fault)
    refusal = setup_fault(Setup(game=GAME.game, shuffler=None, backs=("red",), options=options))
    assert refusal is not None
    assert refusal.reason.startswith(fault)


@clause("3.7", game="dragon-baccarat-tournament")
def test_cards_come_from_a_shoe_and_not_from_the_hand() -> None:
    refusal = setup_fault(a_setup(Method.HAND))
    assert refusal is not None
    assert refusal.reason == "Dragon Baccarat Tournament is not dealt by hand"
    assert refusal.rules == ("3.7",)


# --- bets -------------------------------------------------------------------------------------------------------------


@clause("3.1", "3.2", "5.6", "5.7", game="dragon-baccarat-tournament")
def test_bets_are_made_between_the_two_announcements_only() -> None:
    house = a_table()
    house.ask(act.RecordBet, seat=1, bet="banker", amount=10)
    assert house.last[0].clause == ("3.1",)
    house.ask(act.CloseBets, (1,))
    assert house.find("bets.closed")[0].clause == ("3.7", "3.2")
    deal(house, "9s 2s")
    assert house.refused(act.RecordBet, seat=1, bet="banker", amount=11).clause == ("3.1", "5.6")
    assert house.refused(act.RecordBet, seat=2, bet="tie", amount=1).clause == ("3.1", "5.6")
    assert house.refused(act.RecordBet, seat=1, bet="banker", amount=9).clause == ("3.1", "5.7")
    assert house.refused(act.RecordBet, seat=1, bet="banker", amount=0).clause == ("3.1", "5.7")
    deal(house, "kh kd")
    (settled,) = house.find("round.settled")
    assert [(one["bet"], one["net"]) for one in settled.data["payments"]] == [("banker", -10)]


def test_a_seat_whose_bet_is_recorded_has_wagered_until_the_bet_is_taken_back() -> None:
    house = a_table()
    house.ask(act.RecordBet, seat=3, bet="tie", amount=5)
    house.ask(act.RecordBet, seat=2, bet="tie", amount=5)
    house.ask(act.RecordBet, seat=2, bet="banker", amount=5)
    house.ask(act.RecordBet, seat=3, bet="tie", amount=0)
    house.ask(act.RecordBet, seat=2, bet="tie", amount=0)
    assert house.state.seats == [2]
    house.ask(act.CloseBets)
    assert house.state.round is not None
    assert house.state.round.seats == [2]


@clause("1.1.1", "1.1.2", "1.1.7", game="dragon-baccarat-tournament")
@pytest.mark.parametrize("bet", ["any dragon", "banker dragon", "player dragon"])
def test_a_dragon_bet_is_made_before_the_first_round_of_a_session_and_stays(bet: str) -> None:
    house = a_table()
    house.ask(act.RecordBet, seat=1, bet=bet, amount=10)
    house.ask(act.RecordBet, seat=1, bet=bet, amount=20)
    play(house, PLAYER_WINS)
    assert house.state.bets == {"seat1": {bet: 20}}
    for amount in (0, 10, 30):
        house.refused(act.RecordBet, seat=1, bet=bet, amount=amount)
    house.ask(act.EndSession)
    assert house.state.bets == {}
    house.ask(act.RecordBet, seat=1, bet=bet, amount=30)


# --- the end of a round, of a session and of a shoe -------------------------------------------------------------------


@clause("1.1.13", "3.12", game="dragon-baccarat-tournament")
def test_a_session_ends_after_its_rounds_or_its_minutes_or_when_a_floorperson_ends_it() -> None:
    by_rounds, by_minutes, by_hand = a_table(session_rounds=2), a_table(session_minutes=2), a_table()
    for house in (by_rounds, by_minutes, by_hand):
        play(house, PLAYER_WINS)
        assert not house.find("session.ended")
    by_minutes.tick(120)
    for house in (by_rounds, by_minutes, by_hand):
        house.ask(act.CloseBets, (1,))
        house.refused(act.EndSession)
        deal(house, PLAYER_WINS)
        house.refused(act.EndSession)
        house.ask(act.CollectAll)
    assert by_rounds.find("session.ended")
    assert by_minutes.find("session.ended")
    assert not by_hand.find("session.ended")
    by_hand.ask(act.EndSession)
    assert by_hand.find("session.ended")[0].clause == ("3.12",)
    same_after_snapshot(by_minutes)


def test_a_shoe_lasts_until_its_cut_card_and_then_the_other_pack_is_dealt_from() -> None:
    house = House(a_setup(backs=("red", "blue"), decks=4, cut_card=104)).open()
    for back in ("red", "blue", "red"):
        left, shoe = [], a_shoe(house)
        while house.state.due == back:
            left.append(house.state.decks[f"{back}-1"].cards["manual_shoe"])
            house.ask(act.CloseBets, (1,))
            deal_from(house, shoe)
            house.ask(act.CollectAll)
            if house.state.round:
                house.ask(act.RemoveStub)
            house.work()
        assert left[-3] > left[-2] > 104 >= left[-1], "the round in which the cut card is reached, and one more"


def test_each_cell_of_a_scoreboard_says_in_words_what_it_shows() -> None:
    def big_road() -> list[tuple[str, str]]:
        (board,) = [block for block in game_view(house.state)["board"] if block["label"] == "Big road"]
        return [(cell["label"], cell["text"]) for cell in board["cells"]]

    house = a_table()
    play(house, "9s 9h ks qd")
    assert big_road() == [("1 tie", "1")]
    play(house, "9s 9h kd qh")
    assert big_road() == [("2 ties", "2")]
    play(house, "2s 4h 2d 3c 5s")
    assert big_road() == [("player, 2 ties, player pair", "2")]
    play(house, BANKER_WINS)
    assert big_road()[1] == ("banker", "")


def test_the_scoreboards_begin_again_with_each_shoe_even_if_its_first_round_is_void() -> None:
    house = House(a_setup(backs=("red", "blue"), burn_cards=0, rounds_after_cut_card=0)).open()
    play(house, PLAYER_WINS)
    house.ask(act.CloseBets, (1,))
    house.ask(act.ReportCutCard)
    deal(house, PLAYER_WINS)
    house.ask(act.CollectAll)
    assert bead_plate(house) == ["player", "player"]
    house.ask(act.RemoveStub)
    house.work()
    assert house.state.due == "blue"
    assert bead_plate(house) == []
    house.ask(act.CloseBets, (1,))
    deal(house, PLAYER_WINS)
    assert bead_plate(house) == ["player"]
    house.ask(act.ReportWrongNumber, target="banker", cards=3)
    house.ask(act.ReturnWagers)
    house.ask(act.CollectAll)
    assert bead_plate(house) == []
    play(house, BANKER_WINS)
    assert bead_plate(house) == ["banker"]
    assert results(house) == ["player", "player", "banker"], "the session goes on from shoe to shoe"
    same_after_snapshot(house)


# --- irregularities ---------------------------------------------------------------------------------------------------


@clause("5.1", game="dragon-baccarat-tournament")
def test_a_foreign_card_voids_this_round_and_no_earlier_one() -> None:
    house = a_table(decks=4)
    play(house, "as as as as 2s 2s")
    house.ask(act.CloseBets, (1,))
    assert house.refused(act.DealCards, target="player", kinds=kinds("as")).clause == ("5.1",)
    house.ask(act.ReportIrregularity, "foreign_card")
    (void,) = house.find("round.voided")
    assert void.clause == ("5.1",)
    assert not void.data.get("keeps")  # the whole pack is counted
    assert results(house) == ["tie"]


@clause("5.2", game="dragon-baccarat-tournament")
def test_a_wrong_number_of_cards_voids_a_round_even_after_its_result_and_the_shoe_is_dealt_on() -> None:
    house = a_table()
    play(house, PLAYER_WINS)
    house.ask(act.CloseBets, (1,))
    deal(house, BANKER_WINS)
    assert results(house) == ["player", "banker"]
    house.ask(act.ReportWrongNumber, target="banker", cards=3)
    assert house.find("round.voided")[0].clause == ("5.2",)
    assert results(house) == ["player"]
    assert house.refused(act.CollectHand, target="banker").data["reason"] == "the round is void"
    assert house.refused(act.CollectAll).data["possible_when"] == "all wagers are returned"
    house.ask(act.ReturnWagers)
    assert table_view(house.state, house.state.now_ms)["void_steps"] == [
        {"text": "Return all wagers", "done": True},
        {"text": "Put the cards of the void round into the rack", "done": False},
    ]
    house.ask(act.CollectAll)
    assert house.at() is TableState.BETTING
    assert house.state.decks["red-1"].cards == {"rack": 9, "manual_shoe": 407}  # with the card that was one too many
    same_after_snapshot(house)


@clause("5.2", game="dragon-baccarat-tournament")
def test_a_card_in_the_wrong_hand_is_reconstructed_and_nothing_is_void() -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    deal(house, "2s 2h 3s 2d")
    refused = house.refused(act.DealCards, target="banker", kinds=kinds("4s"))
    assert refused.clause == ("3.7",)
    assert refused.data["reason"] == "the next card goes to the player"
    assert refused.data["possible_when"] == "that card has been dealt"
    deal(house, "as")
    assert house.at() is TableState.CLEARING
    house.ask(act.ReconstructHands, kinds("2s 2h 3s 2d 4s"))
    assert house.at() is TableState.DEALING
    assert house.find("card.due")[-1].data["why"] == "the banker has 4 and draws on the player's third card of 4"
    deal(house, "ks")
    assert house.state.round is not None
    assert house.state.round.result == "player 9, banker 4: player wins, banker pair"
    assert len(house.find("round.settled")) == 2
    house.ask(act.CollectAll)
    assert results(house) == ["player"]
    assert house.state.decks["red-1"].seen == dict.fromkeys(kinds("2s 2h 3s 2d 4s ks"), 1) | {"ace of spades": 0}
    same_after_snapshot(house)


@clause("3.9", game="dragon-baccarat-tournament")
def test_the_guide_says_by_which_clause_a_card_is_dealt() -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    (line,) = command_lines(table_view(house.state, house.state.now_ms)["step"])
    assert line.text.endswith("shoectl do deal_cards target=player cards=1 kinds=CARD"), "it is entered as it is dealt"
    found = []
    for code in ["2s", "2h", "3s", "2d", "4s", "ks"]:
        found.append(house.table.next_step())
        deal(house, code)
    assert [step.clause for step in found] == [("3.7",)] * 4 + [("3.9",)] * 2
    assert found[5].why == "The banker has 4 and draws on the player's third card of 4."


@clause("5.2", game="dragon-baccarat-tournament")
def test_a_card_that_nobody_should_have_got_is_set_aside_and_one_that_was_not_drawn_goes_back() -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    deal(house, "ks 3h 6s 4d")
    refused = house.refused(act.DealCards, target="player", kinds=kinds("2c"))
    assert refused.clause == ("3.9",)
    assert refused.data["reason"] == "no card is due: the player stands on 6, and the banker has 7 and stands"
    house.ask(act.ReconstructHands, kinds("ks 3h 6s 4d 2c"))
    cards = house.state.decks["red-1"].cards
    assert cards == {"player": 2, "banker": 2, "aside": 1, "manual_shoe": 411}
    house.ask(act.ReconstructHands, kinds("ks 3h"))
    assert cards == {"player": 1, "banker": 1, "manual_shoe": 414}
    assert house.refused(act.ReconstructHands, kinds("ks " * 9)).clause == ("5.1",)
    deal(house, "6s 4d")
    house.ask(act.CollectHand, target="player")
    assert house.refused(act.ReconstructHands, kinds("ks 3h 6s 4d")).clause == ("5.2",)


@clause("5.2", game="dragon-baccarat-tournament")
def test_any_card_of_a_round_can_be_corrected_until_the_hands_are_collected() -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    deal(house, "9s 5h")
    house.ask(act.CorrectCards, target="player", kinds=kinds("2s"))
    deal(house, "3s 2d as")
    assert house.at() is TableState.CLEARING, "the banker seems to have 7 and stands"
    house.ask(act.CorrectCards, target="banker", kinds=kinds("2h"), was=kinds("5h"))
    house.ask(act.CorrectCards, target="player", kinds=kinds("4s"))
    deal(house, "ks")
    assert house.state.round is not None
    assert house.state.round.kinds == {"player": list(kinds("2s 3s 4s")), "banker": list(kinds("2h 2d ks"))}
    house.ask(act.CollectAll)
    assert results(house) == ["player"]
    assert house.refused(act.CorrectCards, target="banker", kinds=kinds("9h"))
    same_after_snapshot(house)


@clause("5.2", game="dragon-baccarat-tournament")
def test_the_explanation_of_a_round_has_its_cards_as_they_were_reconstructed() -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    deal(house, "2s 2h 3s 9d")
    house.ask(act.CorrectCards, target="banker", kinds=kinds("2d"))
    deal(house, "as")
    house.ask(act.ReconstructHands, kinds("2s 2h 3s 2d 4s"))
    explained = rebuild(house.events, 1)
    assert [one["kinds"] for one in explained["reconstructed"]] == [
        list(kinds("2s 2h 3s 2d")),
        list(kinds("2s 2h 3s 2d 4s")),
    ]
    assert explained["settled"] is None, "the result that it had does not stand"
    deal(house, "ks")
    explained = rebuild(house.events, 1)
    assert explained["hands"]["player"] == {"cards": 3, "kinds": list(kinds("2s 3s 4s")), "seen": "known"}
    assert explained["hands"]["banker"] == {"cards": 3, "kinds": list(kinds("2h 2d ks")), "seen": "known"}
    assert [one["target"] for one in explained["stacks"]] == ["player", "banker"] * 3
    house.ask(act.ReconstructHands, kinds("2s 2h 6s 2d ks"))
    explained = rebuild(house.events, 1)
    assert explained["hands"]["player"]["kinds"] == list(kinds("2s 6s"))
    assert [one["target"] for one in explained["stacks"]] == [*["player", "banker"] * 2, "aside"]


@clause("5.3", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(("codes", "void"), [("", True), ("2s 2h 3s", True), ("2s 2h 3s 2d", False)])
def test_two_cards_at_once_void_the_round_only_in_the_initial_deal(codes: str, void: bool) -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    deal(house, codes)
    if not void:
        assert house.refused(act.ReportIrregularity, "two_cards").clause == ("5.3",)
        return
    house.ask(act.ReportIrregularity, "two_cards")
    assert house.find("round.voided")[0].clause == ("5.3",)
    house.ask(act.ReturnWagers)
    house.ask(act.CollectAll)
    assert house.find("void.completed")[0].clause == ("5.3",)
    assert house.state.decks["red-1"].cards["rack"] == len(codes.split()) + 2
    assert house.deck("red-1") is DeckState.LOADED


@clause("5.4", game="dragon-baccarat-tournament")
def test_a_shoe_in_another_order_is_not_dealt_on() -> None:
    house = a_table()
    house.ask(act.CloseBets, (1,))
    house.ask(act.ReportIrregularity, "order_altered")
    assert house.find("round.voided")[0].clause == ("5.4",)
    house.ask(act.ReturnWagers)
    house.refused(act.CollectAll)
    assert house.deck("red-1") is DeckState.VOIDED


@clause("5.5", game="dragon-baccarat-tournament")
def test_a_shoe_with_too_few_cards_voids_the_round_that_it_cannot_complete() -> None:
    house = House(a_setup(decks=4, cut_card=0, burn_cards=10)).open()
    shoe = a_shoe(house)
    while not house.find("round.voided"):
        house.ask(act.CloseBets, (1,))
        deal_from(house, shoe)
        if house.at() is TableState.CLEARING:
            house.ask(act.CollectAll)
    (void,) = house.find("round.voided")
    assert void.clause == ("5.5",)
    assert not shoe, "every card was dealt before the round was void"
    assert not void.data.get("keeps")
    assert len(results(house)) == void.data["round"] - 1

"""Irregularities (13.A to 13.E), wrong stubs, and the procedure after a void."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.history import rebuild
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.names import place_name
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Place
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))
MANUAL = Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)
HAND = Setup(method=Method.HAND, backs=("red",), shuffler=ShufflerKind())
AUTOMATED = Setup(backs=("red",), shuffler=None)
TAKEN_FIRST = "the cards of the stack last taken from the shoe come first"


def voided(house: House, *clauses: str) -> None:
    """The last round is void for this reason, and every step of the procedure is followed."""
    event = house.find("round.voided")[-1]
    assert event.clause == clauses
    round_ = event.data["round"]
    house.work()
    assert house.at() is TableState.BETTING, house.table.next_step()
    returned = [e.data["round"] for e in house.find("wagers.returned")]
    assert returned.count(round_) == 1
    done = [e for e in house.find("void.completed") if e.data["round"] == round_]
    assert len(done) == 1
    same_after_snapshot(house)


# --- A, B -----------------------------------------------------------------------------------------------------------


@clause("13.A")
def test_a_face_up_card_goes_to_the_rack_and_another_takes_its_place() -> None:
    house = House().open()
    house.faults["shoe", "Dispense"] = "face_up"
    house.deal((1, 2))
    cards = house.state.decks["red-1"].cards
    assert (cards["seat1"], cards["seat2"], cards["dealer"]) == (3, 3, 3)
    assert house.find("card.face_up")[0].clause == ("13.A",)
    asked = [e.data["command"]["cards"] for e in house.find("command.given") if e.data["command"]["name"] == "Dispense"]
    assert asked == [3, 1, 3, 3]
    house.finish()
    house.work()
    assert house.find("round.completed")
    assert not house.find("round.voided")


@clause("13.A", "10.B(3)(4)")
def test_a_face_up_card_in_the_held_stack() -> None:
    house = House(Setup(hold_dealer=True)).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.step()
    house.take("shoe")
    house.faults["shoe", "Dispense"] = "face_up"  # the next is the dealer's
    house.auto_work = True
    house.tick()
    assert house.at() is TableState.ACTING
    assert house.state.decks["red-1"].cards["held"] == 3
    house.ask(act.PlayersActed)
    assert house.state.decks["red-1"].cards["dealer"] == 3
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.find("round.completed")


@clause("13.B", "10.B(3)(4)")
def test_a_second_face_up_card_in_the_stack_that_is_to_be_held() -> None:
    """Void before the stack is complete: it is held in the shoe, not at the exit, so the shoe must eject it."""
    house = House(Setup(hold_dealer=True)).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.step()
    house.take("shoe")
    house.faults["shoe", "Dispense"] = "two_face_up"  # the next is the dealer's
    house.step()
    assert house.at() is TableState.VOIDING
    assert house.state.decks["red-1"].cards["held"] == 3
    assert house.state.devices["shoe"].at_exit is None
    house.auto_work = True
    voided(house, "13.B")


@clause("13.B")
@pytest.mark.parametrize("setup", [ONE, Setup()])
def test_a_second_face_up_card_voids_the_deal(setup: Setup) -> None:
    house = House(setup).open()
    house.faults["shoe", "Dispense"] = "two_face_up"
    house.deal((1, 2))
    voided(house, "13.B")


@clause("13.A", "13.B")
@pytest.mark.parametrize("setup", [MANUAL, HAND])
def test_face_up_cards_that_the_dealer_finds(setup: Setup) -> None:
    house = House(setup).open()
    house.ask(act.CloseBets, (1,))
    house.move("red-1", house_source(house), "rack", 1)
    house.ask(act.ReportFaceUp)
    assert house.at() is TableState.DEALING
    house.deal_by_hand()
    house.finish()
    house.work()
    assert house.find("round.completed")
    house.ask(act.CloseBets, (1,))
    house.ask(act.ReportFaceUp)
    house.ask(act.ReportFaceUp)
    house.move("red-1", house_source(house), "rack", 2)
    voided(house, "13.B")


@clause("13.A")
def test_a_face_up_card_at_the_exit_that_the_dealer_sees() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.ask(act.ReportFaceUp)
    house.auto_take = True
    house.tick()
    assert house.state.decks["red-1"].cards["seat1"] == 3
    assert house.state.decks["red-1"].cards["rack"] == 1 + 53 - 7
    assert house.refused(act.ReportFaceUp).clause == ("13.A",)


@clause("13.A")
def test_a_face_up_card_that_is_seen_after_its_stack_was_taken() -> None:
    """It goes from the hand to the rack, and the hand gets another after the stack that is at the exit."""
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1, 2, 3))
    house.take("shoe")
    house.tick()
    assert house.state.devices["shoe"].at_exit
    house.ask(act.ReportFaceUp, "seat1")
    house.move("red-1", "seat1", "rack", 1)
    house.auto_take = True
    house.tick()
    cards = house.state.decks["red-1"].cards
    assert (cards["seat1"], cards["seat2"], cards["seat3"], cards["dealer"]) == (3, 3, 3, 3)
    asked = [(e.data["target"], e.data["cards"]) for e in house.find("stack.taken")]
    assert asked == [("seat1", 3), ("seat2", 3), ("seat1", 1), ("seat3", 3), ("dealer", 3)]
    assert house.refused(act.ReportWrongNumber, "seat1", 3).data["reason"] == "3 is the right number of cards"
    assert rebuild(house.events, 1)["hands"]["seat1"]["cards"] == 3
    house.finish()
    house.work()
    assert house.find("round.completed")
    same_after_snapshot(house)


@clause("13.A", "10.B(3)(4)")
@pytest.mark.parametrize("formed", [False, True])
def test_a_hand_gets_its_card_before_the_dealers_stack_that_is_held(formed: bool) -> None:
    house = House(Setup(hold_dealer=True)).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.step()
    house.take("shoe")
    if formed:
        house.step()
        assert house.at() is TableState.ACTING
    house.ask(act.ReportFaceUp, "seat1")
    house.move("red-1", "seat1", "rack", 1)
    house.auto_work = True
    house.tick()
    assert house.at() is TableState.ACTING
    cards = house.state.decks["red-1"].cards
    assert (cards["seat1"], cards["held"], cards.get("dealer", 0)) == (3, 3, 0)
    house.ask(act.PlayersActed)
    assert cards["dealer"] == 3
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.find("round.completed")


@clause("13.A")
def test_a_face_up_card_needs_a_hand_that_has_cards() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1, 2))
    nothing = house.refused(act.ReportFaceUp)
    assert (nothing.clause, nothing.data["reason"]) == (("13.A",), "there is no stack at the shoe's exit")
    assert house.refused(act.ReportFaceUp, "seat2").data["reason"] == "seat 2 has no cards yet"
    assert house.refused(act.ReportFaceUp, "seat5").clause == ("2.A",)
    house.auto_work = True
    house.tick()
    assert house.at() is TableState.ACTING
    over = house.refused(act.ReportFaceUp, "seat1")
    assert over.data["reason"] == "all hands have their cards"


@clause("13.B")
def test_a_second_face_up_card_in_a_hand_voids_the_deal() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    house.ask(act.ReportFaceUp, "seat1")
    house.take("shoe")
    house.auto_take = True
    house.ask(act.ReportFaceUp, "seat1")
    house.move("red-1", "seat1", "rack", 1)
    voided(house, "13.B")


@clause("13.A")
@pytest.mark.parametrize("setup", [MANUAL, HAND])
def test_the_hand_of_a_face_up_card_that_the_dealer_replaces_is_recorded(setup: Setup) -> None:
    house = House(setup).open()
    house.ask(act.CloseBets, (1, 2))
    house.ask(act.DealCards, "seat1")
    house.move("red-1", house_source(house), "rack", 1)
    house.ask(act.ReportFaceUp, "seat1")
    assert house.state.decks["red-1"].cards["seat1"] == 1
    assert house.find("card.face_up")[0].data["target"] == "seat1"
    house.deal_by_hand()
    assert house.state.decks["red-1"].cards["seat1"] == 3


# --- C, D, E --------------------------------------------------------------------------------------------------------


@clause("13.A", "13.B")
@pytest.mark.parametrize("setup", [MANUAL, HAND, ONE])
def test_a_card_that_is_face_up_after_the_deal_is_no_reason_for_a_void(setup: Setup) -> None:
    house = House(setup).open()
    if setup is ONE:
        house.faults["shoe", "Dispense"] = "face_up"
    house.ask(act.CloseBets, (1,))
    if setup is not ONE:
        house.ask(act.ReportFaceUp)
        house.move("red-1", house_source(house), "rack", 1)
        house.deal_by_hand()
    assert house.at() is TableState.ACTING
    assert len(house.find("card.face_up")) == 1
    assert house.refused(act.ReportFaceUp).clause == ("13.A",)
    house.finish()
    assert house.find("round.completed")


@clause("13.C")
@pytest.mark.parametrize("setup", [MANUAL, HAND])
def test_a_card_drawn_in_error_is_the_next_card(setup: Setup) -> None:
    house = House(setup).open()
    house.ask(act.CloseBets, (1, 2))
    house.ask(act.DealCards, "seat1")
    house.ask(act.ReportDrawnInError)
    assert house.refused(act.ReportDrawnInError).clause == ("13.C",)
    house.ask(act.DealCards, "seat2")
    assert house.find("stack.taken")[-1].data["moves"] == [("aside", "seat2", 1)]
    assert "13.C" in house.find("stack.taken")[-1].clause
    house.deal_by_hand()
    assert house.state.decks["red-1"].cards["seat2"] == 3


@clause("13.C")
def test_a_card_that_slipped_out_of_the_automated_shoe_is_the_next_card() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    house.move("red-1", "shoe", "aside", 1)
    house.ask(act.ReportDrawnInError)
    house.auto_take = True
    house.tick()
    house.move("red-1", "aside", "seat2", 1)
    assert house.at() is TableState.ACTING
    cards = house.state.decks["red-1"].cards
    assert (cards["seat1"], cards["seat2"], cards["dealer"], cards["rack"]) == (3, 3, 3, 44)
    assert house.refused(act.ReportDrawnInError)


@clause("13.D")
@pytest.mark.parametrize("fault", ["double", "short", "miscount"])
@pytest.mark.parametrize("setup", [ONE, Setup()])
def test_a_stack_of_two_or_four_voids_the_round(fault: str, setup: Setup) -> None:
    house = House(setup).open()
    house.faults["shoe", "Dispense"] = fault
    house.deal((1, 2))
    voided(house, "13.D")


@clause("13.D")
def test_a_wrong_hand_that_the_dealer_reports() -> None:
    house = House(MANUAL).open()
    house.deal((1, 2))
    assert house.refused(act.ReportWrongNumber, "seat1", 3).clause == ("13.D",)
    assert house.refused(act.ReportWrongNumber, "seat5", 2).clause == ("2.A",)
    house.move("red-1", "manual_shoe", "seat2", 1)
    house.ask(act.ReportWrongNumber, "seat2", 4)
    voided(house, "13.D")
    assert house.state.decks["red-1"].cards.get("missing", 0) == 0


@clause("13.D")
def test_cards_taken_that_are_not_those_that_lay_there() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.move("red-1", "exit", "floor", 1)  # one slips off the table
    house.take("shoe")
    assert house.find("ledger.disagreed")
    assert house.find("round.voided")[-1].clause == ("13.D",)
    house.auto_take = True
    voided(house, "13.D")


@clause("13.E")
@pytest.mark.parametrize("setup", [ONE, MANUAL, HAND, Setup(hold_dealer=True)])
def test_a_dealers_card_shown_too_early(setup: Setup) -> None:
    house = House(setup).open()
    house.deal()
    house.ask(act.ReportDealerExposed)
    assert house.find("dealer_card.exposed")
    voided(house, "13.E")


@clause("13.E")
def test_a_dealers_card_shown_before_all_of_them_are() -> None:
    house = House(ONE).open()
    house.deal()
    house.ask(act.PlayersActed)
    house.ask(act.ReportDealerExposed)
    voided(house, "13.E")


@clause("13.E")
def test_later_the_dealers_cards_may_be_seen() -> None:
    house = House(ONE).open()
    house.deal()
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    assert house.refused(act.ReportDealerExposed).clause == ("13.E",)


# --- the void -------------------------------------------------------------------------------------------------------


@clause("13.E", "13.D", "13.G")
def test_the_void_is_a_procedure_and_no_step_can_be_skipped() -> None:
    house = House().open()
    house.deal((2, 5))
    house.ask(act.ReportDealerExposed)
    assert house.table.next_step().text == "Return all wagers."
    assert house.refused(act.GatherCards, "red-1", "seat2", 3).data["possible_when"] == "the wagers have been returned"
    assert house.refused(act.CloseBets, (1,))
    house.ask(act.ReturnWagers)
    assert house.refused(act.ReturnWagers)
    order = ["dealer", "seat2", "seat5", "rack"]
    for at, place in enumerate(order):
        assert place.replace("seat", "seat ") in house.table.next_step().text
        for later in order[at + 1 :]:
            assert (
                house.refused(act.GatherCards, "red-1", later, 3).data["reason"]
                == f"the cards of {place_name(place)} come first"
            )
        house.ask(act.GatherCards, "red-1", place, house.state.decks["red-1"].cards[place])
    assert house.at() is TableState.WAITING
    assert house.deck("red-1") is DeckState.STACKED
    assert house.state.decks["red-1"].cards == {"table": 53}
    assert house.refused(act.LoadDeck, "red-1").data["reason"]
    assert house.refused(act.GatherCards, "red-1", "rack", 3)


@clause("13.E", "13.D")
@pytest.mark.parametrize("what", ["stack", "stub"])
def test_what_is_taken_in_the_moment_of_a_void_is_asked_for_wherever_it_lies(what: str) -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    if what == "stub":
        house.take("shoe")
        house.take("shoe")
        house.ask(act.ReportWrongNumber, "seat1", 2)
    else:
        house.ask(act.ReportDealerExposed)
    exit_ = house.count("exit")
    assert exit_ == (47 if what == "stub" else 3)
    house.move_all("exit", "rack" if what == "stub" else "seat1")  # the dealer was already taking them
    id = house.devices["shoe"].presented_by
    house.report("shoe", wire.StackTaken, command=id, place=Place.EXIT, cards=exit_)
    assert house.state.decks["red-1"].cards["taken"] == exit_
    house.ask(act.ReturnWagers)
    step = house.table.next_step()
    assert step.text == "Put the cards last taken from the shoe on the pile and count them."
    assert step.do[-1] == {"action": "gather_cards", "deck": "red-1", "place": "taken"}
    assert house.refused(act.GatherCards, "red-1", "shoe", 50).data["reason"] == TAKEN_FIRST
    house.ask(act.GatherCards, "red-1", "taken", exit_)
    said = house.find("cards.gathered")[-1].event.sentence()
    assert said == f"Gathered {exit_} cards of deck red-1 from the stack last taken from the shoe."
    house.move_all("rack" if what == "stub" else "seat1", "table")
    if what == "stack":  # cards ejected for the pile go there without a question
        assert house.state.devices["shoe"].at_exit
        assert house.take("shoe")
        assert house.state.decks["red-1"].cards == {"table": 53}
    house.auto_take = True
    voided(house, "13.D" if what == "stub" else "13.E")
    assert not house.find("ledger.disagreed")


@clause("10.E", "10.F")
def test_a_stub_that_the_shoe_does_not_find_is_asked_about() -> None:
    """The round continued with the cards missing and could never be completed."""
    house = House(ONE).open()
    house.faults["shoe", "Eject"] = "refuse:NO_CARDS"
    house.deal((1,))
    assert house.at() is TableState.STUB_COUNT
    assert house.state.decks["red-1"].cards["missing"] == 47
    house.ask(act.AnswerMisdeal, True)
    house.move_all("shoe", "floor")  # it was taken while the link was down, and is found
    voided(house, "10.F")


@clause("11.E")
def test_hands_that_are_collected_are_not_collected_again() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.take("shoe")
    house.take("shoe")
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.refused(act.CollectAll).data["reason"] == "no hand is on the table"
    house.take("shoe")
    house.work()
    assert house.find("round.completed")


@clause("3.B(3)", "13.E")
def test_a_voided_deal_counts_for_the_turn_of_the_decks() -> None:
    house = House().open()
    house.deal()
    house.ask(act.ReportDealerExposed)
    voided(house, "13.E")
    assert house.find("betting.opened")[-1].data["deck"] == "blue-1"
    assert house.deck("red-1") is DeckState.SHUFFLED, "reshuffled in the meantime"


@clause("5.D")
def test_a_card_that_stays_missing_takes_the_deck_away() -> None:
    house = House(ONE).open()
    house.deal((1,))
    house.ask(act.ReportDealerExposed)
    house.ask(act.ReturnWagers)
    house.ask(act.GatherCards, "red-1", "dealer", 3)
    house.ask(act.GatherCards, "red-1", "seat1", 2)
    difference = house.find("ledger.disagreed")[-1]
    assert difference.data["missing"] == 1
    assert house.events[difference.data["by_event"] - 1].data["place"] == "seat1"
    assert house.refused(act.DeclareMissing, "red-1").data["possible_when"]
    house.ask(act.GatherCards, "red-1", "rack", 47)
    assert "missing" in house.table.next_step().text
    assert house.at() is TableState.VOIDING
    assert house.refused(act.GatherCards, "red-1", "missing", 0)
    assert house.refused(act.DeclareMissing, "red-1", role=Role.DEALER)
    assert house.refused(act.RemoveDeck, "red-1")
    house.ask(act.DeclareMissing, "red-1")
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    house.ask(act.RemoveDeck, "red-1")
    assert house.at() is TableState.WAITING
    assert house.find("void.completed")
    same_after_snapshot(house)


def test_a_card_that_is_found_again() -> None:
    house = House(ONE).open()
    house.deal((1,))
    house.ask(act.ReportDealerExposed)
    house.ask(act.ReturnWagers)
    for place, number in (("dealer", 3), ("seat1", 2), ("rack", 47)):
        house.ask(act.GatherCards, "red-1", place, number)
    house.ask(act.GatherCards, "red-1", "missing", 1)
    assert house.at() is TableState.WAITING
    assert house.deck("red-1") is DeckState.STACKED


# --- the stub -------------------------------------------------------------------------------------------------------

STUBS = [
    (MANUAL, ("8.E",), "8.F", "8.G", "8.G", "8.G"),
    (HAND, ("9.D",), "9.E", "9.F", "9.G", "9.H"),
    (AUTOMATED, ("10.C",), "10.D", "10.E", "10.F", "10.G"),
]


def in_the_fifth_round(setup: Setup) -> House:
    house = House(setup).open()
    for _ in range(4):
        house.play((1,))
    assert house.state.rounds_uncounted == 4
    house.deal((1,))
    return house


@clause("8.E", "9.D", "10.C", "8.F", "9.E", "10.D")
@pytest.mark.parametrize(("setup", "due", "fits", "_w", "_m", "_n"), STUBS)
def test_the_stub_is_counted_once_in_five_rounds(
    setup: Setup, due: tuple[str, ...], fits: str, _w: str, _m: str, _n: str
) -> None:
    house = in_the_fifth_round(setup)
    assert house.refused(act.PlayersActed).clause == due
    if setup.method is not Method.AUTOMATED_SHOE:
        house.ask(act.RemoveStub)
    assert "Count the stub" in house.table.next_step().text
    assert house.refused(act.PlayersActed).clause == due
    house.ask(act.CountStub, 47)
    assert house.find("count.accepted")[-1].clause == (fits,)
    house.gather_real("red-1", "rack")
    house.finish()
    assert house.find("round.completed")[-1].data["round"] == 5
    assert house.state.rounds_uncounted == 0
    house.move_all("manual_shoe", "rack")
    house.move_all("hand", "rack")
    house.work()
    for _ in range(4):
        house.play((1,))
    same_after_snapshot(house)


@clause("8.E", "9.D", "10.C")
@pytest.mark.parametrize(("setup", "due", "_f", "_w", "_m", "_n"), STUBS)
def test_the_sixth_round_without_a_count_does_not_start(
    setup: Setup, due: tuple[str, ...], _f: str, _w: str, _m: str, _n: str
) -> None:
    house = House(setup).open()
    house.state.rounds_uncounted = 5
    assert house.attempt(act.CloseBets, (1,))[0].clause == due


@clause("8.G", "9.F", "9.G", "10.E", "10.F")
@pytest.mark.parametrize(("setup", "_d", "_f", "wrong", "misdealt", "_n"), STUBS)
def test_a_misdeal_with_all_cards_there_is_a_void(
    setup: Setup, _d: str, _f: str, wrong: str, misdealt: str, _n: str
) -> None:
    house = in_the_fifth_round(setup)
    house.move("red-1", house_source(house), "seat1", 1)  # seat 1 was given four
    if setup.method is not Method.AUTOMATED_SHOE:
        house.move("red-1", house_source(house), "stub", 60)
        house.ask(act.RemoveStub)
    else:
        house.move("red-1", "rack", "stub", 60)
    house.ask(act.CountStub, 46)
    assert house.at() is TableState.STUB_COUNT
    assert house.find("stub.rejected")[-1].clause == (wrong,)
    assert house.refused(act.PlayersActed)
    assert house.refused(act.RevealDealer)
    house.ask(act.AnswerMisdeal, True)
    voided(house, misdealt)
    assert "red-1" in house.state.decks, "53 cards remain: the deck stays"


def house_source(house: House) -> str:
    """Where the rest of the deck really is."""
    return next(place for place in ("manual_shoe", "hand", "rack") if house.count(place))


@clause("8.G", "9.H", "10.G")
@pytest.mark.parametrize(("setup", "_d", "_f", "_w", "_m", "not_misdealt"), STUBS)
def test_a_short_deck_leaves_the_table(setup: Setup, _d: str, _f: str, _w: str, _m: str, not_misdealt: str) -> None:
    house = in_the_fifth_round(setup)
    house.move("red-1", house_source(house), "gone", 1)
    if setup.method is not Method.AUTOMATED_SHOE:
        house.move("red-1", house_source(house), "stub", 60)
        house.ask(act.RemoveStub)
    else:
        house.move("red-1", "rack", "stub", 60)
    house.ask(act.CountStub, 46)
    house.ask(act.AnswerMisdeal, False)
    assert house.find("round.voided")[-1].clause == (not_misdealt,)
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    house.work()
    assert "red-1" in house.state.retired
    assert house.at() is TableState.WAITING
    house.receive("red-2", "red")
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("10.E", "5.D")
def test_a_stub_that_the_shoe_counts_otherwise_is_a_fault() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Eject"] = "miscount"
    house.deal((1,))
    assert house.at() is TableState.STUB_COUNT
    assert house.find("ledger.disagreed")
    assert house.find("stub.rejected")[-1].clause == ("10.E",)
    house.ask(act.AnswerMisdeal, True)
    voided(house, "10.F")


@clause("10.C")
def test_a_count_that_somebody_wants() -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.ask(act.WantStubCount)
    assert house.refused(act.WantStubCount)
    house.auto_take = True
    house.tick()
    assert house.refused(act.PlayersActed).clause == ("10.C",)
    house.ask(act.CountStub, 47)
    house.ask(act.PlayersActed)


@clause("13.G")
def test_an_exit_at_which_nothing_lies_is_said_to_be_empty() -> None:
    """The sensor reported three cards that never left the shoe: nobody can take them, and the shoe keeps waiting."""
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.step()
    house.move("red-1", "exit", "shoe", 3)
    house.ask(act.ReportDealerExposed)
    house.refused(act.GatherCards, "red-1", "exit", 0)  # the wagers are returned first
    house.ask(act.ReturnWagers)
    step = house.table.next_step()
    assert step.do == ()
    assert "record 0 cards at the exit" in step.text
    house.refused(act.GatherCards, "red-1", "exit", 3)  # cards that are taken are reported by the sensor
    house.refused(act.GatherCards, "red-1", "shoe", 0)
    house.ask(act.GatherCards, "red-1", "exit", 0)
    assert house.state.decks["red-1"].cards == {"shoe": 50, "missing": 3}
    house.auto_work = True
    house.tick()
    voided(house, "13.E")
    assert [event.data["missing"] for event in house.find("ledger.disagreed")] == [3, -3]
    assert not house.find("deck.locked_out")


# --- what was taken out of a jam ------------------------------------------------------------------------------------


@clause("13.G")
def test_cards_taken_out_of_a_jam_are_not_missing() -> None:
    """The dealer has them in hand: they are asked for and counted. Only what is not among them is missing."""
    for kept in (2, 1):
        house = House(ONE).open()
        house.faults["shoe", "Dispense"] = "jam"
        house.deal((1, 2))
        house.ask(act.ReturnWagers)
        house.move("red-1", "shoe", "freed", 2)
        house.ask(act.FreeJam, "shoe")
        assert house.state.decks["red-1"].cards == {"table": 51, "freed": 2}
        assert not house.find("ledger.disagreed")
        step = house.table.next_step()
        assert step.text == "Put the cards taken out of the jam on the pile and count them."
        house.ask(act.GatherCards, "red-1", "freed", kept)
        house.check()
        assert bool(house.find("ledger.disagreed")) is (kept == 1)
        assert house.state.decks["red-1"].cards.get("missing", 0) == 2 - kept
        if kept == 2:
            assert house.find("void.completed")
        same_after_snapshot(house)


@clause("13.F")
def test_cards_taken_out_of_a_jam_in_the_shuffler_are_not_missing() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.faults["shuffler", "Shuffle"] = "jam"
    while house.state.devices["shuffler"].state is not DeviceState.JAMMED:
        assert house.do_next_task()
    house.move("red-1", "infeed", "freed", 3)
    house.ask(act.FreeJam, "shuffler")
    assert house.state.decks["red-1"].cards == {"table": 50, "freed": 3}
    house.work()
    assert not house.find("ledger.disagreed")
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)

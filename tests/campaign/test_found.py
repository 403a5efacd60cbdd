"""What the campaign has found in the rest of the code, each repeated in a few steps."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from simulators.campaign.checks import kind_names
from simulators.campaign.clumsy_people import BUTTONS, ClumsyPeople
from simulators.campaign.luck import Shift, draw
from simulators.campaign.run import CampaignResult, play_shift
from simulators.campaign.unlucky_house import UnluckyHouse
from simulators.campaign.witness import Witness
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import ON_THE_TABLE
from simulators.devices.faults import FaultName
from simulators.table.hands import FLOOR, SOURCE
from simulators.table.house import House
from simulators.table.people import WHO, NoMoreDecks, People, taken

SEATS = (1, 3, 6)
DEALER: dict[str, Any] = {"who": WHO[Role.DEALER], "role": Role.DEALER}


@pytest.fixture
def houses(tmp_path: Path) -> Iterator[list[House]]:
    """The houses of a test; they are closed at its end."""
    made: list[House] = []
    yield made
    for house in made:
        house.close()


def opened(houses: list[House], folder: Path, setup: Setup | None = None, sets: int = 4) -> tuple[House, People]:
    house = House(folder / "journal.db", setup, sets=sets)
    houses.append(house)
    people = People(house)
    assert people.open()
    return house, people


def opened_unlucky(houses: list[House], folder: Path, setup: Setup) -> tuple[UnluckyHouse, ClumsyPeople]:
    """A house of the campaign with its table open and no mishaps planned."""
    shift = draw(1, 1, 0.0, setup=setup)
    witness = Witness(shift)
    house = witness.house = UnluckyHouse(folder / "journal.db", shift, witness)
    houses.append(house)
    people = ClumsyPeople(house, witness)
    assert people.open()
    return house, people


def until_stub_comes_out(house: House, people: People) -> None:
    """A round up to the moment in which the shoe has begun to bring out the stub."""
    people.enough = lambda: bool(
        house.state.devices["shoe"].doing and house.state.devices["shoe"].doing.name == "Eject"
    )
    assert people.play(SEATS)
    people.enough = None
    doing = house.state.devices["shoe"].doing
    assert doing is not None
    assert doing.target == "stub"


def replayed(shift: Shift, only: Collection[int] = ()) -> CampaignResult:
    """Play a shift with these mishaps only (default: all), and four rounds after the last: each deck is dealt twice."""
    last = max(mishap.round for mishap in shift.mishaps if not only or mishap.number in only)
    return play_shift(replace(shift, rounds=min(shift.rounds, last + 5)), only or None)


def waiting(shift: Shift, **cards: int) -> Shift:
    """The same shift, in which faults of these kinds wait for this many cards."""
    mishaps = (replace(one, after_cards=cards.get(one.kind, one.after_cards)) for one in shift.mishaps)
    return replace(shift, mishaps=tuple(mishaps))


def test_a_stub_on_its_way_is_not_taken_by_hand_while_the_link_may_come_back(
    houses: list[House], tmp_path: Path
) -> None:
    """It was counted twice, the deck had 44 cards too many, and the table never came back."""
    house, people = opened(houses, tmp_path)
    until_stub_comes_out(house, people)
    house.sim.shoe.inject(FaultName.UNPLUG, house.now, for_s=4.0)
    house.look()
    refused = house.report(act.RemoveStub(**DEALER))
    assert [event.kind for event in refused] == ["action.refused"]
    assert people.work()
    assert "round.voided" not in {event.kind for event in house.events}


def test_a_stub_with_a_wrong_count_goes_to_the_rack_like_any_other(houses: list[House], tmp_path: Path) -> None:
    """The table believed it was on the dealer's pile, and called a void complete with the stub still in the rack."""
    house, people = opened(houses, tmp_path)
    until_stub_comes_out(house, people)
    house.sim.shoe.inject(FaultName.MISCOUNT, house.now)
    people.enough = lambda: house.state.table is TableState.STUB_COUNT and not house.state.devices["shoe"].at_exit
    while not people.enough():
        people.hands.take("shoe")
        house.step()
    deck = house.state.round.deck if house.state.round else ""
    lying = house.cards.count(Spot(CardPlace.RACK))
    assert lying == house.state.decks[deck].cards["rack"] + house.state.decks[deck].cards.get("missing", 0)
    people.enough = None
    assert people.work()


def test_an_exit_that_is_told_to_be_empty_after_the_cards_were_gathered(houses: list[House], tmp_path: Path) -> None:
    """A silent shoe reported it when it was back: three cards were counted twice, and the table never came back."""
    house, people = opened(houses, tmp_path, Setup(shuffler=None, backs=("red",)))
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    assert house.run(lambda: house.state.devices["shoe"].at_exit is not None, 10)
    house.sim.shoe.inject(FaultName.SILENCE, house.now, for_s=60.0)
    assert house.run(lambda: house.state.table is TableState.VOIDING, 30)
    house.sim.shoe.take(Spot(CardPlace.TABLE, 0), house.now)
    assert people.work()
    assert [event.clause for event in house.events if event.kind == "round.voided"] == [("13.G",)]
    assert [deck.cards for deck in house.state.decks.values()] == [{"shoe": 53}]


def test_a_deck_that_leaves_in_the_fifth_round_does_not_stop_the_table(houses: list[House], tmp_path: Path) -> None:
    """No stub could be counted any more, since no round could start before one was counted."""
    house, people = opened(houses, tmp_path, Setup(shuffler=ShufflerKind(feeds_shoe=True)))
    for _ in range(4):
        assert people.play(SEATS)
    people.enough = lambda: bool(house.state.round and house.state.round.dealt == 1)
    assert people.play(SEATS)
    people.enough = None
    deck = house.state.round.deck if house.state.round else ""
    house.cards.move_top(1, Spot(CardPlace.HAND, 1), Spot(CardPlace.TABLE, -8))  # where nobody looks
    assert taken(house.report(act.ReportWrongNumber(target="seat1", cards=2, **DEALER)))
    assert people.work()
    assert deck in house.state.retired
    assert people.play(SEATS)


def test_the_cards_of_a_jam_do_not_lie_among_another_deck(houses: list[House], tmp_path: Path) -> None:
    """With ten decks in the cupboard, the tenth was where stuck cards are put; the 91st was in the manual shoe."""
    house, _ = opened(houses, tmp_path, sets=60)
    assert [spot for spot in (ON_THE_TABLE, *SOURCE.values()) if house.cards.count(spot)] == []


def test_a_stack_given_up_and_gathered_is_not_taken_from_the_deck_that_is_loaded_next() -> None:
    """A silent shoe reported three cards late; they were counted out of the next deck, and bets were opened on 50."""
    found = replayed(draw(1, 36), only=[2])
    assert found.violations == []
    assert found.faults == {"silence": 1}


def test_a_deck_that_the_shoe_tells_of_before_the_dealer_does_stays_in_it() -> None:
    """A silent shoe answered again at that moment; the dealer saw that it is loaded, and took it out again."""
    found = replayed(draw(1, 36), only=[1])
    assert found.violations == []
    assert found.faults == {"silence": 1}


def test_a_deck_that_the_shuffler_tells_of_before_the_dealer_does_stays_in_it() -> None:
    """The same in the infeed: a shuffler that had lost its power began to shuffle, and the dealer took the deck out."""
    found = replayed(draw(1, 2635), only=[2])
    assert found.violations == []
    assert found.faults == {"power_loss": 1}


def test_nobody_hears_a_device_that_is_plugged_in_while_the_host_is_off() -> None:
    """The session that stands for a host without power was connected, and decided."""
    found = replayed(draw(1, 3652), only=[14, 15])
    assert found.violations == []


def test_a_stack_laid_in_the_moment_of_a_void_is_asked_for(houses: list[House], tmp_path: Path) -> None:
    """It was recorded as being on the dealer's pile, and the void was complete with three cards at the seat."""
    house, people = opened(houses, tmp_path)
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    assert house.run(lambda: house.state.devices["shoe"].at_exit is not None, 10)
    seat = Spot(CardPlace.HAND, SEATS[0])
    assert taken(house.report(act.ReportDealerExposed(**DEALER)))
    people.hands.lay_down("shoe", house.sim.shoe.take(seat, house.now), seat)
    house.look()
    people.enough = lambda: house.events[-1].kind == "void.completed" or house.state.table is TableState.WAITING
    assert people.work()
    assert house.cards.count(seat) == 0
    gathered = [event.data["place"] for event in house.events if event.kind == "cards.gathered"]
    assert gathered[0] == "taken"
    people.enough = None
    assert people.work()
    assert not [event for event in house.events if event.kind == "deck.locked_out"]


def test_a_card_that_fell_out_of_a_deck_is_no_spare_card(houses: list[House], tmp_path: Path) -> None:
    """It got into the other deck as the extra card, and stayed at a seat: nobody gathers it with that deck."""
    house, people = opened(houses, tmp_path)
    (fallen,) = house.cards.move_top(1, Spot(CardPlace.SHELVES, house.cards.spots(CardPlace.SHELVES)[0].number), FLOOR)
    house.sim.shoe.inject(FaultName.EXTRA_CARD, house.now)
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    house.rest(5.0)
    assert FaultName.EXTRA_CARD not in house.sim.shoe.faults
    assert house.cards.where(fallen) == FLOOR


def test_a_deck_that_is_refused_by_the_shuffler_is_taken_out_of_it() -> None:
    """It grew too old on its way into the infeed and was recorded as removed; the next deck was put on top of it."""
    found = replayed(draw(22, 3, 1.5))
    assert found.violations == []


def test_a_hand_that_was_collected_before_the_dealers_cards_are_shown_is_not_missed(
    houses: list[House], tmp_path: Path
) -> None:
    """As that of a player who folded. The campaign took it for a stack that was not dealt."""
    house, people = opened_unlucky(houses, tmp_path, Setup())
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    while house.state.table is not TableState.REVEALING:
        if not people.chore():
            house.step()
    assert taken(people.press(act.CollectHand(target="seat1", **DEALER)))
    assert people.work()
    assert people.witness.completed == 1


def test_a_deck_that_was_put_into_the_shoe_and_not_told_is_found_there() -> None:
    """The table asked for it, nobody looked into the shoe, and the table never came back."""
    found = replayed(draw(40, 4, 1.5), only=[37, 40])
    assert found.violations == []
    assert found.faults == {"missed_step": 1, "wrong_deck": 1}


def test_a_simulated_host_that_is_back_says_so_first_as_the_daemon_does() -> None:
    """It looked at its clock first: a stub that had come out in the dark was late, and a dealt round was void."""
    found = replayed(draw(2, 17), only=[2])
    assert found.violations == []
    assert found.faults == {"host_dies_before_commit": 1}
    assert found.voids == {}


@pytest.mark.parametrize("place", ["manual_shoe", "hand"])
def test_nobody_takes_cards_from_a_place_that_the_table_does_not_have(
    place: str, houses: list[House], tmp_path: Path
) -> None:
    """A wrong button at a table with an automated shoe emptied that, or ended the campaign with an error."""
    house, people = opened_unlucky(houses, tmp_path, Setup())
    assert not taken(people.press(act.GatherCards(deck="red-1", place=place, cards=3, **DEALER)))
    assert house.cards.count(Spot(CardPlace.SHOE)) == 53


def test_an_empty_cupboard_is_named(houses: list[House], tmp_path: Path) -> None:
    """It was a StopIteration, which ends a coroutine of the robot's with an error about itself."""
    _, people = opened(houses, tmp_path, sets=1)
    with pytest.raises(NoMoreDecks, match="the cupboard has no more red decks"):
        people.bring("red")


def test_a_jam_whose_check_was_cut_short_by_a_door_can_be_freed_again() -> None:
    """The shoe was ready and its jam not gone: nobody could say that it is free, and the table never came back."""
    found = replayed(waiting(draw(1, 2297), jam=8), only=[17, 19])
    assert found.violations == []
    assert found.faults == {"jam": 1, "open_door": 1}


@pytest.mark.parametrize(("shift", "pauses"), [(957, (5, 6)), (2517, (10, 12, 13, 14))])
def test_a_table_is_not_waited_for_while_its_people_are_away(shift: int, pauses: tuple[int, ...]) -> None:
    """Pauses in one round added up to more than a table may take; a stack was there, and nobody took it."""
    found = replayed(draw(1, shift), only=pauses)
    assert found.violations == []
    assert found.faults == {"long_pause": len(pauses)}


def test_hands_that_were_said_to_be_collected_leave_with_their_deck() -> None:
    """The floorperson closed the table in that moment; 21 cards came into the rack when their deck had left."""
    found = replayed(draw(1, 3576), only=[11])
    assert found.violations == []
    assert found.faults == {"two_at_once": 1}


def test_decks_begin_to_alternate_anew_after_one_was_alone_at_the_table() -> None:
    """The shuffler was out of service for a second, while both decks were being replaced."""
    found = replayed(draw(2026111801, 773), only=[1, 15])
    assert found.violations == []
    assert found.faults == {"clock_corrected": 1, "two_at_once": 1}


def test_a_deck_in_the_manual_shoe_is_not_taken_out_for_a_wrong_one() -> None:
    """The simulated dealer looked whether the covered automated shoe was empty, not what they deal from."""
    found = replayed(draw(2026111801, 2855), only=[2, 6])
    assert found.violations == []
    assert found.faults["dead"] == 1


def test_a_spare_card_among_another_deck_does_not_count_as_its_own() -> None:
    """The witness took the count of 54 for that of both decks, since the card too many had the other back."""
    found = replayed(draw(2026111811, 2830), only=[2, 3])
    assert found.violations == []
    assert found.faults == {"extra_card": 1, "silence": 1}


@pytest.mark.parametrize(("shift", "only"), [(3071, (1, 2, 18)), (3122, (4, 6, 13))])
def test_the_first_start_of_a_host_is_recorded(shift: int, only: tuple[int, ...]) -> None:
    """A wall clock that was ahead at the first recorded start was taken for right, and a deck was dealt too long."""
    found = replayed(draw(2026111811, shift), only=only)
    assert found.violations == []
    assert found.faults["clock_corrected"] == 1


def test_a_deck_in_a_jammed_shoe_is_shuffled_again_when_the_jam_is_freed() -> None:
    """People had overlooked the jam; freeing it, they took a card out of the next deck."""
    found = replayed(draw(2026111811, 2491), only=[3, 7])
    assert found.violations == []
    assert found.faults == {"ignored_warning": 1, "jam": 1}


def test_players_act_only_when_every_hand_has_its_cards() -> None:
    """A card was reported as face up while the dealer's stack was held, and its replacement was still at the exit."""
    found = replayed(draw(2026111812, 1764), only=[13])
    assert found.violations == []
    assert found.faults == {"wrong_button": 1}


def test_a_deck_is_loaded_where_it_is_dealt_from() -> None:
    """It was in the manual shoe when somebody changed the method to dealing by hand, and it was reported as loaded."""
    found = replayed(draw(2026111812, 1925), only=[5, 8, 16])
    assert found.violations == []
    assert found.faults["wrong_button"] == 1


@pytest.mark.parametrize(("shift", "only"), [(208, (4, 6)), (2090, (3, 4))])
def test_a_foreign_card_in_the_place_of_one_that_is_gone_is_counted_until_it_is_seen(
    shift: int, only: tuple[int, ...]
) -> None:
    """The simulated dealer saw its back through the shoe, or threw it away unasked, and 52 cards were dealt as 53."""
    found = replayed(waiting(draw(1, shift), extra_card=0), only=only)
    assert found.violations == []
    assert found.faults["extra_card"] == 1
    assert found.recoveries["decks replaced"] == 1


def test_a_recognising_shuffler_sees_a_foreign_card_in_the_place_of_one_that_is_gone(
    houses: list[House], tmp_path: Path
) -> None:
    """53 cards with one rabbit too many: what a shuffler that only counts cannot know, this one must."""
    house, people = opened_unlucky(
        houses, tmp_path, Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True))
    )
    house.rest(60.0)  # the shuffle that runs is over: both come in the next
    house.sim.shuffler.inject(FaultName.EXTRA_CARD, house.now)
    house.sim.shuffler.inject(FaultName.MISSING_CARD, house.now, after_cards=20)
    for _ in range(3):
        assert people.play(SEATS)
    (rejected,) = [event for event in house.events if event.kind == "count.rejected"]
    assert (rejected.clause, rejected.data["cards"]) == (("3.A(1)(3)", "5.D"), 53)
    assert rejected.data["deck"] in house.state.retired


def test_nobody_adds_a_loose_card_to_a_deck_that_lies_ready() -> None:
    """A spare from a jam was on the table; the dealer added it to the counted deck, and 54 cards were dealt."""
    found = replayed(draw(224, 8), only=[10, 11, 12])
    assert found.violations == []
    assert found.faults == {"dropped_card": 1, "extra_card": 1, "jam": 1}


def test_a_door_that_was_closed_while_the_shoe_was_off_is_closed_again() -> None:
    """The shoe could not report it, and the table never came back: the guide asks to open and close it once more."""
    found = replayed(draw(245, 7, 4.0), only=[1, 2])
    assert found.violations == []
    assert found.faults == {"open_door": 1, "power_loss": 1}


def test_a_deck_that_the_shuffler_is_about_to_shuffle_is_not_rejected() -> None:
    """The dealer put it in, the floorperson found a bent card in that moment, and the shuffler went on with it."""
    found = replayed(draw(246, 11, 4.0), only=[42])
    assert found.violations == []
    assert found.faults == {"two_at_once": 1}


def test_two_decks_that_come_out_together_are_told_apart_by_their_backs() -> None:
    """A deck was put into a shuffler that brought the other one out; both were then put in again as one."""
    found = replayed(draw(253, 7, 4.0), only=[79, 84, 90])
    assert found.violations == []
    assert found.faults == {"extra_card": 1, "host_dies_after_commit": 1, "wrong_deck": 1}


def test_nobody_says_that_a_deck_is_loaded_that_is_not_at_hand() -> None:
    """It was in the shuffler under the other one: put in by mistake, and not reported."""
    found = replayed(draw(243, 4, 4.0), only=[18, 22, 25])
    assert found.violations == []
    assert found.faults == {"missed_step": 1, "short_feed": 1, "wrong_deck": 1}


def test_a_foreign_card_that_was_taken_with_a_stack_does_not_stay_at_the_seat() -> None:
    """The round was void, its deck was gathered, and the foreign card was still there in the next round."""
    found = replayed(draw(248, 5, 4.0), only=[53, 59, 78, 79, 80])
    assert found.violations == []
    assert found.faults["extra_card"] == found.faults["hasty_hand"] == 1


def test_a_deck_in_the_manual_shoe_is_not_taken_out_by_who_sees_to_the_shuffler() -> None:
    """The shuffler feeds the shoe that stands there. The deck was taken for one that was put in and not reported."""
    found = replayed(draw(249, 8, 4.0), only=[74, *range(105, 117)])
    assert found.violations == []
    assert found.faults["dead"] == 1


def test_a_stack_that_is_held_when_the_round_is_void_is_not_at_the_exit() -> None:
    """A second card was face up in it. The guide kept asking the dealer to take cards that were still in the shoe."""
    found = replayed(waiting(draw(254, 8, 4.0), face_up=0), only=[8, 9])
    assert found.violations == []
    assert found.voids == {"13.B": 1}


def test_a_card_found_face_up_in_an_earlier_hand_is_replaced_out_of_turn() -> None:
    """Seat 3 got its card after the stack of seat 6; only the witness was surprised."""
    found = replayed(draw(90210002, 204), only=[2])
    assert found.violations == []
    assert found.faults == {"wrong_button": 1}


def test_a_deck_in_the_dealers_hand_is_not_put_into_the_shuffler_by_mistake() -> None:
    """Nobody reported it, the sensor took it for the other deck, and nobody missed it in the hand."""
    found = replayed(draw(270, 4, 4.0), only=[18, 33, 42, 43, 44])
    assert found.violations == []
    assert found.faults["wrong_deck"] == 1


def test_an_exit_whose_sensor_sees_a_card_that_is_not_there_does_not_stop_the_table() -> None:
    """A hasty hand had taken the whole stack, and one card was reported. Nobody could take it or deny it."""
    found = replayed(draw(283, 4, 4.0), only=[13, 16, 17, 25, 28, *range(36, 51)])
    assert found.violations == []
    assert {"hasty_hand", "miscount"} <= found.faults.keys()


def test_a_deck_that_another_has_taken_away_meanwhile_is_no_more_to_be_seen_to() -> None:
    """The dealer had looked at both decks; a floorperson removed both and closed the table between two of his words."""
    found = replayed(draw(1, 1733), only=[11, 12])
    assert found.violations == []
    assert found.faults == {"miscount": 1, "two_at_once": 1}


def test_a_card_at_an_exit_that_was_counted_as_none_is_taken_before_the_device_is_emptied_again() -> None:
    """The shuffler reported no card at its exit, one was there, and it was commanded to eject again and again."""
    found = replayed(draw(2026111843, 1036), only=[7, 8])
    assert found.violations == []
    assert found.faults == {"miscount": 1, "incomplete_cycle": 1}


def test_a_surplus_card_with_the_other_back_is_not_put_to_the_other_deck() -> None:
    """It came out of the shoe alone, before a jam; the other deck was in the shuffler, whole and counted."""
    found = replayed(draw(2026111843, 1462), only=[10, 12])
    assert found.violations == []
    assert found.faults == {"extra_card": 1, "jam": 1}


def test_a_surplus_card_with_the_other_back_is_seen_among_the_cards_of_a_void_round() -> None:
    """It came out of the shoe in the middle of the stub, and the dealer looked for it on the pile of its own deck."""
    found = replayed(draw(77, 52), only=[2])
    assert found.violations == []
    assert found.faults == {"extra_card": 1}


def test_what_a_wrong_button_reports_is_not_done_when_the_table_refuses_it(houses: list[House], tmp_path: Path) -> None:
    """Three cards of a hand went to the pile, and a deck came out of the shoe, although both were refused."""
    house, people = opened_unlucky(houses, tmp_path, Setup())
    deck = next(name for name, found in house.state.decks.items() if found.cards == {"shoe": 53})
    assert not people.pressed(act.GatherCards(deck=deck, place="shoe", cards=53, **DEALER))
    assert house.cards.count(Spot(CardPlace.SHOE)) == 53
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    while house.state.table is not TableState.ACTING:
        if not people.chore():
            house.step()
    assert not people.pressed(act.GatherCards(deck=deck, place="seat3", cards=3, **DEALER))
    assert house.cards.count(Spot(CardPlace.HAND, 3)) == 3


def test_a_deck_that_is_put_into_a_shoe_while_it_is_emptied_comes_out_with_the_rest(
    houses: list[House], tmp_path: Path
) -> None:
    """The table believed 53 cards in the shoe and opened the bets, while they were at its exit."""
    house, people = opened_unlucky(houses, tmp_path, Setup(shuffler=ShufflerKind(counts=True)))
    assert taken(people.perform(act.CloseBets, seats=SEATS))
    while not (deck := due_and_delivered(house)):
        if not people.chore():
            house.step()
    assert taken(house.report(act.EmptyDevice(device="shoe", who=WHO[Role.FLOOR], role=Role.FLOOR)))
    assert people.hands.load(deck)
    house.look()
    assert people.work()
    assert house.state.decks[deck].cards == {"shoe": 53}
    assert house.cards.count(Spot(CardPlace.SHOE)) == 53
    kinds = [event.kind for event in house.events if event.data.get("deck") == deck]
    assert "deck.recalled" in kinds[kinds.index("deck.delivered") :], "what a device has brought out is shuffled again"


def due_and_delivered(house: House) -> str:
    """The deck whose turn it is, if the dealer has it in front of them, shuffled."""
    decks = house.state.decks.items()
    return next((name for name, found in decks if found.state is DeckState.DELIVERED), "")


def test_cards_that_a_hasty_hand_took_before_the_void_are_put_back_with_the_others(
    houses: list[House], tmp_path: Path
) -> None:
    """Only what was taken afterwards was counted; a surplus card with the same back stayed at the dealer's place."""
    house, people = opened_unlucky(houses, tmp_path, Setup(shuffler=None, backs=("red",)))
    house.sim.shoe.inject(FaultName.EXTRA_CARD, house.now)
    assert taken(people.perform(act.CloseBets, seats=(1,)))
    assert house.run(lambda: house.cards.count(Spot(CardPlace.EXIT)) == 2, 10)
    assert people.hands.take("shoe")
    assert house.run(lambda: house.state.devices["shoe"].at_exit is not None, 10)
    assert people.hands.take("shoe")
    assert people.work()
    gathered = [event.data["cards"] for event in house.events if event.data.get("place") == "taken"]
    assert gathered == [3]
    assert "red-1" in house.state.retired, "it had 54 cards"


def test_a_surplus_card_of_the_other_deck_is_not_seen_among_those_of_the_shoe(
    houses: list[House], tmp_path: Path
) -> None:
    """People looked for it on the pile of the other deck, where nobody had put it."""
    house, people = opened_unlucky(houses, tmp_path, Setup(shuffler=ShufflerKind(counts=True)))
    (shoe,) = (name for name, deck in house.state.decks.items() if deck.cards.get("shoe"))
    spare = next(card for card in house.cards.pile(FLOOR) if card.deck in house.state.decks and card.deck != shoe)
    assert taken(people.perform(act.CloseBets, seats=(1,)))
    house.cards.move_card(spare, FLOOR, Spot(CardPlace.SHOE), 30)
    assert people.work()
    assert [event.kind for event in house.events].count("stub.rejected") == 1
    assert house.cards.pile(FLOOR).count(spare) == 1, "it is found when the deck is counted"


def test_people_remember_a_stack_that_was_taken_from_a_dead_shoe(houses: list[House], tmp_path: Path) -> None:
    """Looking for cards at its empty exit made them forget the stack, which they then counted as 0 cards."""
    house, people = opened_unlucky(houses, tmp_path, Setup(shuffler=None, backs=("red",)))
    assert taken(people.perform(act.CloseBets, seats=(1,)))
    assert house.run(lambda: house.state.devices["shoe"].at_exit is not None, 10)
    house.sim.shoe.inject(FaultName.DEAD, house.now)
    assert people.hands.take("shoe")
    assert house.run(lambda: bool(house.state.round and house.state.round.void), 60)
    while not any(event.kind == "void.completed" for event in house.events):
        assert people.chore()
    gathered = [(event.data["place"], event.data["cards"]) for event in house.events if event.kind == "cards.gathered"]
    assert gathered == [("shoe", 50), ("taken", 3)]


def test_people_act_on_what_was_stored_while_the_host_is_off(houses: list[House], tmp_path: Path) -> None:
    """They knew that the round was void, which the dying host had not stored, and put a stack on the deck's pile."""
    house, people = opened_unlucky(houses, tmp_path, Setup(shuffler=None, backs=("red",)))
    assert taken(people.perform(act.CloseBets, seats=(1,)))
    assert house.run(lambda: house.state.devices["shoe"].at_exit is not None, 10)
    house.disk.dies = "before_commit"
    assert house.report(act.ReportDealerExposed(**DEALER)) == []
    assert house.dark
    assert people.hands.take("shoe")
    assert house.cards.count(Spot(CardPlace.HAND, 1)) == 3
    house.wait_for_light()
    assert people.work()
    assert not any(event.kind == "round.voided" for event in house.events)


def test_a_table_cannot_know_what_its_silent_shoe_has_not_reported() -> None:
    """The deck was swapped just after the shoe fell silent; the round that was started meanwhile is void."""
    found = replayed(draw(2026111992, 3725), only=[1, 21])
    assert (found.faults, found.violations) == ({"deck_swapped": 1, "silence": 1}, [])
    assert sum(found.voids.values()) == 1


def test_a_stub_at_the_exit_is_not_taken_for_an_empty_shoe() -> None:
    """A shoe that was unplugged answered the second command to eject with no cards, and its stub stayed at the exit."""
    found = replayed(draw(2026112006, 1550), only=[13])
    assert (found.faults, found.violations) == ({"unplug": 1}, [])


def test_a_foreign_card_does_not_stay_at_the_seat_where_missing_cards_are_found() -> None:
    """The shoe lost power when the stack with the card was taken, so its cards were looked for as missing ones."""
    found = replayed(draw(2026112006, 2542), only=[7, 8, 9])
    assert (found.faults, found.violations) == ({"extra_card": 1, "incomplete_cycle": 1, "power_loss": 1}, [])


def test_the_replacement_of_a_face_up_card_may_come_late() -> None:
    found = replayed(draw(2026112006, 32), only=[9])
    assert (found.faults, found.violations) == ({"wrong_button": 1}, [])


def test_a_hand_that_the_shoe_has_named_may_be_settled_although_a_card_has_fallen_down() -> None:
    found = replayed(draw(2026112001, 1545), only=[8])
    assert (found.faults, found.violations) == ({"dropped_card": 1}, [])


def test_bets_that_do_not_fit_together_are_corrected(houses: list[House], tmp_path: Path) -> None:
    """An ante without an ante bonus, recorded by mistake, kept people trying to close the bets forever."""
    house, people = opened_unlucky(houses, tmp_path, Setup(shuffler=None, backs=("red",)))
    assert taken(people.perform(act.RecordBet, seat=2, bet="ante", amount=5))
    assert people.play(SEATS)
    assert not house.state.bets


def test_any_button_can_be_pressed_by_mistake(houses: list[House], tmp_path: Path) -> None:
    """Actions that were added later had fields for which people had no value."""
    _, people = opened_unlucky(houses, tmp_path, Setup(shuffler=None, backs=("red",)))
    rng = random.Random(1)
    assert {type(people.some_button(rng)) for _ in range(20 * len(BUTTONS))} == set(BUTTONS)


def test_the_name_of_a_game_or_a_bet_is_not_that_of_a_card() -> None:
    names = kind_names(Setup().game.kinds)
    assert not names.search(b"Dragon Poker is not played in sessions; there is a dragon wager")
    assert names.findall(b"dragon wager, red dragon") == [b"red dragon"]

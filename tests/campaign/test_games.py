"""Every game is played in a campaign without a violation, with its own mishaps, and so is a game that has no module."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller import games
from controller.core import actions as act
from controller.core.setup import ShufflerKind
from controller.games import GAMES
from controller.games.description import Description
from simulators.campaign.clumsy_people import ClumsyPeople
from simulators.campaign.games import campaign_game
from simulators.campaign.luck import draw
from simulators.campaign.planted_defects import DEFECTS
from simulators.campaign.run import CampaignResult, campaign, play_shift
from simulators.campaign.shrink import repeat
from simulators.campaign.unlucky_house import UnluckyHouse
from simulators.campaign.witness import Witness
from simulators.devices.faults import FaultName
from simulators.table.hands import FLOOR, SHOE
from simulators.table.house import House
from simulators.table.people import People, taken
from tests.support.high_card import make_high_card

SEED = 20261119
OTHERS = [*GAMES][1:]
RARE = {"right session", "shoe finished", "losers hidden"}  # checks that not every short campaign makes


@pytest.fixture
def high_card() -> Iterator[Description]:
    """The game that docs/games.md contains; it is forgotten afterwards."""
    description = make_high_card()
    yield description
    del GAMES["high-card"], games._DESCRIPTIONS[description.game.name]


@pytest.mark.parametrize("name", OTHERS)
def test_a_short_campaign_of_each_game_has_no_violation(name: str) -> None:
    played, _ = campaign(SEED, 40, games=(name,))
    assert played.violations == []
    assert played.rounds >= 40
    assert played.games[name]["rounds"] == played.rounds
    own = campaign_game(name).witness.checks
    assert {check for check in own if not played.checks[check]} <= RARE


@pytest.mark.parametrize("name", OTHERS)
def test_the_mishaps_of_each_game_happen_and_do_no_harm(name: str) -> None:
    total = CampaignResult()
    for number in range(3):
        mishaps = tuple(campaign_game(name).mishaps)
        total.add(play_shift(draw(SEED, number, 3.0, rounds=8, game=name, kinds=mishaps)))
    assert total.violations == []
    assert len(total.faults) >= 3


def test_a_shoe_is_not_merely_cut_again_once_a_round_was_dealt_from_it() -> None:
    """Seed 2026111981 shuffled nothing after five rounds: the cards that had been dealt came again in their order."""
    setup = next(one for one in campaign_game("dragon-baccarat-tournament").setups if one.shuffler is None)
    house = House(None, setup)
    people = People(house)
    assert people.open()
    assert people.play((1, 2))
    (deck,) = house.state.decks
    assert not taken(people.perform(act.RequireRecut, deck=deck))
    house.close()


def replayed(seed: int, number: int, only: Collection[int], name: str = "dragon-baccarat-tournament") -> CampaignResult:
    """Play a shift with these mishaps only, and five rounds after the last."""
    shift = draw(seed, number, game=name)
    last = max(mishap.round for mishap in shift.mishaps if mishap.number in only)
    return play_shift(replace(shift, rounds=min(shift.rounds, last + 6)), only)


@pytest.mark.parametrize(("seed", "number", "only"), [(2026111981, 13, [1]), (77, 4, [4, 8, 33, 38, 39])])
def test_bets_are_not_closed_while_the_dealer_holds_the_deck(seed: int, number: int, only: list[int]) -> None:
    """The deck had been put into the shuffler for a moment, and the round was started meanwhile."""
    found = replayed(seed, number, only)
    assert found.violations == []
    assert found.faults["deck_from_hand"] == 1


def test_a_card_that_is_put_right_lies_below_those_that_the_hand_got_meanwhile() -> None:
    """It was laid on top of the next card, and entered a second time in its place."""
    found = replayed(2026111981, 19, [1])
    assert (found.faults, found.violations) == ({"wrong_hand": 1}, [])


def test_a_spare_card_of_a_deck_that_has_left_takes_the_place_of_one_that_is_dealt() -> None:
    """It was dealt from the next deck, whose account was off by one. Nobody knows before the deck is counted."""
    found = replayed(2026111981, 14, [21, 22, 25])
    assert found.violations == []
    assert found.faults["extra_card"] == 1


def test_a_card_that_the_deck_cannot_have_is_reported_as_a_foreign_card() -> None:
    """A spare king was dealt. When the last of the deck's own came out, people tried to enter it forever."""
    found = play_shift(draw(77, 14, game="dragon-baccarat-tournament"), [1])
    assert (found.faults, found.violations) == ({"extra_card": 1}, [])
    assert found.voids["5.1"] == 1


def test_cards_may_be_put_aside_before_the_host_that_died_shows_the_decision() -> None:
    found = replayed(21, 8, [3, 11], "dragon-poker-chinese-deck")
    assert (found.faults, found.violations) == ({"taken_back": 1, "host_dies_after_commit": 1}, [])


def test_a_card_found_face_up_stays_in_its_hand_where_no_rule_replaces_it() -> None:
    """People put a burnt card that came out face up into the rack, and the table did not deal another."""
    found = replayed(2026111984, 64, [2, 20])
    assert found.violations == []
    assert found.faults["face_up"] == 1


def test_a_card_that_fell_down_while_it_was_dealt_face_up_may_be_named() -> None:
    """The dealer had seen it before it fell, and reported it; the witness looked for it in the hand."""
    found = replayed(2026111985, 58, [5, 6, 12, 23])
    assert found.violations == []
    assert found.faults["dropped_card"] == 1


@pytest.mark.parametrize(
    ("own_lies", "recognises", "ends"),
    [("on top", False, "a card of another deck"), ("last", False, "foul"), ("on top", True, "not by the table")],
)
def test_a_card_that_a_foreign_one_leaves_in_the_shoe_is_found(
    tmp_path: Path, own_lies: str, recognises: bool, ends: str
) -> None:
    """Seed 2026111982 dealt two kings of clubs: nobody reported it, and then 52 cards on the pile hid one in the shoe.

    Only if the deck's own king is dealt can people see that the other is foreign; else it is the card that is left.
    """
    name = "face-up-chinese-poker"
    shuffler = ShufflerKind(counts=True, feeds_shoe=True, recognises=True) if recognises else None
    tables = campaign_game(name).setups
    setup = next(one for one in tables if one.shuffler == shuffler and len(one.backs) == 1)
    shift = draw(1, 1, 0.0, setup=setup, game=name)
    witness = Witness(shift)
    house = witness.house = UnluckyHouse(tmp_path / "journal.db", shift, witness)
    people = ClumsyPeople(house, witness)
    people.in_one_pile = True
    assert people.open()
    pile = house.cards.pile(SHOE)
    spare = next(card for card in house.cards.pile(FLOOR) if house.cards.is_spare(card))
    (own,) = (card for card in pile if card.kind == spare.kind)
    rest = [card for card in pile if card is not own]
    house.cards.reorder(SHOE, [own, *rest] if own_lies == "on top" else [*rest, own])
    house.sim.shoe.inject(FaultName.EXTRA_CARD, house.now, after_cards=51)
    assert people.play((1, 2, 3, 4))
    end, *_ = (event.data for event in house.events if event.kind in ("round.voided", "round.settled"))
    assert ends in end.get("reason", "") + end.get("result", "")
    disagreed = [event.data["missing"] for event in house.events if event.kind == "ledger.disagreed"]
    assert disagreed == [-1]
    assert people.play((1, 2, 3, 4))
    house.close()


def test_a_recognising_shoe_may_name_two_equal_cards_in_one_segment() -> None:
    """Spare kings were dealt in most rounds. The table failed when it looked for a clean sweep in a hand with two."""
    found = play_shift(draw(31337, 15, game="face-up-chinese-poker"))
    assert found.violations == []
    assert found.faults["extra_card"] > 10


@pytest.mark.parametrize("name", OTHERS)
def test_at_least_four_defects_are_planted_in_each_game(name: str) -> None:
    assert sum(defect.game == name for defect in DEFECTS.values()) >= 4


def test_rounds_are_divided_evenly_between_the_games() -> None:
    played, shifts = campaign(SEED, 9, 0.0)
    assert set(played.games) == set(GAMES)
    assert [shift.game for shift in shifts] == [*GAMES]
    assert max(one["rounds"] for one in played.games.values()) <= 3


def test_a_violation_is_repeated_with_the_name_of_its_game() -> None:
    assert "--game" not in repeat(draw(SEED, 1))
    name = OTHERS[0]
    assert repeat(draw(SEED, 1, game=name), [3]).endswith(f"--shift 1 --game {name} --only 3")


def test_a_game_in_a_single_file_is_campaigned(high_card: Description) -> None:
    total = CampaignResult()
    for number in range(8):
        total.add(play_shift(draw(SEED, number, rounds=6, game="high-card")))
    assert total.violations == []
    assert total.rounds >= 48
    assert sum(total.faults.values()) > 10
    assert total.voids, "a mishap has voided a round"

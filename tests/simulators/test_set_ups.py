"""Every game with every dealing method, shuffler and number of decks: refused with a reason, or played to the end.

`ALLOWED` is what the rules of each game say, written down here a second time.
"""

from __future__ import annotations

import itertools

import pytest

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Role
from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind, setup_fault
from controller.games import GAMES, game_with
from controller.games.game import Method
from simulators.devices.cards import CardPlace, Spot
from simulators.table.hands import SOURCE
from simulators.table.house import CALM_LINK, House
from simulators.table.people import People

SHUFFLERS: dict[str, ShufflerKind | None] = {
    "none": None,
    "plain": ShufflerKind(),
    "counting": ShufflerKind(counts=True),
    "counting, feeds the shoe": ShufflerKind(counts=True, feeds_shoe=True),
    "recognising": ShufflerKind(counts=True, recognises=True),
    "self-reshuffling": ShufflerKind(counts=True, reshuffles=True),
}
SHOE, MANUAL, HAND = Method
DAY_S = 86_400.0
ANY = tuple(SHUFFLERS)
NOT_FEEDING = tuple(name for name in ANY if "feeds" not in name)
# Which shufflers each dealing method may have, with one deck and with two that take turns.
WITH_SHUFFLER = tuple(name for name in ANY if name != "none")
WITH_SHUFFLER_IN_HAND = tuple(name for name in WITH_SHUFFLER if "feeds" not in name)
ALLOWED: dict[str, dict[Method, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "dragon-poker": {
        SHOE: (ANY, WITH_SHUFFLER),  # 3.B: two decks need a shuffler
        MANUAL: (ANY, WITH_SHUFFLER),
        HAND: (WITH_SHUFFLER_IN_HAND, WITH_SHUFFLER_IN_HAND),  # 9.A(1), 5.C
    },
    "dragon-baccarat-tournament": {  # 3.7: dealt from the shoe
        SHOE: (ANY, ANY),
        MANUAL: (ANY, ANY),
    },
    "dragon-poker-chinese-deck": {
        SHOE: (ANY, ANY),
        MANUAL: (ANY, ANY),
        HAND: (NOT_FEEDING, NOT_FEEDING),
    },
    "face-up-chinese-poker": {
        SHOE: (ANY, ANY),
        MANUAL: (ANY, ANY),
        HAND: (NOT_FEEDING, NOT_FEEDING),
    },
}
REFUSED_BY = {
    ("dragon-poker", SHOE): "3.B",
    ("dragon-poker", MANUAL): "3.B",
    ("dragon-baccarat-tournament", HAND): "3.7",
    ("dragon-poker-chinese-deck", HAND): "deal",
    ("face-up-chinese-poker", HAND): "deal",
}
COMBINATIONS = list(itertools.product(GAMES, Method, SHUFFLERS, (1, 2)))


def set_up(game: str, method: Method, shuffler: str, decks: int) -> Setup:
    """The table, with the options of the game's own example."""
    described = GAMES[game]
    options = dict(described.example_options)
    numbers = game_with(described, options)
    backs = ("red", "blue")[:decks]
    return Setup(method, backs, SHUFFLERS[shuffler], seats=min(numbers.most_seats, 4), game=numbers, options=options)


def allowed(game: str, method: Method, shuffler: str, decks: int) -> bool:
    """Whether the rules of the game allow it."""
    return shuffler in ALLOWED[game].get(method, ((), ()))[decks - 1]


def reason(game: str, method: Method, shuffler: str) -> str:
    """The clause that forbids a combination."""
    if game == "dragon-poker" and method is HAND:
        return "9.A(1)" if shuffler == "none" else "5.C"
    return REFUSED_BY[game, method]


def name_of(combination: tuple[str, Method, str, int]) -> str:
    game, method, shuffler, decks = combination
    return f"{game}, {method}, {shuffler}, {decks}"


LEGAL = [combination for combination in COMBINATIONS if allowed(*combination)]


@pytest.mark.parametrize("game", GAMES)
def test_a_set_up_is_refused_exactly_where_the_rules_do_not_allow_it(game: str) -> None:
    for combination in COMBINATIONS:
        if combination[0] != game:
            continue
        fault = setup_fault(set_up(*combination))
        assert (fault is None) is allowed(*combination), (combination, fault)
        if fault:
            assert fault.key
            assert fault.possible_when
            assert reason(*combination[:3]) in fault.rules or (combination[3] == 2 and "3.B" in fault.rules), fault


@pytest.mark.parametrize("combination", LEGAL, ids=map(name_of, LEGAL))
def test_every_allowed_set_up_plays_and_the_table_knows_where_every_card_is(
    combination: tuple[str, Method, str, int],
) -> None:
    setup = set_up(*combination)
    house = House(None, setup, timing=CALM_LINK, seed=7)
    people = People(house)
    assert people.open()
    for _ in range(2):
        assert people.close_bets((1, 2, 3))
        assert people.work(limit_s=DAY_S), people.step()  # players who exchange cards at random need long to win
    assert [event.kind for event in house.events].count("round.completed") == 2
    assert house.state.table is TableState.BETTING
    assert not house.state.warnings
    where_the_cards_are(house)
    house.close()


def test_a_running_table_does_not_change_to_a_method_that_its_game_does_not_have() -> None:
    house = House(None, set_up("dragon-baccarat-tournament", MANUAL, "none", 1), timing=CALM_LINK)
    people = People(house)
    people.perform(act.Configure, setup=house.setup)
    people.perform(act.OpenTable)
    (refused,) = people.perform(act.ChangeMethod, role=Role.FLOOR, method=HAND)
    assert (refused.kind, refused.clause) == ("action.refused", ("3.7",))
    house.close()


PLACES: dict[str, tuple[Spot | CardPlace, ...]] = {
    ledger.INFEED: (CardPlace.INFEED,),
    ledger.SHELVES: (CardPlace.SHELVES,),
    ledger.OUTPUT: (CardPlace.OUTPUT,),
    ledger.SHOE: (CardPlace.SHOE,),
    "manual_shoe": (SOURCE[MANUAL],),
    "hand": (SOURCE[HAND],),
    ledger.RACK: (CardPlace.RACK,),
}


def where_the_cards_are(house: House) -> None:
    """Wait until the devices rest, and compare the ledger of every deck with its physical cards."""
    house.rest(300)
    house.cards.check()
    for name, deck in house.state.decks.items():
        found: dict[str, int] = {}
        for place, wheres in PLACES.items():
            spots = [
                spot for where in wheres for spot in ([where] if isinstance(where, Spot) else house.cards.spots(where))
            ]
            number = sum(card.deck == name for spot in spots for card in house.cards.pile(spot))
            if number:
                found[place] = number
        believed = {place: number for place, number in deck.cards.items() if number}
        if set(believed) <= set(PLACES):
            assert found == believed, name
        else:
            assert believed == {ledger.TABLE: house.setup.game.deck_size}
            assert not found

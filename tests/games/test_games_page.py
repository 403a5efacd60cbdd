"""The game that docs/games.md contains is played exactly as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import games
from controller.api.table_view import table_view
from controller.core import actions as act
from controller.core.events.play import RoundSettled
from controller.core.setup import Setup, ShufflerKind, setup_fault
from controller.games import GAMES
from controller.games.description import Description
from controller.games.game import Method
from controller.games.rulebook import Rule
from simulators.table.house import House
from simulators.table.people import People, taken

PAGE = Path(__file__).parents[2] / "docs" / "games.md"


@pytest.fixture
def high_card() -> Iterator[Description]:
    """The game of the page; it is forgotten afterwards."""
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    exec(compile(program, str(PAGE), "exec"), {"__name__": "high_card"})
    description = GAMES["high-card"]
    yield description
    del GAMES["high-card"], games._DESCRIPTIONS[description.game.name]


@pytest.mark.parametrize("method", Method)
def test_the_game_of_the_page_is_played(high_card: Description, method: Method) -> None:
    shuffler = ShufflerKind(feeds_shoe=method is not Method.HAND)
    setup = Setup(game=high_card.game, method=method, shuffler=shuffler)
    assert setup_fault(setup) is None
    house = House(None, setup)
    people = People(house)
    assert people.open()
    for seat in (1, 4):
        assert taken(people.perform(act.RecordBet, seat=seat, bet="bet", amount=5))
    assert people.close_bets((1, 4))
    assert people.work()
    assert people.play((2, 3))
    settled = [entry.event for entry in house.events if isinstance(entry.event, RoundSettled)]
    assert [len(event.payments) for event in settled] == [2, 0]
    assert table_view(house.state, house.now_ms)["game"] == "High Card"
    house.cards.check()
    house.close()


def test_every_clause_of_the_page_is_a_rule(high_card: Description) -> None:
    cited = {clause for rule in Rule for clause in high_card.rulebook.clauses_of(rule)}
    assert cited == set(high_card.rulebook.clauses)


def test_the_page_lists_every_game() -> None:
    assert re.findall(r"^\| [^|]+ \| `([a-z-]+)` \| `\w+/` \|", PAGE.read_text(), re.M) == list(GAMES)

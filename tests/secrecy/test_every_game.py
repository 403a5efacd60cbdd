"""No hidden card leaves the table in any game, with any dealing method: rounds, void rounds, corrections."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.games import GAMES
from controller.games.game import Method
from simulators.devices.cards import Card
from tests.secrecy.stories import (
    SEATS,
    Story,
    cards_left,
    changes_of_mind,
    hidden_to_the_end,
    play_on,
    source,
    two_rounds,
    void_round,
    void_then_another,
)
from tests.secrecy.table import EVERY, SecretTable, setup_of

every = pytest.mark.parametrize(("name", "method"), EVERY)


@every
@pytest.mark.parametrize("story", [two_rounds, void_then_another, changes_of_mind])
def test_no_hidden_card_is_named_in_anything_that_leaves_the_table(name: str, method: Method, story: Story) -> None:
    table = SecretTable(name, method)
    story(table)
    assert table.leaks == []
    table.house.cards.check()


@pytest.mark.parametrize(("name", "method"), [one for one in EVERY if GAMES[one[0]].reshuffle_due])
def test_nothing_is_known_of_a_stock_that_was_shuffled_with_the_discards(name: str, method: Method) -> None:
    table = SecretTable(name, method)
    assert table.people.open()
    assert table.people.close_bets(SEATS)
    round_ = table.house.state.round
    assert round_
    play_on(table, lambda: round_.reshuffles > 0, limit=800)
    made = len(round_.decisions)
    play_on(table, lambda: len(round_.decisions) > made + 2)
    assert table.leaks == []
    seen = table.house.state.decks[table.deck].seen
    assert sum(seen.values()) == sum(map(len, round_.kinds.values()))  # only what a winner has shown


def other_world(
    name: str, method: Method, story: Story, plant: Callable[[SecretTable], object] = lambda table: None
) -> tuple[SecretTable, SecretTable, list[Card]]:
    """The same story twice; the second time, the cards that nobody saw in the first are others."""
    order: list[Card] = []
    first, second = SecretTable(name, method), SecretTable(name, method)
    first.before_deal = lambda: order.extend(cards_left(first))
    plant(first)
    story(first)
    unseen = [place for place, card in enumerate(order) if card not in first.witness.ever_seen]

    def change() -> None:
        cards = cards_left(second)
        assert [card.index for card in cards] == [card.index for card in order]
        moved = [cards[place] for place in unseen]
        for place, card in zip(unseen, [*moved[7:], *moved[:7]], strict=True):
            cards[place] = card
        second.house.cards.reorder(source(second), cards)

    second.before_deal = change
    plant(second)
    story(second)
    return first, second, [order[place] for place in unseen]


@every
@pytest.mark.parametrize("story", [hidden_to_the_end, void_round])
def test_nothing_that_leaves_the_table_depends_on_hidden_cards(name: str, method: Method, story: Story) -> None:
    first, second, unseen = other_world(name, method, story)
    assert len(unseen) > 10
    assert min(len(first.said), len(second.said)) > 70
    for one, other in zip(first.said, second.said, strict=False):  # where a hand wins, its story ends early
        assert one == other


def test_every_game_says_what_it_hides() -> None:
    """A deal that is not face up, and is not named, would be hidden by nobody."""
    for name, game in GAMES.items():
        for method in game.game.programme:
            setup = setup_of(name, method)
            face_down = any(not deal.face_up for deal in setup.game.programme[method]) or setup.game.burnt
            assert bool(game.hidden) >= bool(face_down), name

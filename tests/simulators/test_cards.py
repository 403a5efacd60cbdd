"""The card world: whatever is done to the cards, none is made, lost, or in two places."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.devices.cards import (
    BOTTOM,
    DECK,
    DECK_SIZE,
    TOP,
    Card,
    CardPlace,
    Cards,
    Kind,
    NotThere,
    NotTheSameCards,
    Spot,
)

RED, BLUE = Spot(CardPlace.TABLE, 0), Spot(CardPlace.TABLE, 1)
FLOOR, SHOE, INFEED = Spot(CardPlace.FLOOR), Spot(CardPlace.SHOE), Spot(CardPlace.INFEED)
SPOTS = [RED, BLUE, FLOOR, SHOE, INFEED, Spot(CardPlace.HAND, 1), Spot(CardPlace.HAND, 2), Spot(CardPlace.SHELVES, 9)]

# The same examples in every run: a test that fails only sometimes proves nothing.
steady = settings(derandomize=True, deadline=None, max_examples=200)


def table() -> Cards:
    return Cards(["red", "blue"], spares=[("red", Kind.TIGER), ("green", Kind.RABBIT), ("red", Kind.TIGER)])


def indices(cards: Cards, spot: Spot) -> list[int]:
    return [card.index for card in cards.pile(spot)]


def identities(cards: Cards) -> Counter[tuple[str, int, str]]:
    """Count every card, wherever it is, without the help of check()."""
    return Counter((deck, index, kind) for pile in cards.snapshot().values() for deck, index, kind, _ in pile)


def test_a_deck_is_the_one_the_game_is_played_with() -> None:
    assert [DECK[kind] for kind in Kind] == [3, 3, 1, 7, 8, 9, 10, 12]
    assert DECK_SIZE == 53
    cards = table()
    assert cards.kinds(RED) == cards.kinds(BLUE) == [3, 3, 1, 7, 8, 9, 10, 12]
    assert cards.count(RED) == 53


def test_spares_lie_on_the_floor_and_are_no_card_of_a_deck() -> None:
    cards = table()
    assert [(c.deck, c.index, c.kind) for c in cards.pile(FLOOR)] == [
        ("red", 53, Kind.TIGER),
        ("green", 0, Kind.RABBIT),
        ("red", 54, Kind.TIGER),
    ]
    assert cards.total == 109
    assert set(identities(cards).values()) == {1}


def test_two_decks_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two decks"):
        Cards(["red", "red"])


def test_top_and_bottom_moves_take_the_right_cards_and_keep_their_order() -> None:
    cards = table()
    moved = cards.move_top(3, RED, SHOE)
    assert [card.index for card in moved] == [0, 1, 2]
    cards.move_bottom(2, RED, SHOE)
    assert indices(cards, SHOE) == [51, 52, 0, 1, 2]
    cards.move_top(1, RED, SHOE, BOTTOM)
    assert indices(cards, SHOE) == [51, 52, 0, 1, 2, 3]
    cards.move_top(2, RED, SHOE, 1)
    assert indices(cards, SHOE) == [51, 4, 5, 52, 0, 1, 2, 3]
    cards.move_all(SHOE, RED)
    assert cards.count(SHOE) == 0
    assert indices(cards, RED)[:9] == [51, 4, 5, 52, 0, 1, 2, 3, 6]


def test_moving_no_cards_is_no_error_and_changes_nothing() -> None:
    cards = table()
    before = cards.snapshot()
    assert cards.move_top(0, RED, SHOE) == cards.move_bottom(0, RED, SHOE) == []
    assert cards.move_all(INFEED, SHOE) == []
    assert cards.snapshot() == before


def test_a_cut_is_a_move_within_one_spot() -> None:
    cards = table()
    cards.move_top(20, RED, RED, BOTTOM)
    assert indices(cards, RED) == [*range(20, 53), *range(20)]
    cards.move_bottom(20, RED, RED, TOP)
    assert indices(cards, RED) == list(range(53))


def test_a_given_card_is_moved_from_where_it_lies_and_only_from_there() -> None:
    cards = table()
    card = cards.pile(RED)[30]
    assert cards.move_card(card, RED, FLOOR) == [card]
    assert cards.where(card) == FLOOR
    before = cards.snapshot()
    with pytest.raises(NotThere):
        cards.move_card(card, RED, SHOE)
    assert cards.snapshot() == before


def test_hands_and_shelves_are_told_apart_by_number() -> None:
    cards = table()
    cards.move_top(4, RED, Spot(CardPlace.HAND, 5))
    cards.move_top(3, RED, Spot(CardPlace.HAND, 2))
    assert cards.spots(CardPlace.HAND) == [Spot(CardPlace.HAND, 2), Spot(CardPlace.HAND, 5)]
    assert [cards.count(Spot(CardPlace.HAND, seat)) for seat in range(7)] == [0, 0, 3, 0, 0, 4, 0]
    cards.move_all(Spot(CardPlace.HAND, 2), RED)
    assert cards.spots(CardPlace.HAND) == [Spot(CardPlace.HAND, 5)]


def test_two_cards_of_one_kind_are_two_cards() -> None:
    first, second = table().pile(RED)[:2]
    assert first.kind is second.kind is Kind.RED_DRAGON
    assert first != second
    assert first != Card(first.deck, first.index, first.kind)


def test_a_reorder_must_be_a_permutation_of_what_is_there() -> None:
    cards = table()
    pile = cards.pile(RED)
    cards.reorder(RED, pile[::-1])
    assert indices(cards, RED) == list(range(52, -1, -1))
    before = cards.snapshot()
    stranger = Card("red", 0, Kind.RED_DRAGON)
    doubled, swapped = [*pile, pile[0]], [pile[1], *pile[1:]]
    for wrong in (pile[1:], doubled, swapped, [*pile, stranger], [stranger, *pile[1:]], cards.pile(BLUE)):
        with pytest.raises(NotTheSameCards):
            cards.reorder(RED, wrong)
        assert cards.snapshot() == before


def test_the_piles_that_are_handed_out_are_not_the_piles_themselves() -> None:
    cards = table()
    order = cards.pile(RED)[::-1]
    cards.reorder(RED, order)
    before = cards.snapshot()
    order.clear()
    cards.pile(RED).clear()
    assert cards.snapshot() == before
    moved = cards.move_all(RED, SHOE)
    moved.clear()
    assert cards.count(SHOE) == 53


def test_only_a_flip_turns_a_card() -> None:
    cards = table()
    card = cards.pile(RED)[7]
    cards.flip(card)
    assert [c.index for c in cards.pile(RED) if c.face_up] == [7]
    cards.move_card(card, RED, SHOE)
    assert cards.snapshot()["SHOE 0"] == [("red", 7, "PHOENIX", True)]
    cards.flip(card)
    assert not card.face_up
    with pytest.raises(AttributeError):
        card.face_up = True  # type: ignore[misc]
    with pytest.raises(NotThere):
        cards.flip(Card("red", 7, Kind.PHOENIX))


def test_a_card_of_another_table_is_nowhere() -> None:
    with pytest.raises(NotThere):
        table().where(table().pile(RED)[0])


@pytest.mark.parametrize("at", [-2, 1, 54])
def test_cards_cannot_be_put_where_there_is_no_pile_to_hold_them(at: int) -> None:
    cards = table()
    before = cards.snapshot()
    with pytest.raises(ValueError, match="nothing can be put"):
        cards.move_top(2, RED, SHOE, at)
    assert cards.snapshot() == before


@pytest.mark.parametrize("at", [51, 52, 53])
def test_within_a_spot_the_index_counts_the_cards_left_lying(at: int) -> None:
    cards = table()
    if at == 51:
        cards.move_top(2, RED, RED, at)
        assert indices(cards, RED) == [*range(2, 53), 0, 1]
    else:
        with pytest.raises(ValueError, match="nothing can be put"):
            cards.move_top(2, RED, RED, at)
        assert indices(cards, RED) == list(range(53))


def test_check_finds_a_lost_a_doubled_and_a_foreign_card() -> None:
    table().check()
    lost, doubled, foreign, swapped = table(), table(), table(), table()
    lost._piles[RED].pop()
    doubled._piles[SHOE] = [doubled._piles[RED][0]]
    foreign._piles[SHOE] = [Card("red", 0, Kind.RED_DRAGON)]
    swapped._piles[RED][0] = swapped._piles[RED][1]  # the total is right
    for broken in (lost, doubled, foreign, swapped):
        with pytest.raises(AssertionError):
            broken.check()


spots = st.sampled_from(SPOTS)
step = st.tuples(
    st.sampled_from(["top", "bottom", "all", "card", "reorder", "flip"]),
    spots,
    spots,
    st.integers(0, 60),
    st.sampled_from([TOP, BOTTOM, 1, 5, 20]),
)


def take(cards: Cards, what: str, source: Spot, target: Spot, n: int, at: int) -> None:
    """Do one step to the cards; it may be refused."""
    match what:
        case "top":
            cards.move_top(n, source, target, at)
        case "bottom":
            cards.move_bottom(n, source, target, at)
        case "all":
            cards.move_all(source, target, at)
        case "card":
            # Now and then a card that is at the target, and so not at the source.
            pile = cards.pile(target if n % 4 == 0 else source)
            if pile:
                cards.move_card(pile[n % len(pile)], source, target, at)
        case "reorder":
            pile = cards.pile(source)
            random.Random(n).shuffle(pile)
            cards.reorder(source, pile)
        case "flip":
            for card in cards.pile(source)[n : n + 1]:
                cards.flip(card)


@steady
@given(st.lists(step, min_size=1, max_size=60))
def test_no_sequence_of_steps_makes_or_loses_a_card(steps: list[tuple[str, Spot, Spot, int, int]]) -> None:
    cards = table()
    at_first = identities(cards)
    for what, source, target, n, at in steps:
        before = cards.snapshot()
        try:
            take(cards, what, source, target, n, at)
        except (NotThere, ValueError):
            assert cards.snapshot() == before
        cards.check()
        assert identities(cards) == at_first
        assert cards.total == 109 == sum(cards.count(spot) for spot in SPOTS)
        for spot in SPOTS:
            assert sum(cards.kinds(spot)) == cards.count(spot)


@steady
@given(spots, spots, st.integers(1, 200), st.booleans())
def test_asking_for_more_cards_than_there_are_moves_nothing(a: Spot, b: Spot, more: int, top: bool) -> None:
    cards = table()
    before = cards.snapshot()
    too_many = cards.count(a) + more
    with pytest.raises(NotThere, match=f"{too_many} cards requested from {a}, which has {cards.count(a)}"):
        (cards.move_top if top else cards.move_bottom)(too_many, a, b)
    assert cards.snapshot() == before


def test_a_negative_number_of_cards_is_refused() -> None:
    cards = table()
    before = cards.snapshot()
    for move in (cards.move_top, cards.move_bottom):
        with pytest.raises(ValueError, match="cannot move -1"):
            move(-1, RED, SHOE)
    assert cards.snapshot() == before

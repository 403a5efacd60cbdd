"""Bead plate, big road and derived roads, against examples worked out by hand."""

from __future__ import annotations

import itertools
import random

import msgspec
import pytest

from controller.games.dragon_baccarat.hands import BaccaratResult, Result
from controller.games.dragon_baccarat.scoreboards import (
    ROWS,
    BoardCell,
    DerivedRoad,
    bead_plate,
    big_road,
    derived_road,
)

LETTERS = {"P": Result.PLAYER, "B": Result.BANKER, "T": Result.TIE}


def rounds(letters: str) -> list[BaccaratResult | None]:
    """The rounds of `PPTBV`, where V is a void round."""
    return [BaccaratResult(LETTERS[letter]) if letter in LETTERS else None for letter in letters]


def drawing(letters: str) -> list[str]:
    """The rows of the big road: a letter for each win, a dot for an empty cell."""
    return drawn({(cell.column, cell.row): cell.result[0].upper() for cell in big_road(rounds(letters))})


def drawn(cells: dict[tuple[int, int], str]) -> list[str]:
    columns = max(column for column, _ in cells) + 1
    return ["".join(cells.get((column, row), ".") for column in range(columns)) for row in range(ROWS)]


# --- bead plate -------------------------------------------------------------------------------------------------------


def test_the_bead_plate_fills_columns_of_six() -> None:
    cells = bead_plate(rounds("PBTPVBBTP"))
    assert [(cell.column, cell.row, cell.result) for cell in cells] == [
        (0, 0, "player"),
        (0, 1, "banker"),
        (0, 2, "tie"),
        (0, 3, "player"),
        (0, 4, "banker"),
        (0, 5, "banker"),
        (1, 0, "tie"),
        (1, 1, "player"),
    ]


def test_the_bead_plate_shows_the_pairs_of_every_round() -> None:
    played = [BaccaratResult(Result.TIE, player_pair=True), BaccaratResult(Result.BANKER, banker_pair=True)]
    assert bead_plate(played) == [
        BoardCell(0, 0, Result.TIE, player_pair=True),
        BoardCell(0, 1, Result.BANKER, banker_pair=True),
    ]


# --- big road ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letters", ["", "V"])
def test_boards_without_rounds_are_empty(letters: str) -> None:
    assert bead_plate(rounds(letters)) == big_road(rounds(letters)) == []
    assert [derived_road(road, rounds(letters)) for road in DerivedRoad] == [[], [], []]


def test_each_streak_has_a_column() -> None:
    assert drawing("PPBVBBPTB") == ["PBPB", "PB..", ".B..", "....", "....", "...."]


def test_a_streak_of_eight_turns_right_at_the_bottom() -> None:
    assert drawing("BBBBBBBB") == ["B..", "B..", "B..", "B..", "B..", "BBB"]


def test_a_streak_turns_right_above_the_tail_of_the_one_before() -> None:
    assert drawing("BBBBBBBB" + "PPPPPPP") == ["BP..", "BP..", "BP..", "BP..", "BPPP", "BBB."]


def test_a_tail_keeps_its_row_where_the_cell_below_is_free_again() -> None:
    assert drawing("BBBBBBB" + "PPPPPPPP")[4:] == ["BPPPP", "BB..."]


def test_a_third_tail_turns_above_the_second() -> None:
    assert drawing("BBBBBBBB" + "PPPPPPP" + "BBBBBB") == ["BPB..", "BPB..", "BPB..", "BPBBB", "BPPP.", "BBB.."]


def test_a_streak_starts_right_of_a_tail_in_the_top_row() -> None:
    # Each of five tails blocks one row more, so the sixth streak can only go right, and the seventh starts beyond it.
    assert drawing("B" * 12 + "P" * 9 + "B" * 6 + "P" * 5 + "B" * 4 + "P" * 3 + "B" * 2) == [
        "BPBPBPPPB",
        "BPBPBBB.B",
        "BPBPPP...",
        "BPBBB....",
        "BPPPPP...",
        "BBBBBBB..",
    ]


def test_ties_are_counted_on_the_last_win() -> None:
    cells = big_road(rounds("PTTPBT"))
    assert [(cell.column, cell.row, cell.ties) for cell in cells] == [(0, 0, 2), (0, 1, 0), (1, 0, 1)]


def test_ties_before_the_first_win_wait_in_the_first_cell() -> None:
    assert big_road(rounds("TVT")) == [BoardCell(0, 0, Result.TIE, 2)]
    assert big_road(rounds("TVTB")) == [BoardCell(0, 0, Result.BANKER, 2)]
    assert big_road(rounds("TTBTB")) == [BoardCell(0, 0, Result.BANKER, 3), BoardCell(0, 1, Result.BANKER)]


def test_the_big_road_shows_the_pairs_of_wins_only() -> None:
    played = [
        BaccaratResult(Result.PLAYER, banker_pair=True),
        BaccaratResult(Result.TIE, player_pair=True),
        BaccaratResult(Result.PLAYER, player_pair=True, banker_pair=True),
    ]
    assert big_road(played) == [
        BoardCell(0, 0, Result.PLAYER, 1, banker_pair=True),
        BoardCell(0, 1, Result.PLAYER, 0, player_pair=True, banker_pair=True),
    ]


def test_no_two_wins_share_a_cell_and_tails_stay_together() -> None:
    generator = random.Random(8)
    for _ in range(300):
        letters = "".join(generator.choices("PB", [generator.choice((1, 6)), 1], k=90))
        places = [(cell.column, cell.row) for cell in big_road(rounds(letters))]
        assert len(set(places)) == len(letters)
        assert all(row in range(ROWS) for _, row in places)
        start = 0
        for (before, place), (old, new) in zip(itertools.pairwise(places), itertools.pairwise(letters), strict=True):
            if old == new:
                assert place in ((before[0], before[1] + 1), (before[0] + 1, before[1]))
            else:
                assert place[1] == 0
                assert place[0] > start
                start = place[0]


def test_cells_are_plain_data_for_the_screen() -> None:
    assert msgspec.to_builtins(big_road(rounds("TB"))) == [
        {"column": 0, "row": 0, "result": "banker", "ties": 1, "player_pair": False, "banker_pair": False}
    ]


# --- derived roads ----------------------------------------------------------------------------------------------------

# Streaks of 2, 2, 3, 1, 1, 2, 4.
STORY = "BB" + "PP" + "BBB" + "P" + "B" + "PP" + "BBBB"


def marks(road: DerivedRoad, letters: str = STORY) -> list[str]:
    """The rows of a derived road: R and B for red and blue."""
    cells = derived_road(road, rounds(letters))
    return drawn({(cell.column, cell.row): cell.mark[0].upper() for cell in cells})


def test_the_big_eye_boy_compares_with_the_column_before() -> None:
    assert marks(DerivedRoad.BIG_EYE_BOY) == ["RBRBRBR", "RB.B...", "RB.....", ".......", ".......", "......."]


def test_the_small_road_skips_a_column_and_has_tails_too() -> None:
    assert marks(DerivedRoad.SMALL_ROAD) == ["RBR", ".BR", ".B.", ".B.", ".B.", ".BB"]


def test_the_cockroach_pig_skips_two_columns() -> None:
    assert marks(DerivedRoad.COCKROACH_PIG) == ["BRBR", "B.BR", "....", "....", "....", "...."]


@pytest.mark.parametrize(
    ("road", "without", "starting"),
    [
        (DerivedRoad.BIG_EYE_BOY, "PPPPB", ("PPPPBB", "PBP")),
        (DerivedRoad.SMALL_ROAD, "PPBBP", ("PPBBPP", "PBPB")),
        (DerivedRoad.COCKROACH_PIG, "PPBBPPB", ("PPBBPPBB", "PBPBP")),
    ],
)
def test_a_derived_road_starts_once_there_is_a_column_to_compare_with(
    road: DerivedRoad, without: str, starting: tuple[str, str]
) -> None:
    assert derived_road(road, rounds(without)) == []
    assert [len(derived_road(road, rounds(letters))) for letters in starting] == [1, 1]


def test_ties_and_void_rounds_change_no_derived_road() -> None:
    for road in DerivedRoad:
        assert marks(road, "T" + STORY.replace("B", "BTV")) == marks(road)


def test_a_derived_road_compares_full_streaks_and_not_what_tails_leave_visible() -> None:
    # Both streaks are eight long; the second one turns a row higher.
    assert marks(DerivedRoad.BIG_EYE_BOY, "B" * 8 + "P" * 8 + "B") == ["R..", "R..", "R..", "R..", "R..", "RRR"]

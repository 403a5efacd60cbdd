"""Baccarat's scoreboards: bead plate, big road, and the three roads that are derived from the big road.

Each board is a list of cells, counted from the top left corner. Void rounds do not appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from controller.games.dragon_baccarat.hands import BaccaratResult, BaccaratRounds, Result
from controller.games.dragon_baccarat.session import streaks

ROWS = 6


class BoardCell(msgspec.Struct, frozen=True):
    """A cell of the bead plate or the big road."""

    column: int
    row: int
    result: Result  # in the big road a tie only as long as no side has won
    ties: int = 0  # in the big road: the ties after this win; on the first win, those before it too
    player_pair: bool = False
    banker_pair: bool = False


class RoadMark(StrEnum):
    """The colour of a derived road's cell: red where the big road repeats itself."""

    RED = "red"
    BLUE = "blue"


class RoadCell(msgspec.Struct, frozen=True):
    """A cell of a derived road."""

    column: int
    row: int
    mark: RoadMark


class DerivedRoad(StrEnum):
    """The roads that compare each column of the big road with one further to the left."""

    BIG_EYE_BOY = "big eye boy"
    SMALL_ROAD = "small road"
    COCKROACH_PIG = "cockroach pig"


COLUMNS_BACK = {DerivedRoad.BIG_EYE_BOY: 1, DerivedRoad.SMALL_ROAD: 2, DerivedRoad.COCKROACH_PIG: 3}


def bead_plate(rounds: BaccaratRounds) -> list[BoardCell]:
    """Every round in a cell of its own, column by column."""
    cells: list[BoardCell] = []
    for ended in rounds:
        if ended is not None:
            column, row = divmod(len(cells), ROWS)
            cells.append(BoardCell(column, row, ended.result, 0, ended.player_pair, ended.banker_pair))
    return cells


def big_road(rounds: BaccaratRounds) -> list[BoardCell]:
    """Every win in a cell, each streak in a column; a tie is counted on the last win. Pairs are those of the win."""
    wins: list[BaccaratResult] = []
    ties: list[int] = []
    leading = 0
    for ended in rounds:
        if ended is None:
            continue
        if ended.result is not Result.TIE:
            ties.append(0 if wins else leading)
            wins.append(ended)
        elif wins:
            ties[-1] += 1
        else:
            leading += 1
    if leading and not wins:
        return [BoardCell(0, 0, Result.TIE, leading)]
    places = _places([ended.result for ended in wins])
    return [
        BoardCell(*place, ended.result, count, ended.player_pair, ended.banker_pair)
        for place, ended, count in zip(places, wins, ties, strict=True)
    ]


def derived_road(road: DerivedRoad, rounds: BaccaratRounds) -> list[RoadCell]:
    """A derived road. It compares the streaks of the big road by their full length: tails do not matter."""
    marks = _marks([streak.wins for streak in streaks(rounds)], COLUMNS_BACK[road])
    return [RoadCell(*place, mark) for place, mark in zip(_places(marks), marks, strict=True)]


def _places(entries: Sequence[str]) -> list[tuple[int, int]]:
    """The column and row of each entry: equal ones go down, and turn right where the column is full or blocked.

    A tail that has turned keeps its row. A new streak starts in the first column whose top is free.
    """
    places: list[tuple[int, int]] = []
    taken: set[tuple[int, int]] = set()
    column, row, turned = -1, 0, False
    for number, entry in enumerate(entries):
        if number == 0 or entry != entries[number - 1]:
            column, row, turned = next(top for top in range(len(entries)) if (top, 0) not in taken), 0, False
        elif turned or row + 1 == ROWS or (column, row + 1) in taken:
            column, turned = column + 1, True
        else:
            row += 1
        places.append((column, row))
        taken.add((column, row))
    return places


def _marks(lengths: Sequence[int], back: int) -> list[RoadMark]:
    """The marks of a derived road.

    The first win of a streak is red if the streak before it is as long as the one `back` columns before that. A further
    win is blue if it is the first one beyond the end of the streak `back` columns before its own.
    """
    marks: list[RoadMark] = []
    for column, length in enumerate(lengths):
        for row in range(length):
            if row == 0 and column > back:
                marks.append(RoadMark.RED if lengths[column - 1] == lengths[column - 1 - back] else RoadMark.BLUE)
            elif row > 0 and column >= back:
                marks.append(RoadMark.BLUE if row == lengths[column - back] else RoadMark.RED)
    return marks

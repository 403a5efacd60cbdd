"""What a game adds to the screen, as data: amounts, lines of text, grids such as a scoreboard, and rows of cards."""

from __future__ import annotations

import msgspec


class GridCell(msgspec.Struct, frozen=True):
    """A cell of a grid, by its place from the top left corner."""

    column: int
    row: int
    mark: str  # its letter and colour: "player", "banker", "tie"
    label: str  # all that it says, in words: "banker, 2 ties, player pair"
    text: str = ""  # a number at its edge
    dots: tuple[str, ...] = ()  # small marks at its edge


class BoardBlock(msgspec.Struct, frozen=True):
    """One block of the screen: a figure, a grid, or the rows of a hand. It has what its fields say, and a label."""

    label: str
    figure: str = ""  # such as an amount: "12 units"
    lines: tuple[str, ...] = ()
    cells: tuple[GridCell, ...] = ()
    rows: int = 0  # of the grid
    hand: str = ""  # whose cards are shown in rows
    cards: dict[str, tuple[str, ...]] = {}  # by the name of the row

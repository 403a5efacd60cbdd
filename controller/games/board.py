"""What a game adds to the screen, as data: amounts, lines of text, grids such as a scoreboard, and rows of cards."""

from __future__ import annotations

import msgspec


class GridCell(msgspec.Struct, frozen=True):
    """A cell of a grid, by its place from the top left corner."""

    column: int  # from the left, from 0
    row: int  # from the top, from 0
    mark: str  # its letter and colour: "player", "banker", "tie"
    label: str  # all that it says, in words: "banker, 2 ties, player pair"
    text: str = ""  # a number at its edge
    dots: tuple[str, ...] = ()  # small marks at its edge


class BoardBlock(msgspec.Struct, frozen=True):
    """One block of the screen: a figure, a grid, or the rows of a hand. It has what its fields say, and a label."""

    label: str  # its title
    figure: str = ""  # such as an amount: "12 units"
    lines: tuple[str, ...] = ()  # of text
    cells: tuple[GridCell, ...] = ()  # of the grid
    rows: int = 0  # of the grid
    hand: str = ""  # whose cards are shown in rows
    cards: dict[str, tuple[str, ...]] = {}  # by the name of the row
    outlined: bool = False  # the marks of the grid are rings
    colours: dict[str, str] = {}  # red, blue, green or gold, by the name of a hand, a mark or a dot; else grey

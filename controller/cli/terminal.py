"""Plain text for a terminal: aligned columns, lines that fit its width, and colour only where it can be seen."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from firmware_bridge.wire.health import RoundTrip

GAP = "  "


def plain(text: str) -> str:
    """The text with control characters spelled out: what a device sends must not steer the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under their heads, every column as wide as its widest cell; numbers stand to the right."""
    columns = [[plain(cell) for cell in column] for column in zip(heads, *rows, strict=True)]
    aligned = []
    for column in columns:
        width = max(len(cell) for cell in column)
        numbers = all(cell.isdecimal() for cell in column[1:])
        aligned.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in column])
    return [GAP.join(row).rstrip() for row in zip(*aligned, strict=True)]


def pairs(rows: Iterable[tuple[str, str]], indent: str = GAP) -> list[str]:
    """Names and what they are, the second part aligned and wrapped under itself."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    lines: list[str] = []
    for name, value in rows:
        head = f"{indent}{name.ljust(width)}{GAP}"
        lines += fold(head + plain(value), len(head))
    return lines


def fold(line: str, indent: int) -> list[str]:
    """On a terminal, the line broken at its width, the rest indented; elsewhere, one line as it is."""
    if not sys.stdout.isatty():
        return [line]
    width = max(shutil.get_terminal_size().columns, indent + 20)
    parts = textwrap.wrap(line, width, subsequent_indent=" " * indent, drop_whitespace=False)
    return [part.rstrip() for part in parts] or [line]


def say(text: str = "", colour: str | None = None, bold: bool = False) -> None:
    """A line on standard output. click leaves the colour out where it is no terminal."""
    click.echo(_styled(text, colour, bold), color=_colours())


def styled(text: str, colour: str | None = None, bold: bool = False) -> str:
    """The text as it is drawn on a terminal by a program that draws."""
    return text if _colours() is False else _styled(text, colour, bold)


def _styled(text: str, colour: str | None, bold: bool) -> str:
    return click.style(text, fg=colour, bold=bold or None) if colour or bold else text


def tell(text: str) -> None:
    """A message to the person, on standard error."""
    click.echo(plain(f"shoectl: {text}"), err=True)


def say_json(value: Any) -> None:
    """One JSON value on a line of standard output."""
    click.echo(msgspec.json.encode(value, enc_hook=str))


def _colours() -> bool | None:
    """False where the person wants none; None leaves it to what standard output is."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def count(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(milliseconds: int) -> str:
    """A span of time as a person says it."""
    seconds = milliseconds // 1000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{milliseconds / 1000:.1f} s"


def round_trip(found: RoundTrip | None) -> str:
    """A measured round trip in words."""
    if found is None:
        return "not measured"
    return f"{found.median_ms:.1f} ms (least {found.min_ms:.1f}, 99 % within {found.p99_ms:.1f}, of {found.samples})"

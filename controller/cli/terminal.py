"""Prints lines, tables and JSON on standard output, and messages on standard error.

Lines are wrapped and coloured only on a terminal. Control characters are always spelled out.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from controller.core.names import plural
from firmware_bridge.wire.health import RoundTrip

GAP = "  "


def printable(text: str) -> str:
    """The text with control characters spelled out, so that text from a device cannot control the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


# --- layout ---------------------------------------------------------------------------------------------------------


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The heads and the rows as aligned lines; columns of numbers are right-aligned."""
    columns = [[printable(cell) for cell in column] for column in zip(heads, *rows, strict=True)]
    aligned = []
    for column in columns:
        width = max(len(cell) for cell in column)
        numbers = all(cell.isdecimal() for cell in column[1:])
        aligned.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in column])
    return [GAP.join(row).rstrip() for row in zip(*aligned, strict=True)]


def wrapped(head: str, text: str) -> list[str]:
    """`head` and `text`, wrapped on a terminal so that all lines of the text are aligned; elsewhere, one long line."""
    line = printable(head + text)
    if not sys.stdout.isatty():
        return [line]
    width = max(shutil.get_terminal_size().columns, len(head) + 20)
    parts = textwrap.wrap(line, width, subsequent_indent=" " * len(head), drop_whitespace=False)
    return [part.rstrip() for part in parts] or [line]


# --- output ---------------------------------------------------------------------------------------------------------


def print_line(text: str = "", colour: str | None = None, bold: bool = False) -> None:
    """A line on standard output. click removes the colour if that is not a terminal."""
    click.echo(_styled(text, colour, bold), color=_colours())


def print_wrapped(head: str, text: str, colour: str | None = None) -> None:
    """`head` and `text`, wrapped to the width of the terminal."""
    for line in wrapped(head, text):
        print_line(line, colour)


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], colours: Iterable[str | None] | None = None
) -> None:
    """A table with bold heads; `colours` has one entry per row."""
    first, *lines = table(heads, rows)
    print_line(first, bold=True)
    for line, colour in zip(lines, colours if colours is not None else [None] * len(lines), strict=True):
        print_line(line, colour)


def print_pairs(pairs: Iterable[tuple[str, str]], indent: str = GAP) -> None:
    """Names and their values, one pair per line, the values aligned."""
    pairs = list(pairs)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print_wrapped(f"{indent}{name.ljust(width)}{GAP}", value)


def print_json(value: Any) -> None:
    """One JSON value on a line of standard output."""
    click.echo(msgspec.json.encode(value, enc_hook=str))


def print_message(text: str) -> None:
    """A message for the person, on standard error."""
    click.echo(printable(f"shoectl: {text}"), err=True)


def styled(text: str, colour: str | None = None, bold: bool = False) -> str:
    """The text with its control sequences, unless the person does not want colours."""
    return text if _colours() is False else _styled(text, colour, bold)


def _styled(text: str, colour: str | None, bold: bool) -> str:
    return click.style(text, fg=colour, bold=bold or None) if colour or bold else text


def _colours() -> bool | None:
    """False if the person does not want colours; None lets click decide."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


# --- values as text -------------------------------------------------------------------------------------------------


def duration(milliseconds: int) -> str:
    """A duration in its two largest units, such as `1 h 5 min`."""
    seconds = milliseconds // 1000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{milliseconds / 1000:.1f} s"


def utc(ts: str, digits: int = 0) -> str:
    """A time of the journal, such as `2026-03-14 15:09:26`, or with this many digits of a second."""
    return ts[: 20 + digits if digits else 19].replace("T", " ")


def round_trip(measured: RoundTrip | None) -> str:
    """Median, minimum and 99th percentile of the measured round trips."""
    if measured is None:
        return "not measured"
    percentiles = f"minimum {measured.min_ms:.1f}, 99th percentile {measured.p99_ms:.1f}"
    return f"{measured.median_ms:.1f} ms ({percentiles}, {plural(measured.samples, 'sample')})"

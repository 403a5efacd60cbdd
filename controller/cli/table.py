"""`shoectl status`: the table as the daemon sees it."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterable
from typing import Any

import click

from controller.cli import terminal
from controller.cli.client import Client
from controller.cli.daemon_option import daemon_errors, socket_option
from controller.cli.options import lines_option
from controller.cli.table_text import TextLine, one_line, table_lines


@click.command()
@click.option("--watch", "-w", is_flag=True, help="Keep showing it, live, until Ctrl-C.")
@socket_option
@lines_option
@daemon_errors()
def status(watch: bool, daemon: Client, as_json: bool) -> None:
    """Show the table: what to do next, decks, devices, alarms.

    With --watch, a terminal is redrawn in place whenever something changes; otherwise one line is
    printed for every change.

    \b
    Examples:
      shoectl status
      shoectl status --watch
      shoectl status --json
    """
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            _watch(daemon, as_json)
        return
    table = daemon.get("table")
    if as_json:
        terminal.print_json(table)
        return
    for line in table_lines(table):
        terminal.print_line(*line)


def _watch(daemon: Client, as_json: bool) -> None:
    drawing = _Drawing() if sys.stdout.isatty() and not as_json else None
    table: dict[str, Any] = {}
    before = ""
    for message in daemon.stream(only="table"):
        if message.event == "table":
            table = message.data
        if drawing:
            if table:
                drawing.draw(table_lines(table, message.data["now_ms"]))
        elif message.event == "table" and as_json:
            terminal.print_json(table)
        elif message.event == "table" and (text := one_line(table)) != before:
            terminal.print_line(f"{table['seq']:>6}  {table['ts']}  {text}")
            before = text
        sys.stdout.flush()


class _Drawing:
    """Draws lines over the previous ones. Lines that do not fit the terminal are left out: they would scroll away."""

    def __init__(self) -> None:
        self._height = 0

    def draw(self, lines: Iterable[TextLine]) -> None:
        """Draw in a single write, so that nothing flickers."""
        columns, rows = shutil.get_terminal_size()
        fitting = [(line.text[: columns - 1], line.colour, line.bold) for line in lines][: rows - 1]
        up = f"\x1b[{self._height}F" if self._height else ""
        text = "".join(f"{terminal.styled(*line)}\x1b[K\n" for line in fitting)
        click.echo(f"{up}{text}\x1b[J", nl=False, color=True)
        self._height = len(fitting)

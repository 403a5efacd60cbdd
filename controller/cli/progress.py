"""Progress of long operations on standard error: a bar on a terminal, elsewhere a line a second.

Nothing is printed for an operation that takes less than a second.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Self, TypeVar

import click

SHOW_AFTER_S = 1.0
STEPS_PER_CHECK = 1000  # steps between two looks at the clock

T = TypeVar("T")


@contextlib.contextmanager
def waiting_for(text: str) -> Iterator[None]:
    """Print on a terminal what is being waited for, if it takes more than a second."""
    timer = threading.Timer(SHOW_AFTER_S, lambda: click.echo(f"shoectl: {text} …", err=True))
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """Counts the steps of an operation, of `length` if that is known. `text` is a template: `verified {} events`."""

    def __init__(self, text: str, length: int | None = None) -> None:
        self.length = length
        self._text = text
        self._done = self._drawn = 0
        self._printed_at = time.monotonic()
        self._bar: Any = None
        self._unfinished_line = False

    def step(self) -> None:
        """Count one step, and print the progress if a second has passed."""
        self._done += 1
        if self._done % STEPS_PER_CHECK == 0 and time.monotonic() - self._printed_at >= SHOW_AFTER_S:
            self._print()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, with one step for each."""
        for item in items:
            yield item
            self.step()

    def _print(self) -> None:
        on_terminal = sys.stderr.isatty()
        if on_terminal and self.length:
            self._draw(self._done)
            return
        of = f" of {self.length}" if self.length else ""
        text = f"shoectl: {self._text.format(f'{self._done}{of}')}"
        click.echo(f"\r{text}" if on_terminal else text, err=True, nl=not on_terminal)
        self._unfinished_line = on_terminal
        self._printed_at = time.monotonic()

    def _draw(self, done: int) -> None:
        if self._bar is None:
            label = " ".join(f"shoectl: {self._text.format('')}".split())
            self._bar = click.progressbar(length=self.length, label=label, file=sys.stderr, show_pos=True)
            self._bar.__enter__()
        self._bar.update(done - self._drawn)
        self._drawn = done

    def close(self) -> None:
        """Finish the bar or the line on a terminal."""
        if self._unfinished_line:
            click.echo(err=True)
        if self._bar is not None:
            self._draw(self._done)
            self._bar.__exit__(None, None, None)
        self._bar, self._unfinished_line = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

"""How far a long piece of work is: a bar on a terminal's standard error, a line a second elsewhere, and nothing for
work that is done within a second.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import click

AFTER_S = 1.0  # nobody needs to be told of less
LOOK_EVERY = 1000  # steps between looks at the clock

T = TypeVar("T")


@contextlib.contextmanager
def patience(words: str) -> Iterator[None]:
    """Say on a terminal what is being waited for, once it has taken a second."""
    waiting = threading.Timer(AFTER_S, lambda: click.echo(f"shoectl: {words} …", err=True))
    if sys.stderr.isatty():
        waiting.start()
    try:
        yield
    finally:
        waiting.cancel()


class Progress:
    """So many steps done, of `length` where that is known. `words` say what, such as `verified {} events`."""

    def __init__(self, words: str, length: int | None = None) -> None:
        self.length = length
        self._words = words
        self._done = self._drawn = 0
        self._told_at = time.monotonic()
        self._bar: Any = None
        self._half_line = False

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._done % LOOK_EVERY == 0 and time.monotonic() - self._told_at >= AFTER_S:
            self._tell()

    def _tell(self) -> None:
        terminal = sys.stderr.isatty()
        if terminal and self.length:
            self._draw(self._done)
            return
        of = f" of {self.length}" if self.length else ""
        text = f"shoectl: {self._words.format(f'{self._done}{of}')}"
        click.echo(f"\r{text}" if terminal else text, err=True, nl=not terminal)
        self._half_line = terminal
        self._told_at = time.monotonic()

    def _draw(self, done: int) -> None:
        if self._bar is None:
            label = " ".join(f"shoectl: {self._words.format('')}".split())
            self._bar = click.progressbar(length=self.length, label=label, file=sys.stderr, show_pos=True)
            self._bar.__enter__()
        self._bar.update(done - self._drawn)
        self._drawn = done

    def over(self, things: Iterable[T]) -> Iterator[T]:
        """The things, a step each."""
        for thing in things:
            yield thing
            self.step()

    def close(self) -> None:
        """Leave no half line on a terminal."""
        if self._half_line:
            click.echo(err=True)
        if self._bar is not None:
            self._draw(self._done)
            self._bar.__exit__(None, None, None)
        self._bar, self._half_line = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

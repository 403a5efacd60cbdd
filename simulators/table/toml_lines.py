"""Finds the line of every key and list entry of a TOML text, so that errors can name it.

The text must be valid TOML, already read by tomllib.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

TomlPath = tuple[str | int, ...]
"""Keys and numbers of list entries, from 0, on the way to a value."""

_TOKEN = re.compile(
    r'(?P<space>[ \t\r]+|#[^\n]*)|(?P<newline>\n)|(?P<mark>[\[\]{},=.])|"""(?P<long>(?:\\.|[^\\])*?"{3,5})'
    r"|'''(?P<raw>.*?'{3,5})|\"(?P<basic>(?:\\.|[^\"\\])*)\"|'(?P<literal>[^']*)'"
    r"|(?P<bare>[^\s\[\]{},=.#\"']+)",
    re.DOTALL,
)


class _Token(NamedTuple):
    text: str
    line: int
    mark: bool  # punctuation or the end of a line, not a key or a value


def _tokens(text: str) -> Iterator[_Token]:
    line, at = 1, 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:  # not TOML
            return
        kind = str(found.lastgroup)
        if kind != "space":
            yield _Token(str(found[kind]), line, kind in ("newline", "mark"))
        line += found[0].count("\n")
        at = found.end()


class _Lines:
    """Reads tokens from the first to the last, and records the line of each path."""

    def __init__(self, text: str) -> None:
        self.found: dict[TomlPath, int] = {}
        self._tokens = [*_tokens(text), _Token("\n", 0, mark=True)]
        self._at = 0
        self._tables: dict[TomlPath, int] = {}  # lists of tables, and the number of the last one

    def read(self) -> None:
        section: TomlPath = ()
        while self._at < len(self._tokens):
            if self._skip("\n"):
                continue
            if self._skip("["):
                section = self._header()
            else:
                self._pair(section)

    def _is(self, text: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][::2] == (text, True)

    def _skip(self, text: str) -> bool:
        found = self._is(text)
        self._at += found
        return found

    def _header(self) -> TomlPath:
        """`[a.b]` or `[[a.b]]`, after its first bracket."""
        is_list = self._skip("[")
        line = self._tokens[self._at].line
        path: TomlPath = ()
        keys = self._keys()
        for number, key in enumerate(keys):
            path = (*path, key)
            self.found.setdefault(path, line)
            if number == len(keys) - 1 and is_list:
                self._tables[path] = self._tables.get(path, -1) + 1
            if path in self._tables:
                path = (*path, self._tables[path])
                self.found.setdefault(path, line)
        while self._at < len(self._tokens) and not self._is("\n"):
            self._at += 1
        return path

    def _keys(self) -> list[str]:
        keys = [self._next()]
        while self._skip("."):
            keys.append(self._next())
        return keys

    def _next(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return token.text

    def _pair(self, section: TomlPath) -> None:
        """`a.b = value`."""
        line = self._tokens[self._at].line
        path = section
        for key in self._keys():
            path = (*path, key)
            self.found.setdefault(path, line)
        self._skip("=")
        self._value(path)

    def _value(self, path: TomlPath) -> None:
        if self._skip("["):
            number = 0
            while not self._skip("]"):
                if not self._skip("\n") and not self._skip(","):
                    self.found[(*path, number)] = self._tokens[self._at].line
                    self._value((*path, number))
                    number += 1
        elif self._skip("{"):
            while not self._skip("}"):
                if not self._skip("\n") and not self._skip(","):
                    self._pair(path)
        else:
            while not any(self._is(end) for end in ("\n", ",", "]", "}")):
                self._at += 1


def toml_lines(text: str) -> dict[TomlPath, int]:
    """The line of each key and list entry, by its path: `("step", 0, "fault")`."""
    lines = _Lines(text)
    lines.read()
    return lines.found

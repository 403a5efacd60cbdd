"""Registers functions in a table: one function for each key, such as a type of event or action."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Function = TypeVar("Function", bound=Callable[..., Any])


def register(table: dict[Key, Any], keys: Iterable[Key]) -> Callable[[Function], Function]:
    """A decorator that enters a function in this table under these keys. No key may be entered twice."""

    def enter(function: Function) -> Function:
        for key in keys:
            assert key not in table, key
            table[key] = function
        return function

    return enter

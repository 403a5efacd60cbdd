"""Registers which functions enforce each rule: the function that decides a rule is marked `@enforces(Rule.X)`.

`shoectl rules` prints this register, and a test requires at least one function and one test for every clause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from controller.games.rulebook import Rule, Rulebook

Deciding = TypeVar("Deciding", bound=Callable[..., object])

_enforced: dict[Rule, list[str]] = {rule: [] for rule in Rule}


def enforces(*rules: Rule) -> Callable[[Deciding], Deciding]:
    """Mark the function that decides these rules."""

    def register(function: Deciding) -> Deciding:
        for rule in rules:
            _enforced[rule].append(f"{function.__module__}.{function.__qualname__}")
        return function

    return register


def enforced_by(rulebook: Rulebook, clause: str) -> list[str]:
    """Full names of the functions that decide a clause. Complete once `controller.core.table` is imported."""
    rules = [rule for rule in Rule if clause in rulebook.clauses_of(rule)]
    own = {f"{function.__module__}.{function.__qualname__}" for function in rulebook.decided_by.get(clause, ())}
    return sorted(own | {function for rule in rules for function in _enforced[rule]})

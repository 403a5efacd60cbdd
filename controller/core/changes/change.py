"""Registers the function that changes the state for each kind of event."""

# mypyc
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from controller.core.events.event import Event
from controller.core.registry import register
from controller.core.state import State

Change = Callable[[State, Any], None]
Changing = TypeVar("Changing", bound=Change)
CHANGES: Final[dict[type[Event], Change]] = {}


def changes(*events: type[Event]) -> Callable[[Changing], Changing]:
    """Mark the function that changes the state for these events."""
    return register(CHANGES, events)

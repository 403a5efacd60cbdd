"""The base of all actions: who takes one, in which role, and what has to allow it."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

import msgspec

from controller.core.events.event import Event
from controller.games.rulebook import Rule


class Role(StrEnum):
    """A person's role at this table."""

    DEALER = "dealer"
    FLOOR = "floor"
    TECHNICIAN = "technician"
    AUDITOR = "auditor"


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Action(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="action", tag=_snake):
    """Base of the actions."""

    roles: ClassVar[tuple[Role, ...]] = (Role.DEALER, Role.FLOOR)
    leads_to: ClassVar[type[Event]] = Event  # the state machines must allow this event
    rules: ClassVar[tuple[Rule, ...]] = ()  # cited if the role or the state does not allow it
    consequence: ClassVar[str] = ""  # what cannot be undone: people are asked before it happens

    who: str
    role: Role
    origin: str = ""  # where it came from: screen, socket


def name_of(action: Action) -> str:
    """The name of an action: its tag."""
    return str(type(action).__struct_config__.tag)

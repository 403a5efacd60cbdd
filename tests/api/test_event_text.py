"""Every kind of event has a sentence of its own, and an event of a later version is still named."""

from __future__ import annotations

import inspect
import typing

import pytest

from controller.api.event_text import event_text, stored_text
from controller.core.events import KINDS
from controller.core.events.devices import CommandAnswered, DeviceFreed
from controller.core.events.event import Event
from controller.core.events.table import AccessGranted


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_every_kind_has_a_sentence_and_says_what_it_is(kind: type[Event]) -> None:
    assert kind.sentence is not Event.sentence
    assert kind.__doc__
    assert inspect.getdoc(kind) != inspect.getdoc(kind.__mro__[1])


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_no_field_can_hold_what_languages_write_differently(kind: type[Event]) -> None:
    """Fractions: the journal does not look at the fields of an event any more, since their types rule that out."""
    hints = typing.get_type_hints(kind)
    assert not [name for name in kind.__struct_fields__ if "float" in str(hints[name])]
    assert all(name.isascii() for name in kind.__struct_fields__)


def test_a_sentence_begins_with_a_capital() -> None:
    assert event_text(AccessGranted(who="dana", roles=["dealer"], via="screen")) == "Dana signed in at the screen."


def test_an_answer_says_what_was_answered() -> None:
    refused = CommandAnswered(device="shoe", id=7, answer="refused", reason="door_open")
    assert event_text(refused) == "The shoe refused the command: its door is open."
    assert event_text(CommandAnswered(device="shoe", id=7, answer="done")) == "The shoe accepted the command."


def test_who_is_named_only_where_somebody_is() -> None:
    assert event_text(DeviceFreed(device="shoe", who="Dana")) == "Dana attended to the shoe."
    assert event_text(DeviceFreed(device="shoe", door="closed")) == "The door of the shoe was closed."


def test_an_event_of_a_later_version_is_named_by_its_kind() -> None:
    assert stored_text("shoe.polished", {"device": "shoe", "reason": "dust"}) == "Shoe polished shoe dust."
    assert stored_text("device.lost", {"device": "shoe"}) == "Device lost shoe."

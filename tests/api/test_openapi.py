"""The API's description covers every kind of event, and all its references resolve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from controller.api.event_text import event_json
from controller.api.openapi import describe
from controller.core.events import KINDS, Entry
from controller.core.events.decks import DeckReceived

DESCRIPTION = describe()
SCHEMAS = DESCRIPTION["components"]["schemas"]


def references(part: Any) -> Iterator[str]:
    """Every reference in a part of the description."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from references(inner)


def test_every_kind_of_event_is_described() -> None:
    event = SCHEMAS["Event"]
    assert event["properties"]["kind"]["enum"] == list(KINDS)
    described = {option["properties"]["kind"]["const"]: option["properties"]["data"] for option in event["oneOf"]}
    assert list(described) == list(KINDS)
    for kind, reference in described.items():
        schema = SCHEMAS[reference["$ref"].rpartition("/")[2]]
        assert set(schema["properties"]) == {field.encode_name for field in msgspec.structs.fields(KINDS[kind])}, kind
        assert schema["description"], kind


def test_every_reference_resolves() -> None:
    found = set(references(DESCRIPTION))
    assert "#/components/schemas/Event" in found
    assert {reference.removeprefix("#/components/schemas/") for reference in found} <= set(SCHEMAS)


def test_an_event_has_the_described_fields() -> None:
    received = DeckReceived(who="Dana", deck="red-1", back="red", prepared=False, at_ms=5)
    entry = Entry(1, ("3.A",), received)
    made = event_json(entry.seq, "2026-01-01T00:00:00.000Z", entry.kind, entry.clause, entry.data)
    assert list(made) == SCHEMAS["Event"]["required"] == list(SCHEMAS["Event"]["properties"])
    assert set(SCHEMAS["DeckReceived"]["required"]) <= set(entry.data) <= set(SCHEMAS["DeckReceived"]["properties"])

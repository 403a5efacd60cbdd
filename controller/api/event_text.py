"""Prepares the sentences of `core/events/` for the screen, the CLI and the log, and searches them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import Any

import msgspec

from controller.core.events import KINDS
from controller.core.events.event import Event
from controller.core.names import capital, spoken


def event_text(event: Event) -> str:
    """What an event says, as one sentence."""
    said = event.sentence()
    return capital(said).replace("..", ".")


def stored_text(kind: str, data: dict[str, Any]) -> str:
    """The same for an event as it is stored. One that this version does not know is named by its kind."""
    try:
        return event_text(msgspec.convert(data, KINDS[kind]))
    except (KeyError, msgspec.ValidationError):
        about = " ".join(str(data[key]) for key in ("device", "deck", "round", "reason") if key in data)
        return f"{spoken(kind.replace('.', ' '))} {about}".strip().capitalize() + "."


def kinds_saying(word: str) -> list[str]:
    """The kinds of events whose sentences always contain this word, although it is not in their data."""
    return [kind for kind, fixed in _fixed_words().items() if word.lower() in fixed]


@functools.cache
def _fixed_words() -> dict[str, str]:
    return {kind: " ".join(_strings(event.sentence.__code__)).lower() for kind, event in KINDS.items()}


def _strings(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _strings(constant)


def shown_data(data: dict[str, Any]) -> dict[str, Any]:
    """The data of an event, without what a device sent that this version cannot read.

    The journal keeps it. It could name cards that were dealt face down, so nobody at the table gets to see it.
    """
    return {name: value for name, value in data.items() if name != "content"} if "content" in data else data


def event_json(seq: int, ts: str, kind: str, clause: tuple[str, ...], data: dict[str, Any]) -> dict[str, Any]:
    """An event as the API returns it."""
    data = shown_data(data)
    return {"seq": seq, "ts": ts, "kind": kind, "clause": list(clause), "data": data, "text": stored_text(kind, data)}

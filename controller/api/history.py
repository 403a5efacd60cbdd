"""Answers from a journal, for the API and for `shoectl`: its events in plain English, its rounds, one round in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from controller.api.event_text import event_json, kinds_saying
from controller.api.spelling import nearest
from controller.core.events import KINDS, read
from controller.core.events.event import Entry
from controller.core.events.rounds import RoundCompleted, RoundStarted, RoundVoided, VoidCompleted
from controller.core.history import LATE, rebuild
from controller.journal import JournalReader, StoredEvent

LONGEST_ROUND = 20_000  # events, up to the last one that says something about the round
PAGE = 500
DEVICES = ("shuffler", "shoe")
ORIGINS = ("screen", "socket", "device", "configuration", "robot")
GROUPS = sorted({kind.partition(".")[0] for kind in KINDS})


class EventFilter(msgspec.Struct, frozen=True):
    """Which events to find; empty fields match anything. `since` and `until` are in the form that events use."""

    kind: str = ""
    round: int = 0
    deck: str = ""
    device: str = ""
    who: str = ""
    origin: str = ""
    text: str = ""
    since: str = ""
    until: str = ""


def check_kind(kind: str) -> None:
    """ValueError, with the known ones, unless this is a kind of event or a group of kinds."""
    if kind in KINDS or kind.removesuffix(".") in GROUPS:
        return
    group = kind.partition(".")[0]
    of_group = [known for known in KINDS if known.startswith(f"{group}.")]
    known = of_group if group in GROUPS else GROUPS
    hint = nearest(kind, [*KINDS, *GROUPS])
    raise ValueError(f"unknown kind of event {kind!r}{hint}; expected one of {', '.join(known)}")


def check_device(device: str) -> None:
    """ValueError, with the known ones, unless this is a device."""
    _check_word("device", device, DEVICES)


def check_origin(origin: str) -> None:
    """ValueError, with the known ones, unless an action can come from there."""
    _check_word("origin", origin, ORIGINS)


def _check_word(what: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise ValueError(f"unknown {what} {word!r}{nearest(word, known)}; expected one of {', '.join(known)}")


def check_times(since: str, until: str) -> None:
    """ValueError if nothing can have happened between these times."""
    if since and until and since > until:
        raise ValueError("the time given with since is after the one given with until")


def find_events(
    reader: JournalReader,
    wanted: EventFilter,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int = 100,
    newest: bool = False,
) -> list[dict[str, Any]]:
    """The events that match, in order. Those of a round are all from its first to its last, whatever they are about."""
    having = [(name, value) for name in ("deck", "device", "who", "origin") if (value := getattr(wanted, name))]
    found = reader.search(
        after=after,
        before=before,
        kind=wanted.kind,
        having=having,
        within=("round", wanted.round) if wanted.round else None,
        since=wanted.since,
        until=wanted.until,
        text=wanted.text.split()[:8],
        saying=kinds_saying,
        limit=limit,
        newest=newest,
    )
    return [stored_json(event) for event in found]


def stored_json(event: StoredEvent) -> dict[str, Any]:
    """An event of the journal as the API returns it."""
    return event_json(event.seq, event.ts, event.kind, event.clause, event.data)


def entry_of(event: StoredEvent) -> Entry:
    """An event of the journal as the core reads it. UnreadableEvent if only another version can."""
    return read(event.seq, event.kind, event.clause, event.data, event.ts)


# --- rounds ---------------------------------------------------------------------------------------------------------


def find_rounds(
    reader: JournalReader, wanted: EventFilter, *, before: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """The rounds that match, newest first: by number, by when they started, and by who did something in them."""
    found: list[dict[str, Any]] = []
    for start, next_seq in _starts(reader, wanted):
        if len(found) == limit:
            break
        if before and start.data.get("round", 0) >= before:
            continue
        if wanted.who and not reader.search(
            after=start.seq - 1, before=next_seq, having=[("who", wanted.who)], limit=1
        ):
            continue
        found.append(_summary(reader, start, next_seq))
    return found


def _starts(reader: JournalReader, wanted: EventFilter) -> Iterator[tuple[StoredEvent, int | None]]:
    """The starts of rounds, newest first, each with the number of the next round's first event."""
    page_before = None
    while True:
        page = reader.search(
            kind=RoundStarted.kind,
            before=page_before,
            having=[("round", wanted.round)] if wanted.round else (),
            since=wanted.since,
            until=wanted.until,
            limit=PAGE,
            newest=True,
        )
        for start in reversed(page):
            following = reader.search(kind=RoundStarted.kind, after=start.seq, limit=1)
            yield start, following[0].seq if following else None
        if len(page) < PAGE:
            return
        page_before = page[0].seq


def _summary(reader: JournalReader, start: StoredEvent, next_seq: int | None) -> dict[str, Any]:
    ends = reader.events(
        start.seq, None if next_seq is None else next_seq - 1, (RoundCompleted.kind, RoundVoided.kind), limit=1
    )
    end = next(ends, None)
    return {
        "round": start.data.get("round", 0),  # another version may have written other fields
        "deck": start.data.get("deck", ""),
        "seats": start.data.get("seats", []),
        "method": start.data.get("method", ""),
        "started_ts": start.ts,
        "ended": end.kind.partition(".")[2] if end else "",
        "ended_ts": end.ts if end else "",
        "seq": start.seq,
    }


def find_round(reader: JournalReader, number: int) -> dict[str, Any]:
    """One round as `rebuild` explains it, with its events. Empty if there was none; UnreadableEvent may be raised."""
    start = next(iter(reader.search(kind=RoundStarted.kind, having=[("round", number)], limit=1)), None)
    if start is None:
        return {}
    events = list(reader.events(start.seq - 1, limit=LONGEST_ROUND))
    rebuilt = rebuild(map(entry_of, events), number)
    late = {event.kind for event in LATE}
    rebuilt["events"] = [
        stored_json(event)
        for event in events
        if event.seq <= rebuilt["last_seq"] or (event.kind in late and event.data.get("round") == number)
    ]
    return rebuilt


def round_at(reader: JournalReader, seq: int) -> int:
    """The round that is going on when this event happens; 0 if none."""
    starts = reader.search(kind=RoundStarted.kind, before=seq, limit=1, newest=True)
    if not starts:
        return 0
    ended = next(reader.events(starts[0].seq, seq - 1, (RoundCompleted.kind, VoidCompleted.kind), limit=1), None)
    return 0 if ended else int(starts[0].data.get("round", 0))

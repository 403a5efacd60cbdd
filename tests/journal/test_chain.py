"""The chain of the journal: canonical bytes that any language can compute, and every change is found."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.journal import (
    START,
    BadEvent,
    Checkpoint,
    JournalDamaged,
    MemoryJournal,
    NewEvent,
    StoredEvent,
    canonical,
    check,
    digest,
    line,
)
from controller.journal.chain import DEEPEST_DATA, LARGEST_NUMBER, LONGEST_DATA, from_line, link

TS = "2026-01-31T23:59:59.123456Z"

names = st.text(st.characters(max_codepoint=127), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST_NUMBER, LARGEST_NUMBER) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
new_events = st.builds(
    NewEvent,
    st.datetimes().map(lambda when: when.isoformat(timespec="microseconds") + "Z"),
    st.sampled_from(["round.started", "stack.dispensed", "command.given", "dealer_card.exposed"]),
    st.lists(st.sampled_from(["13.F", "13.G", "§ 4"]), max_size=2),
    st.dictionaries(names, values, max_size=4),
)


def chained(*new: NewEvent) -> list[StoredEvent]:
    journal = MemoryJournal()
    journal.append(new)
    return list(journal.events())


def some(count: int) -> list[StoredEvent]:
    return chained(*(NewEvent(TS, "round.started", ["13.G"], {"round": number}) for number in range(count)))


def broken(events: list[StoredEvent], since: Checkpoint = START) -> JournalDamaged:
    with pytest.raises(JournalDamaged) as caught:
        list(check(events, since))
    return caught.value


# --- canonical bytes --------------------------------------------------------------------------------------------------


def test_the_example_of_the_documentation() -> None:
    """These bytes and hashes never change: docs/journal.md shows them to auditors."""
    first, second = chained(
        NewEvent(
            TS, "stack.dispensed", ["13.F", "13.G"], {"cards": 4, "box": 2, "note": 'a "quote" – ♠\n', "late": False}
        ),
        NewEvent("2026-02-01T00:00:00.000000Z", "round.completed"),
    )
    assert (
        canonical(first)
        == (
            '{"clause":["13.F","13.G"],"data":{"box":2,"cards":4,"late":false,"note":"a \\"quote\\" – ♠\\n"},'
            '"kind":"stack.dispensed","seq":1,"ts":"2026-01-31T23:59:59.123456Z"}'
        ).encode()
    )
    assert canonical(second) == (
        b'{"clause":[],"data":{},"kind":"round.completed","seq":2,"ts":"2026-02-01T00:00:00.000000Z"}'
    )
    assert first.prev == "0" * 64
    assert first.hash == GOLDEN[0]
    assert second.prev == first.hash
    assert second.hash == GOLDEN[1]
    page = (Path(__file__).parents[2] / "docs" / "journal.md").read_text()
    for event in (first, second):
        assert f"\n{canonical(event).decode()}\n{event.hash}\n" in page


GOLDEN = [
    "7f9c1caff2deabdc3914d1a76d08a55a718d9cd130bf35fa101dc03605f640c2",
    "61def62f212cfa4c32a5450b436b07f30db517b094b9a6a9f53777666c686dd3",
]


@given(st.lists(new_events, max_size=4))
def test_an_auditor_with_nothing_but_json_and_sha256_finds_the_same(new: list[NewEvent]) -> None:
    prev = "0" * 64
    for event in chained(*new):
        read = json.loads(line(event))
        content = {name: read[name] for name in ("seq", "ts", "kind", "clause", "data")}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert canonical(event) == text.encode()
        assert read["prev"] == prev
        assert read["hash"] == hashlib.sha256((prev + text).encode()).hexdigest() == digest(event)
        prev = read["hash"]


@given(st.lists(new_events, max_size=4))
def test_lines_come_back_as_they_were(new: list[NewEvent]) -> None:
    events = chained(*new)
    assert [from_line(line(event) + b"\n", 1) for event in events] == events
    assert list(check(events)) == events


# --- new events -------------------------------------------------------------------------------------------------------


class Side(str, enum.Enum):  # noqa: UP042 - the kind of Enum whose str() is not its value
    LEFT = "left.turned"


def test_an_event_is_the_journals_own_copy() -> None:
    boxes = [1, 2]
    (event,) = chained(NewEvent(TS, Side.LEFT, [Side.LEFT], {"boxes": boxes, "side": Side.LEFT, "both": (1, 2)}))
    boxes.append(3)
    assert event.data == {"boxes": [1, 2], "side": "left.turned", "both": [1, 2]}
    assert from_line(line(event), 1) == event
    assert digest(event) == event.hash
    assert [type(text) for text in (event.kind, event.clause[0], event.data["side"])] == [str, str, str]


DEEP: Any = 1
for _ in range(DEEPEST_DATA):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (NewEvent("2026-01-31T23:59:59Z", "round.started"), "ts"),
        (NewEvent("2026-01-31T23:59:59.123456+00:00", "round.started"), "ts"),
        (NewEvent("2026-13-31T23:59:59.123456Z", "round.started"), "ts"),
        (NewEvent(TS + "\n", "round.started"), "ts"),
        (NewEvent(7, "round.started"), "ts"),  # type: ignore[arg-type]
        (NewEvent(TS, "started"), "noun.verb"),
        (NewEvent(TS, "Round.started"), "noun.verb"),
        (NewEvent(TS, "round.started\n"), "noun.verb"),
        (NewEvent(TS, 'round.started","x":"'), "noun.verb"),
        (NewEvent(TS, None), "noun.verb"),  # type: ignore[arg-type]
        (NewEvent(TS, "round.started", "13.G"), "list"),
        (NewEvent(TS, "round.started", [""]), "list"),
        (NewEvent(TS, "round.started", [["13.G"]]), "list"),  # type: ignore[list-item]
        (NewEvent(TS, "round.started", ["\ud800"]), "surrogates"),
        (NewEvent(TS, "round.started", [], []), "object"),  # type: ignore[arg-type]
        (NewEvent(TS, "round.started", [], {"s": 1.5}), "s: 1.5 is a fraction"),
        (NewEvent(TS, "round.started", [], {"s": [{"t": float("nan")}]}), "s: t: nan is a fraction"),
        (NewEvent(TS, "round.started", [], {"n": LARGEST_NUMBER + 1}), "too large"),
        (NewEvent(TS, "round.started", [], {"n": [-LARGEST_NUMBER - 1]}), "too large"),
        (NewEvent(TS, "round.started", [], {"ä": 1}), "ASCII"),
        (NewEvent(TS, "round.started", [], {1: 1}), "ASCII"),  # type: ignore[dict-item]
        (NewEvent(TS, "round.started", [], {"b": b"x"}), "bytes is not a JSON type"),
        (NewEvent(TS, "round.started", [], {"t": "\ud800"}), "surrogates"),
        (NewEvent(TS, "round.started", [], {"t": object()}), "object is not a JSON type"),
        (NewEvent(TS, "round.started", [7]), "list"),  # type: ignore[list-item]
        (NewEvent(TS, "round.started", [], {"d": DEEP}), "deeply"),
        (NewEvent(TS, "round.started", [], {"d": [{"d": [{"d": DEEP}]}]}), "deeply"),
        (NewEvent(TS, "round.started", [], {"t": "x" * LONGEST_DATA}), "bytes"),
    ],
)
def test_what_cannot_be_written(wrong: NewEvent, word: str) -> None:
    with pytest.raises(BadEvent, match=word):
        chained(NewEvent(TS, "round.started"), wrong)


class Stack(msgspec.Struct, omit_defaults=True):
    seat: int
    cards: tuple[str, ...] = ()
    by: Side | None = None


class Deal(msgspec.Struct, omit_defaults=True):
    stacks: list[Stack]
    deck: str
    note: str = ""
    counts: dict[str, int] = {}


def test_a_struct_is_stored_as_the_object_it_stands_for() -> None:
    deal = Deal([Stack(2, ("A", "K")), Stack(1, by=Side.LEFT)], "rot – ♠", counts={"b": 1, "a": 2})
    plain = {
        "deck": "rot – ♠",
        "stacks": [{"seat": 2, "cards": ["A", "K"]}, {"seat": 1, "by": "left.turned"}],
        "counts": {"a": 2, "b": 1},
    }
    assert link([NewEvent(TS, "deal.made", (), deal)], START) == link([NewEvent(TS, "deal.made", (), plain)], START)
    assert chained(NewEvent(TS, "deal.made", (), deal))[0].data == plain
    with pytest.raises(BadEvent, match="surrogates"):
        chained(NewEvent(TS, "deal.made", (), Deal([], "\ud800")))
    with pytest.raises(BadEvent, match="bytes of data"):
        chained(NewEvent(TS, "deal.made", (), Deal([], "x" * LONGEST_DATA)))


class Sorted(dict[str, Any]):
    """An object that is not quite a dict."""


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": LARGEST_NUMBER + 1, "s": ["a", ("b", 1)]},
        {"n": 1.0, "s": ["a", ("b", 1)]},
        {"n": 1, "s": ["a", ("b", -LARGEST_NUMBER - 1)]},
        {"n": 1, "s": ["a", ("b", 1.0)]},
        {"n": 1, "s": ["a", {"b"}]},
        {"n": 1, "s": Sorted(a=0.5)},
        Sorted(n=0.5),
    ],
)
def test_a_shape_that_was_found_good_lets_no_flaw_through(wrong: dict[str, Any]) -> None:
    chained(NewEvent(TS, "round.started", [], {"n": 1, "s": ["a", ("b", 1)]}))
    chained(NewEvent(TS, "round.started", [], {"n": 1, "s": Sorted(a=1)}), NewEvent(TS, "a.b", [], Sorted(n=1)))
    with pytest.raises(BadEvent):
        chained(NewEvent(TS, "round.started", [], wrong))


# --- changes ----------------------------------------------------------------------------------------------------------


@given(st.data())
def test_every_change_of_a_value_is_found(data: st.DataObject) -> None:
    events = chained(*data.draw(st.lists(new_events, min_size=1, max_size=4)))
    at = data.draw(st.integers(0, len(events) - 1))
    changes: dict[str, st.SearchStrategy[Any]] = {
        "ts": st.just(TS),
        "kind": st.sampled_from(["round.started", "round.voided"]),
        "clause": st.lists(st.text(max_size=3), max_size=2).map(tuple),
        "data": st.dictionaries(names, values, max_size=2),
        "prev": st.just("f" * 64),
        "hash": st.just("0" * 64),
    }
    name = data.draw(st.sampled_from(sorted(changes)))
    value = data.draw(changes[name])
    changed = msgspec.structs.replace(events[at], **{name: value})
    if line(changed) == line(events[at]):
        return
    events[at] = changed
    assert broken(events).seq == at + 1


@pytest.mark.parametrize(
    ("change", "seq", "word"),
    [
        (lambda events: events.pop(0), 1, "missing; the next event is 2"),
        (lambda events: events.pop(2), 3, "missing; the next event is 4"),
        (lambda events: events.insert(2, events[1]), 3, "event 2 is in its place"),
        (lambda events: events.insert(3, events.pop(1)), 2, "missing; the next event is 3"),
        (lambda events: events.insert(1, some(9)[8]), 2, "missing; the next event is 9"),
    ],
)
def test_events_out_of_place(change: Callable[[list[StoredEvent]], object], seq: int, word: str) -> None:
    events = some(5)
    change(events)
    damage = broken(events)
    assert damage.seq == seq
    assert word in str(damage)


def test_a_forged_event_with_a_right_hash_of_its_own_breaks_the_next() -> None:
    events = some(3)
    forged = link([NewEvent(TS, "round.voided")], Checkpoint(1, events[0].hash))[0]
    events[1] = StoredEvent(2, TS, "round.voided", (), {}, events[0].hash, forged.hash.hex())
    damage = broken(events)
    assert (damage.seq, damage.reason) == (3, "its prev is not the hash of the previous event")


def test_a_form_that_was_never_written_is_found_even_with_a_fitting_hash() -> None:
    odd = StoredEvent(1, "yesterday", "round.started", (), {}, START.hash, "")
    odd = msgspec.structs.replace(odd, hash=digest(odd))
    assert "malformed" in broken([odd]).reason


def test_the_chain_from_a_place_within() -> None:
    events = some(5)
    place = Checkpoint(2, events[1].hash)
    assert list(check(events[2:], place)) == events[2:]
    assert broken(events[2:], Checkpoint(2, "1" * 64)).seq == 3
    assert broken(events[3:], place).seq == 3


def test_a_cut_off_end_cannot_be_seen_from_inside() -> None:
    """That is why the head is handed out."""
    assert list(check(some(5)[:3])) == some(3)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b'":1,', b'": 1,', 1),
        lambda text: text.replace(b'{"seq":1', b'{"seq":1,"seq":1', 1),
        lambda text: text.replace(b"round.started", b"round.\\u0073tarted"),
        lambda text: text + b"\r",
        lambda text: text[:-1] + b',"more":1}',
    ],
)
def test_a_line_that_reads_the_same_but_is_written_otherwise(change: Callable[[bytes], bytes]) -> None:
    text = line(some(1)[0])
    assert from_line(text, 1).seq == 1
    with pytest.raises(JournalDamaged, match="line 7"):
        from_line(change(text), 7)
    for junk in (b"", b"[]", b"{}", b"\xff", text[:-9], b"[" * 10_000):
        with pytest.raises(JournalDamaged, match="line 7 is not an event"):
            from_line(junk, 7)

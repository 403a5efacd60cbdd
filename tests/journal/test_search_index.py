"""The index for searches: it finds the same as a search without it, and does no harm where it is wrong."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.journal import Journal, JournalReader, JournalReadTooLong, NewEvent, SearchIndex, search_index
from controller.journal.search import Wanted, select
from controller.journal.search_index import index_path

KINDS = ("round.started", "stack.taken", "deck.inspected", "deck.loaded", "access.denied")
EVENTS = 400


def event(number: int) -> NewEvent:
    data: dict[str, Any] = {"round": number // 20, "deck": f"Red-{number % 3}"}
    if number % 4 == 0:
        data["who"] = ("Flo", "DANA")[number % 8 == 0]
    if number % 7 == 0:
        data |= {"device": "shoe", "origin": "screen"}
    return NewEvent(f"2026-01-31T20:{number // 60:02}:{number % 60:02}.000000Z", KINDS[number % 5], (), data)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.db", create=True) as found:
        found.append([event(number) for number in range(EVENTS)])
        yield found


PARTS: tuple[tuple[dict[str, Any], ...], ...] = (
    ({}, {"kind": "deck.loaded"}, {"kind": "deck"}, {"kind": "deck."}, {"kind": "shoe"}),
    ({}, {"having": [("who", "flo")]}, {"having": [("deck", "red-1"), ("device", "SHOE")]}, {"text": ["screen"]}),
    (
        {},
        {"within": ("round", 19)},
        {"within": ("round", 77)},
        {"since": "2026-01-31T20:02:00.000000Z", "until": "2026-01-31T20:06:10.000000Z"},
        {"after": 50, "before": 350},
    ),
    ({"limit": 7}, {"limit": 7, "newest": True}, {"limit": 500}),
)
SEARCHES = [{key: value for part in parts for key, value in part.items()} for parts in itertools.product(*PARTS)]


@pytest.mark.parametrize("pieces", [0, 3, 99])
def test_a_search_finds_the_same_with_the_whole_index_with_part_of_it_and_without(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    monkeypatch.setattr(search_index, "PIECE", 100)
    left = pieces
    journal_size = journal.head.seq

    def over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    SearchIndex(journal.path).catch_up(over)
    with JournalReader(journal.path) as plain, JournalReader(journal.path) as indexed:
        indexed.use_index(index_path(journal.path))
        assert indexed._indexed() == min(100 * pieces, journal_size)
        for search in SEARCHES:
            assert indexed.search(**search) == plain.search(**search), search


def test_what_is_new_is_added_and_what_is_not_in_the_index_yet_is_found(journal: Journal) -> None:
    index = SearchIndex(journal.path)
    index.catch_up(lambda: False)
    journal.append([event(number) for number in range(EVENTS, EVENTS + 20)])
    with JournalReader(journal.path) as reader:
        reader.use_index(index_path(journal.path))
        assert reader._indexed() == EVENTS
        assert len(reader.search(within=("round", EVENTS // 20))) == 20
        index.catch_up(lambda: False)
        assert reader._indexed() == EVENTS + 20
        assert len(reader.search(within=("round", EVENTS // 20))) == 20


@pytest.mark.parametrize("damage", ["garbage", "another journal", "no table"])
def test_a_wrong_index_is_not_used_and_replaced(journal: Journal, tmp_path: Path, damage: str) -> None:
    index, path = SearchIndex(journal.path), index_path(journal.path)
    index.catch_up(lambda: False)
    if damage == "garbage":
        path.write_bytes(b"not a database, but long enough to be one " * 100)
    else:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as hand:
            hand.execute("UPDATE known SET hash = x'00'" if damage == "another journal" else "DROP TABLE fields")
    with JournalReader(journal.path) as reader:
        reader.use_index(path)
        assert len(reader.search(having=[("who", "Flo")], limit=500)) == EVENTS // 8
    journal.append([event(EVENTS)])
    for _ in range(2):  # the first notices it, the second begins a new one
        index.catch_up(lambda: False)
    with JournalReader(journal.path) as reader:
        reader.use_index(path)
        assert reader._indexed() == EVENTS + 1


def test_a_folder_that_cannot_be_written_only_makes_searches_slower(journal: Journal) -> None:
    index_path(journal.path).mkdir()
    SearchIndex(journal.path).catch_up(lambda: False)
    with JournalReader(journal.path) as reader:
        reader.use_index(index_path(journal.path))
        assert len(reader.search(having=[("who", "Flo")], limit=500)) == EVENTS // 8


def test_the_index_leaves_the_journal_as_it_is(journal: Journal) -> None:
    SearchIndex(journal.path).catch_up(lambda: False)
    with JournalReader(journal.path) as reader:
        assert reader.verify().seq == EVENTS


def test_a_search_uses_the_index_and_does_not_read_every_event(journal: Journal) -> None:
    SearchIndex(journal.path).catch_up(lambda: False)
    with JournalReader(journal.path) as reader:
        reader.use_index(index_path(journal.path))
        for wanted in (
            Wanted("deck.loaded", (), "", "", ()),
            Wanted("deck", (), "", "", (("x", ("deck.loaded",)),)),
            Wanted("", (("who", "Flo"),), "", "", ()),
            Wanted("", (("round", 7),), "", "", ()),
        ):
            statement, values = select(wanted, 0, None, 100, True, True)
            rows = reader._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            plan = " ".join(row[3].decode() for row in rows)
            assert plan.startswith("SEARCH f USING"), plan
            assert "INDEX by_" in plan, plan
            assert "TEMP B-TREE" not in plan, plan


def test_reading_ends_when_its_time_is_over(journal: Journal) -> None:
    with JournalReader(journal.path) as reader:
        looks = 0

        def over() -> bool:
            nonlocal looks
            looks += 1
            return looks > 1

        reader.end_when(over)
        forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        with pytest.raises(JournalReadTooLong, match="took too long"):
            reader._read(forever)
        with pytest.raises(JournalReadTooLong):
            reader.search(kind="deck")

"""A journal written by version 0.1 still verifies, replays to the same state, and exports to the same bytes.

`version_0_1/` was written by that version and is never regenerated: a shift with mishaps as a journal file, its two
exports and its final state; ten short stories with the state each ends in; and one event of every kind for every set
of fields that version 0.1 wrote.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.core.apply import fold
from controller.core.state import Event, State
from controller.journal import JournalReader
from controller.journal.export import csv_lines, json_lines, span, verify_lines

FOLDER = Path(__file__).parent / "version_0_1"
STORIES = sorted(path.name.removesuffix(".jsonl.gz") for path in (FOLDER / "stories").glob("*.jsonl.gz"))


def unpacked(name: str) -> bytes:
    return gzip.decompress((FOLDER / name).read_bytes())


def plain(state: State) -> Any:
    return json.loads(msgspec.json.encode(state))


def as_events(lines: bytes) -> list[Event]:
    found = [json.loads(line) for line in lines.splitlines()]
    return [Event(e["seq"], e["kind"], tuple(e["clause"]), e["data"]) for e in found if "kind" in e]


@pytest.fixture
def journal(tmp_path: Path) -> JournalReader:
    path = tmp_path / "journal.db"
    path.write_bytes(unpacked("journal.db.gz"))
    return JournalReader(path)


def test_the_journal_verifies_and_exports_to_the_same_bytes(journal: JournalReader) -> None:
    with journal:
        head = journal.verify()
        part = span(journal)
        assert (part.last, part.head) == (head.seq, head.hash)
        assert b"".join(json_lines(journal, part, proof=True)) == unpacked("export.jsonl.gz")
        assert b"".join(csv_lines(journal, part)) == unpacked("export.csv.gz")


def test_its_export_verifies_without_the_journal() -> None:
    lines = unpacked("export.jsonl.gz").splitlines(keepends=True)
    assert verify_lines(lines).count == len(lines) - 1


def test_it_replays_to_the_same_state(journal: JournalReader) -> None:
    with journal:
        events = [Event(e.seq, e.kind, e.clause, e.data) for e in journal.events(0, journal.head.seq)]
    assert plain(fold(events)) == json.loads((FOLDER / "state.json").read_bytes())


@pytest.mark.parametrize("story", STORIES)
def test_a_story_replays_to_the_same_state(story: str) -> None:
    expected = json.loads(unpacked("stories/states.json.gz"))[story]
    assert plain(fold(as_events(unpacked(f"stories/{story}.jsonl.gz")))) == expected

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

from controller.api.event_text import event_text
from controller.core.apply import fold
from controller.core.events import KINDS, UnreadableEvent, read
from controller.core.events.event import Entry
from controller.core.state import Given, State
from controller.daemon.live_table import restore
from controller.journal import Journal, JournalForeign, JournalReader, MemoryJournal, NewEvent
from controller.journal.export import csv_lines, json_lines, span, verify_lines
from tests.support.shoectl import complaint, shoectl

FOLDER = Path(__file__).parent / "version_0_1"
STORIES = sorted(path.name.removesuffix(".jsonl.gz") for path in (FOLDER / "stories").glob("*.jsonl.gz"))


def unpacked(name: str) -> bytes:
    return gzip.decompress((FOLDER / name).read_bytes())


def plain(state: State) -> Any:
    """As version 0.1 wrote it: a command was kept by its name and arguments."""
    found = json.loads(msgspec.json.encode(state))
    del found["last_count"]  # it was not kept then
    for name, device in state.devices.items():
        for field in ("doing", "at_exit", "late"):
            found["devices"][name][field] = command(getattr(device, field))
        found["devices"][name]["beside"] = [command(given) for given in device.beside]
    return found


def command(given: Given | None) -> Any:
    if given is None:
        return None
    fields = json.loads(msgspec.json.encode(given))
    del fields["command"]
    arguments = json.loads(msgspec.json.encode(msgspec.structs.asdict(given.command)))
    identity = {"id": arguments.pop("id"), "boot": arguments.pop("boot"), "name": given.name}
    return fields | identity | {"args": arguments}


def as_events(lines: bytes) -> list[Entry]:
    found = [json.loads(line) for line in lines.splitlines()]
    return [read(e["seq"], e["kind"], e["clause"], e["data"]) for e in found if "kind" in e]


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
        events = [read(e.seq, e.kind, e.clause, e.data) for e in journal.events(0, journal.head.seq)]
    assert plain(fold(events)) == json.loads((FOLDER / "state.json").read_bytes())


@pytest.mark.parametrize("story", STORIES)
def test_a_story_replays_to_the_same_state(story: str) -> None:
    expected = json.loads(unpacked("stories/states.json.gz"))[story]
    assert plain(fold(as_events(unpacked(f"stories/{story}.jsonl.gz")))) == expected


EVERY_KIND = [json.loads(line) for line in (FOLDER / "every_kind.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("stored", EVERY_KIND, ids=lambda stored: stored["kind"])
def test_every_kind_of_event_reads_and_is_stored_as_before(stored: dict[str, Any]) -> None:
    entry = read(1, stored["kind"], stored["clause"], stored["data"])
    canonical = json.dumps(stored["data"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert msgspec.json.encode(entry.event, order="sorted").decode() == canonical
    text = event_text(entry.event)
    assert text[0].isupper()
    assert text.endswith(".")
    assert "None" not in text


def test_every_kind_is_in_the_fixture() -> None:
    assert {stored["kind"] for stored in EVERY_KIND} <= set(KINDS)


def test_an_event_of_another_version_is_refused_by_name() -> None:
    with pytest.raises(UnreadableEvent, match=r"event 7 has the unknown kind shoe.polished"):
        read(7, "shoe.polished", (), {})
    with pytest.raises(UnreadableEvent, match=r"event 8 \(device.lost\): .*`detail`"):
        read(8, "device.lost", (), {"device": "shoe"})


def test_a_table_does_not_start_from_a_journal_of_another_version() -> None:
    journal = MemoryJournal()
    journal.append([NewEvent("2026-01-31T23:59:59.000000Z", "shoe.polished")])
    with pytest.raises(JournalForeign, match=r"event 1 has the unknown kind shoe.polished; .* install that version"):
        restore(journal)


def test_shoectl_names_an_event_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path, create=True) as journal:
        journal.append([NewEvent("2026-01-31T23:59:59.000000Z", "shoe.polished")])
    assert "event 1 has the unknown kind shoe.polished" in complaint(shoectl("round", "1", "--journal", str(path)))

"""A journal written by version 0.1 still verifies, replays to the same state, and exports to the same bytes.

`version_0_1/` was written by that version and is never regenerated: a shift with mishaps as a journal file, its two
exports and its final state; ten short stories with the state each ends in; and one event of every kind for every set
of fields that version 0.1 wrote.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.api.event_text import event_text, stored_text
from controller.core.apply import fold
from controller.core.events import KINDS, UnreadableEvent, read
from controller.core.events.event import Entry
from controller.core.events.rounds import PlannedStack
from controller.core.setup import Setup
from controller.core.state import Deck, Device, Given, Host, Round, State, Warned
from controller.daemon.live_table import restore
from controller.games.game import Deal, Game
from controller.journal import Journal, JournalForeign, JournalReader, MemoryJournal, NewEvent
from controller.journal.export import csv_lines, json_lines, span, verify_lines
from tests.support.shoectl import complaint, shoectl

FOLDER = Path(__file__).parent / "version_0_1"
STORIES = sorted(path.name.removesuffix(".jsonl.gz") for path in (FOLDER / "stories").glob("*.jsonl.gz"))

STATE_FIELDS = {
    field.name
    for kind in (State, Deck, Device, Given, Host, Round, PlannedStack, Setup, Game, Deal, Warned)
    for field in msgspec.structs.fields(kind)
}


def unpacked(name: str) -> bytes:
    return gzip.decompress((FOLDER / name).read_bytes())


def plain(state: State) -> Any:
    """As version 0.1 wrote it: a command was kept by its name and arguments."""
    found = json.loads(msgspec.json.encode(state))
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


def as_then(found: Any, then: Any) -> Any:
    """Without the fields of the state that version 0.1 did not have."""
    if isinstance(found, dict) and isinstance(then, dict):
        kept = found.keys() - (STATE_FIELDS - then.keys())
        return {name: as_then(found[name], then.get(name)) for name in kept}
    if isinstance(found, list) and isinstance(then, list) and len(found) == len(then):
        return [as_then(*pair) for pair in zip(found, then, strict=True)]
    return found


def as_events(lines: bytes) -> list[Entry]:
    found = [json.loads(line) for line in lines.splitlines()]
    return [read(e["seq"], e["kind"], e["clause"], e["data"]) for e in found if "kind" in e]


@pytest.fixture
def journal(tmp_path: Path) -> JournalReader:
    path = tmp_path / "journal.db"
    path.write_bytes(unpacked("journal.db.gz"))
    return JournalReader(path)


def table_of(exported: bytes) -> list[dict[str, str]]:
    """The rows of a CSV export, by the names of their columns."""
    return list(csv.DictReader(io.StringIO(exported.decode("utf-8-sig"), newline="")))


def test_the_journal_verifies_and_exports_the_same(journal: JournalReader) -> None:
    """JSON Lines are the same bytes. CSV has more columns than in version 0.1; those it had are the same."""
    with journal:
        head = journal.verify()
        part = span(journal)
        assert (part.last, part.head) == (head.seq, head.hash)
        assert b"".join(json_lines(journal, part, proof=True)) == unpacked("export.jsonl.gz")
        rows = table_of(b"".join(csv_lines(journal, part, lambda event: stored_text(event.kind, event.data))))
        before = table_of(unpacked("export.csv.gz"))
        assert [{name: row[name] for name in before[0]} for row in rows] == before


def test_its_export_verifies_without_the_journal() -> None:
    lines = unpacked("export.jsonl.gz").splitlines(keepends=True)
    assert verify_lines(lines).count == len(lines) - 1


def test_it_replays_to_the_same_state(journal: JournalReader) -> None:
    with journal:
        events = [read(e.seq, e.kind, e.clause, e.data) for e in journal.events(0, journal.head.seq)]
    expected = json.loads((FOLDER / "state.json").read_bytes())
    assert as_then(plain(fold(events)), expected) == expected


@pytest.mark.parametrize("story", STORIES)
def test_a_story_replays_to_the_same_state(story: str) -> None:
    expected = json.loads(unpacked("stories/states.json.gz"))[story]
    assert as_then(plain(fold(as_events(unpacked(f"stories/{story}.jsonl.gz")))), expected) == expected


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


def test_every_kind_of_version_0_1_is_still_known() -> None:
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

"""Exports a journal, or a part of it: as JSON Lines for programs and as a proof, as CSV for a spreadsheet.

A proof is JSON Lines after a header with the hash before the first event and the hash of the last. Anybody can check
it without the journal, and compare the head with the one that was handed out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import msgspec

from controller.journal.chain import LONGEST_DATA, canonical_json, check, from_line, line, verify
from controller.journal.errors import JournalDamaged, JournalError
from controller.journal.reader import JournalReader
from controller.journal.records import START, Checkpoint, StoredEvent

FORMAT = "dragonshoe-journal"
VERSION = 1
LONGEST_LINE = LONGEST_DATA + 4096  # bytes; a longer one is not an event
CSV_COLUMNS = ("seq", "date", "time", "text", "round", "deck", "device", "person", "origin", "clause", "kind", "ts",
               "data", "prev", "hash")  # fmt: skip
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # without it a spreadsheet may take UTF-8 for another encoding
# What makes a spreadsheet treat a cell as a formula, also in full width.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class Span(msgspec.Struct, frozen=True):
    """A part of a journal: its first and last event, the hash before the first, and the hash of the last."""

    first: int
    last: int
    prev: str
    head: str

    @property
    def count(self) -> int:
        """The number of events."""
        return self.last - self.first + 1


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The header of a proof."""

    format: str
    version: int
    first: int
    last: int
    prev: str
    head: str


class NoSuchEvents(JournalError):
    """The events to be exported are not in the journal."""


# --- writing --------------------------------------------------------------------------------------------------------


def span(journal: JournalReader, first: int | None = None, last: int | None = None) -> Span:
    """The events between these two numbers that the journal has now. For an empty journal, 1 to 0."""
    head = journal.head
    first, last = first or 1, min(last or head.seq, head.seq)
    if head == START and first == 1:
        return Span(1, 0, START.hash, START.hash)
    if first > last:
        raise NoSuchEvents(f"{journal.path}: no events in this range; the journal ends at event {head.seq}")
    begin, end = journal.event(first), journal.event(last)
    if begin is None or end is None:
        raise JournalDamaged(first if begin is None else last, "it is missing")
    return Span(first, last, begin.prev, end.hash)


def json_lines(journal: JournalReader, part: Span, *, proof: bool) -> Iterator[bytes]:
    """The events as JSON Lines. A proof is checked as it is written: JournalDamaged where the chain is broken."""
    events = journal.events(part.first - 1, part.last)
    if proof:
        yield msgspec.json.encode(Proof(FORMAT, VERSION, part.first, part.last, part.prev, part.head)) + b"\n"
        events = check(events, Checkpoint(part.first - 1, part.prev))
    for event in events:
        yield line(event) + b"\n"


def csv_lines(
    journal: JournalReader,
    part: Span,
    text: Callable[[StoredEvent], str],
    round_of: Callable[[StoredEvent], int] = lambda event: 0,
) -> Iterator[bytes]:
    """The events as CSV, after a line with the names of the columns.

    `text` gives an event's sentence, and `round_of` the round that it belongs to, 0 if none. Date and time are UTC, to
    the millisecond.
    """
    yield BYTE_ORDER_MARK + _csv(CSV_COLUMNS)
    for event in journal.events(part.first - 1, part.last):
        number = round_of(event)  # for every event, since it may count on that
        cells: dict[str, object] = msgspec.structs.asdict(event)
        cells |= {
            "date": event.ts[:10],
            "time": event.ts[11:23],
            "text": text(event),
            "round": event.data.get("round") or number or "",
            "deck": event.data.get("deck") or event.data.get("of_deck") or "",
            "device": event.data.get("device") or event.data.get("by_device") or "",
            "person": event.data.get("who") or "",
            "origin": event.data.get("origin") or "",
            "clause": " ".join(event.clause),
            "data": canonical_json(event.data).decode(),
        }
        yield _csv(str(cells[name]) for name in CSV_COLUMNS)


def _csv(cells: Iterable[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow([_harmless(cell) for cell in cells])
    return text.getvalue().encode()


def _harmless(cell: str) -> str:
    """Quote a cell that a spreadsheet would run as a formula."""
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) else cell


# --- verifying ------------------------------------------------------------------------------------------------------


def verify_lines(lines: Iterable[bytes], on_event: Callable[[StoredEvent], None] | None = None) -> Span:
    """Check exported JSON Lines, with or without a header. JournalDamaged names what is wrong first."""
    numbered = enumerate(lines, 1)
    number, first_line = next(numbered, (0, b""))
    if not number:
        raise JournalDamaged(None, "the file is empty")
    proof = _header(first_line)
    if proof is None:
        first = from_line(first_line, number)
        since = START if first.seq == 1 else Checkpoint(first.seq - 1, first.prev)
        events: Iterable[StoredEvent] = chain([first], (from_line(text, number) for number, text in numbered))
    else:
        since = START if proof.first == 1 else Checkpoint(proof.first - 1, proof.prev)
        if proof.prev != since.hash:
            raise JournalDamaged(None, "the header names a hash before event 1, which has no event before it")
        events = (from_line(text, number) for number, text in numbered)
    end = verify(events, since, on_event)
    if proof is not None and end.seq != proof.last:
        raise JournalDamaged(end.seq + 1, f"the file ends before it; its header ends with event {proof.last}")
    if proof is not None and end.hash != proof.head:
        raise JournalDamaged(end.seq, "its hash is not the head in the header")
    return Span(since.seq + 1, end.seq, since.hash, end.hash)


def _header(text: bytes) -> Proof | None:
    """The header in this line; None if it is not one."""
    try:
        proof = msgspec.json.decode(text, type=Proof)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if (proof.format, proof.version) != (FORMAT, VERSION):
        raise JournalDamaged(None, f"the header has the unknown format {proof.format} {proof.version}")
    return proof

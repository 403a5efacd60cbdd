"""A journal, or a part of it, as a file: JSON Lines for programs and as a proof, CSV for a spreadsheet.

A proof is JSON Lines that begin with a header: between which two hashes the events lie. Anybody can check it without
the journal, and compare the head with the one that was handed out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator

import msgspec

from controller.journal.chain import LONGEST_DATA, canonical_json, check, from_line, line
from controller.journal.errors import JournalDamaged, JournalError
from controller.journal.reader import JournalReader
from controller.journal.records import START, Checkpoint, Event

FORMAT = "dragonshoe-journal"
VERSION = 1
LONGEST_LINE = LONGEST_DATA + 4096  # bytes; a longer one is no event
CSV_COLUMNS = ("seq", "ts", "kind", "clause", "data", "prev", "hash")


class Span(msgspec.Struct, frozen=True):
    """A part of a journal: its first and last event, the hash before the first, and the hash of the last."""

    first: int
    last: int
    prev: str
    head: str

    @property
    def count(self) -> int:
        """How many events."""
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
    """What shall be exported is not in the journal."""


# --- out ------------------------------------------------------------------------------------------------------------


def span(journal: JournalReader, first: int | None = None, last: int | None = None) -> Span:
    """The events that are there now between these two numbers. Of an empty journal, 1 to 0."""
    head = journal.head
    first, last = first or 1, min(last or head.seq, head.seq)
    if head == START and first == 1:
        return Span(1, 0, START.hash, START.hash)
    if first > last:
        raise NoSuchEvents(f"{journal.path}: no events there; the journal ends at event {head.seq}")
    begins, ends = journal.event(first), journal.event(last)
    if begins is None or ends is None:
        raise JournalDamaged(first if begins is None else last, "it is missing")
    return Span(first, last, begins.prev, ends.hash)


def json_lines(journal: JournalReader, part: Span, *, proof: bool) -> Iterator[bytes]:
    """The lines. A proof is checked as it is written: JournalDamaged where the chain is broken."""
    events = journal.events(part.first - 1, part.last)
    if proof:
        yield msgspec.json.encode(Proof(FORMAT, VERSION, part.first, part.last, part.prev, part.head)) + b"\n"
        events = check(events, Checkpoint(part.first - 1, part.prev))
    for event in events:
        yield line(event) + b"\n"


def csv_lines(journal: JournalReader, part: Span) -> Iterator[bytes]:
    """The same for a spreadsheet."""
    yield _csv(CSV_COLUMNS)
    for event in journal.events(part.first - 1, part.last):
        clause, data = " ".join(event.clause), canonical_json(event.data).decode()
        yield _csv((str(event.seq), event.ts, event.kind, clause, data, event.prev, event.hash))


def _csv(cells: Iterable[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow([_harmless(cell) for cell in cells])
    return text.getvalue().encode()


def _harmless(cell: str) -> str:
    """A spreadsheet takes a cell that begins like this for a formula, and would run it."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


# --- and back -------------------------------------------------------------------------------------------------------


def verify_lines(lines: Iterable[bytes], on_event: Callable[[Event], None] | None = None) -> Span:
    """Check exported JSON Lines, with or without a header. JournalDamaged names what is wrong first."""
    numbered = enumerate(lines, 1)
    number, first_line = next(numbered, (0, b""))
    if not number:
        raise JournalDamaged(None, "the file is empty")
    proof = _header(first_line)
    if proof is None:
        first = from_line(first_line, number)
        since = START if first.seq == 1 else Checkpoint(first.seq - 1, first.prev)
        events = _with(first, (from_line(text, number) for number, text in numbered))
    else:
        since = START if proof.first == 1 else Checkpoint(proof.first - 1, proof.prev)
        if proof.prev != since.hash:
            raise JournalDamaged(None, "the header names a hash before the first event, where there is none")
        events = (from_line(text, number) for number, text in numbered)
    end = since
    for event in check(events, since):
        end = Checkpoint(event.seq, event.hash)
        if on_event is not None:
            on_event(event)
    if proof is not None and end.seq != proof.last:
        raise JournalDamaged(end.seq + 1, f"the file ends before it; by its header, it goes to event {proof.last}")
    if proof is not None and end.hash != proof.head:
        raise JournalDamaged(end.seq, "its hash is not the head that the header names")
    return Span(since.seq + 1, end.seq, since.hash, end.hash)


def _header(text: bytes) -> Proof | None:
    """The header in this line; None if it is none."""
    try:
        proof = msgspec.json.decode(text, type=Proof)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if (proof.format, proof.version) != (FORMAT, VERSION):
        raise JournalDamaged(None, f"the header names the format {proof.format} {proof.version}, which is not known")
    return proof


def _with(first: Event, rest: Iterable[Event]) -> Iterator[Event]:
    yield first
    yield from rest

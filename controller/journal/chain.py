"""The chain of hashes over the events of a journal. Pure: no disk, no clock.

An event's hash is the SHA-256 of the previous event's hash (64 hexadecimal characters) followed by the event's
canonical bytes. The canonical bytes are the JSON of clause, data, kind, seq and ts in the form of RFC 8785, so that an
auditor can compute them in any language; docs/journal.md explains it with an example.
"""

# mypyc
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from controller.journal.errors import BadEvent, JournalDamaged
from controller.journal.records import START, Checkpoint, EventRow, NewEvent, StoredEvent

LONGEST_DATA: Final = 1 << 16  # bytes of JSON
DEEPEST_DATA: Final = 16  # levels of nested objects and lists
LARGEST_NUMBER: Final = 2**53 - 1  # the largest that every JSON reader reads without rounding

_TS: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII
)
_KIND: Final = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}")
_encode: Final = msgspec.json.Encoder(order="sorted").encode
_encode_line: Final = msgspec.json.Encoder(order="deterministic").encode  # the fields in the order of StoredEvent
_decode_line: Final = msgspec.json.Decoder(StoredEvent).decode
_decode_clause: Final = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_data: Final = msgspec.json.Decoder(dict[str, Any]).decode


# --- bytes and hashes -----------------------------------------------------------------------------------------------


def canonical(event: StoredEvent) -> bytes:
    """The bytes that are hashed, after the previous hash."""
    return _canonical(event.seq, event.ts, event.kind, _encode(event.clause), _encode(event.data))


def _canonical(seq: int, ts: str, kind: str, clause: bytes, data: bytes) -> bytes:
    # In the order of RFC 8785. A valid ts or kind has no characters that JSON escapes.
    return b'{"clause":%b,"data":%b,"kind":"%b","seq":%d,"ts":"%b"}' % (clause, data, kind.encode(), seq, ts.encode())


def digest(event: StoredEvent) -> str:
    """The hash that this event must have."""
    return sha256(event.prev.encode() + canonical(event)).hexdigest()


def canonical_json(data: dict[str, Any]) -> bytes:
    """An event's data as it is hashed and stored."""
    return _encode(data)


def line(event: StoredEvent) -> bytes:
    """The event as a line of JSON without a line end, as it is exported, printed and sent."""
    return _encode_line(event)


# --- new events -----------------------------------------------------------------------------------------------------


def link(new: Iterable[NewEvent], after: Checkpoint) -> list[EventRow]:
    """Number and hash new events, to follow this one. BadEvent if one of them is not valid."""
    rows = []
    seq, prev = after.seq, bytes.fromhex(after.hash)
    for event in new:
        seq += 1
        _check_new(event)
        try:
            clause, data = _encode(event.clause), _encode(event.data)
        except (TypeError, ValueError) as error:
            raise BadEvent(f"{event.kind}: {error}") from None
        if len(data) > LONGEST_DATA:
            raise BadEvent(f"{event.kind}: {len(data):,} bytes of data; the maximum is {LONGEST_DATA:,}")
        content = _canonical(seq, event.ts, event.kind, clause, data)
        hashed = sha256(prev.hex().encode() + content).digest()
        rows.append(EventRow(seq, event.ts, event.kind, prev, hashed, clause.decode(), data.decode()))
        prev = hashed
    return rows


def _check_new(event: NewEvent) -> None:
    kind, data = event.kind, event.data
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise BadEvent(f"kind {kind!r} must be noun.verb in lower case")
    if not isinstance(event.ts, str) or not _TS.fullmatch(event.ts):
        raise BadEvent(f"{kind}: ts {event.ts!r} must be UTC in the form 2026-01-31T23:59:59.000000Z")
    if not isinstance(event.clause, (list, tuple)) or not all(isinstance(name, str) and name for name in event.clause):
        raise BadEvent(f"{kind}: clause {event.clause!r} must be a list of clause names")
    if isinstance(data, dict):
        if flaw := _flaw(data, DEEPEST_DATA):
            raise BadEvent(f"{kind}: {flaw}")
    elif not isinstance(data, msgspec.Struct):
        raise BadEvent(f"{kind}: data must be an object")


def _flaw(value: object, depth: int) -> str:
    """What in a value two languages could write differently: fractions, huge numbers, names that are not ASCII."""
    if value is None or isinstance(value, str):
        return ""
    if isinstance(value, int):
        within = -LARGEST_NUMBER <= value <= LARGEST_NUMBER
        return "" if within else f"{value} is too large a number; write it as text"
    if isinstance(value, float):
        return f"{value} is a fraction, which languages write differently; use a whole number of a smaller unit"
    if not isinstance(value, (dict, list, tuple)):
        return f"{type(value).__name__} is not a JSON type"
    if depth == 0:
        return "nested too deeply"
    if not isinstance(value, dict):
        return next(filter(None, (_flaw(inner, depth - 1) for inner in value)), "")
    for name, inner in value.items():
        if not isinstance(name, str) or not name.isascii():
            return f"the name {name!r} must be ASCII text"
        if flaw := _flaw(inner, depth - 1):
            return f"{name}: {flaw}"
    return ""


# --- stored events --------------------------------------------------------------------------------------------------


def from_row(row: Sequence[Any]) -> StoredEvent:
    """A row as it is read from the database, where text is bytes. JournalDamaged if link() cannot have made it."""
    seq, *values = row
    for name, value in zip(EventRow._fields[1:], values, strict=True):
        if not isinstance(value, bytes):
            raise JournalDamaged(seq, f"its {name} is unreadable")
    ts, kind, prev, hashed, clause, data = values
    if len(prev) != 32 or len(hashed) != 32:
        raise JournalDamaged(seq, "its hashes are unreadable")
    try:
        event = StoredEvent(
            seq, ts.decode(), kind.decode(), _decode_clause(clause), _decode_data(data), prev.hex(), hashed.hex()
        )
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise JournalDamaged(seq, f"it is unreadable ({error})") from None
    if _encode(event.clause) != clause or _encode(event.data) != data:
        raise JournalDamaged(seq, "its JSON is not in canonical form")
    return event


def from_line(text: bytes, number: int) -> StoredEvent:
    """The event in a line of an export. JournalDamaged, naming the line, if line() cannot have made it."""
    try:
        event = _decode_line(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JournalDamaged(None, f"line {number} is not an event ({error})") from None
    if line(event) != text.removesuffix(b"\n"):
        raise JournalDamaged(event.seq, f"line {number} is not in canonical form")
    return event


def check(events: Iterable[StoredEvent], since: Checkpoint = START) -> Iterator[StoredEvent]:
    """Yield the events as long as each follows the one before. JournalDamaged names the first that does not."""
    seq, prev = since.seq, since.hash
    for event in events:
        seq += 1
        if event.seq < seq:
            raise JournalDamaged(seq, f"event {event.seq} is in its place")
        if event.seq > seq:
            raise JournalDamaged(seq, f"it is missing; the next event is {event.seq}")
        if not _TS.fullmatch(event.ts) or not _KIND.fullmatch(event.kind):
            raise JournalDamaged(seq, "its ts or kind is malformed")
        if event.prev != prev:
            raise JournalDamaged(seq, "its prev is not the hash of the previous event")
        check_hash(event)
        prev = event.hash
        yield event


def check_hash(event: StoredEvent) -> None:
    """JournalDamaged unless the event has the hash of its content."""
    if event.hash != digest(event):
        raise JournalDamaged(event.seq, "its content does not match its hash")


def check_known(since: Checkpoint, known: StoredEvent | None) -> None:
    """JournalDamaged unless the event found at a checkpoint is the one that was verified before."""
    if known is None:
        raise JournalDamaged(since.seq, "it was verified before and is now missing")
    if known.hash != since.hash or digest(known) != since.hash:
        raise JournalDamaged(since.seq, "it is not the event that was verified before")


def verify(
    events: Iterable[StoredEvent], since: Checkpoint, on_event: Callable[[StoredEvent], None] | None = None
) -> Checkpoint:
    """Check the events after a checkpoint that is known to be good, and return the last one's.

    JournalDamaged names the first bad event. `on_event` gets every good event.
    """
    end = since
    try:
        for event in check(events, since):
            end = Checkpoint(event.seq, event.hash)
            if on_event is not None:
                on_event(event)
    except JournalDamaged as damage:
        if damage.seq in (None, end.seq + 1):
            raise
        raise JournalDamaged(end.seq + 1, f"event {damage.seq} is in its place: {damage.reason}") from None
    return end

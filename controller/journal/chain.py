"""The events of a journal and the chain of hashes that holds them together. Pure: no disk, no clock.

The hash of an event is the SHA-256 of the hash before it (64 characters) followed by the event's canonical bytes. The
canonical bytes are the JSON of clause, data, kind, seq and ts as RFC 8785 has it, so that an auditor can compute
them in any language; docs/journal.md explains it with an example.
"""

# mypyc
from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec

from controller.journal.errors import BadEvent, JournalDamaged
from controller.journal.records import START, Checkpoint, Event

LONGEST_DATA: Final = 1 << 16  # bytes of JSON; an event is a sentence, not an archive
DEEPEST_DATA: Final = 16  # objects and lists within each other
LARGEST_NUMBER: Final = 2**53 - 1  # what every JSON reader takes in without rounding
_SMALLEST_NUMBER: Final = -LARGEST_NUMBER

_TS: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII
)
_KIND: Final = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}")
_SHA256: Final = sha256()
_hexlify: Final = hexlify
_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_decode_clause: Final = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_data: Final = msgspec.json.Decoder(dict[str, Any]).decode

Row = tuple[int, str, str, bytes, bytes, str, str]
"""An event as it is stored: seq, ts, kind, prev, hash, clause and data, these two as canonical JSON."""


@dataclass(init=False)
class NewEvent:
    """What happened, before it has its place in the journal."""

    ts: str
    kind: str
    clause: Sequence[str]
    data: dict[str, Any]

    def __init__(self, ts: str, kind: str, clause: Sequence[str] = (), data: dict[str, Any] | None = None) -> None:
        self.ts = ts
        self.kind = kind
        self.clause = clause
        self.data = data if data is not None else {}


# --- bytes and hashes -----------------------------------------------------------------------------------------------


def canonical(event: Event) -> bytes:
    """The bytes that the hash covers, after the hash before."""
    begin, middle = _around_data(event.kind, _encode(event.clause).decode())
    return f"{begin}{_encode(event.data).decode()}{middle}{event.seq}{_after_seq(event.ts)}".encode()


def digest(event: Event) -> str:
    """The hash that this event must have."""
    return sha256(event.prev.encode() + canonical(event)).hexdigest()


def canonical_json(data: dict[str, Any]) -> bytes:
    """An event's data as it is hashed and stored."""
    return _encode(data)


def line(event: Event) -> bytes:
    """The event as a line of JSON, without the line's end: as it is exported, printed and sent."""
    return _encode(event)


# The names stand in the order that RFC 8785 asks for. kind and ts hold nothing that JSON would escape.
def _around_data(kind: str, clause: str) -> tuple[str, str]:
    return f'{{"clause":{clause},"data":', f',"kind":"{kind}","seq":'


def _after_seq(ts: str) -> str:
    return f',"ts":"{ts}"}}'


# --- new events -----------------------------------------------------------------------------------------------------


def link(new: Iterable[NewEvent], after: Checkpoint) -> tuple[list[Event], list[Row]]:
    """Give new events their places after this one. BadEvent if one of them cannot be written."""
    rows = link_rows(new, after.seq, bytes.fromhex(after.hash))
    return [from_new(row) for row in rows], rows


def link_rows(new: Iterable[NewEvent], seq: int, prev: bytes) -> list[Row]:
    """The same, only as they are stored, after the event with this number and this hash."""
    rows = []
    good_ts = None
    for event in new:
        seq += 1
        clause, data = event.clause, event.data
        if type(clause) is not tuple:
            if not isinstance(clause, (list, tuple)):
                raise BadEvent(f"{event.kind}: clause {clause!r} must be a list of names")
            clause = tuple(clause)
        plain = type(data) is dict and _plain(data, DEEPEST_DATA)
        if not plain:
            _check_data(event.kind, data)
        try:
            if event.ts is not good_ts:
                ts = str.__str__(event.ts)  # of an Enum that is a str, its value
                end = _after_seq(ts).encode()
            heading = _HEADINGS.get((event.kind, clause))
            if heading is None:
                heading = _HEADINGS[event.kind, clause] = _heading(event.kind, clause)
            kind, clause_json, begin, middle = heading
            encoded = _encode(data)
            if plain and not encoded.isascii():
                _check_data(kind, data)  # a letter outside ASCII may stand in a text, and not in a name
        except (TypeError, UnicodeEncodeError) as error:
            raise BadEvent(
                f"kind {event.kind!r}, ts {event.ts!r}: kind, ts and clauses must be text ({error})"
            ) from None
        if event.ts is not good_ts:
            if not _good_ts(ts):
                raise BadEvent(f"{kind}: ts {ts!r} must be UTC as 2026-01-31T23:59:59.000000Z")
            good_ts = event.ts
        if len(encoded) > LONGEST_DATA:
            raise BadEvent(f"{kind}: {len(encoded):,} bytes of data; {LONGEST_DATA:,} is the most")
        hashing = _SHA256.copy()  # made from nothing it takes twice the time
        hashing.update(b"".join((_hexlify(prev), begin, encoded, middle, str(seq).encode(), end)))
        hashed = hashing.digest()
        rows.append((seq, ts, kind, prev, hashed, clause_json, encoded.decode()))
        prev = hashed
    return rows


def _check_data(kind: str, data: object) -> None:
    if not isinstance(data, dict):
        raise BadEvent(f"{kind}: data must be an object")
    if flaw := _flaw(data, DEEPEST_DATA):
        raise BadEvent(f"{kind}: {flaw}")


def from_new(row: Row) -> Event:
    """A row of link_rows as an event: the journal's own copy, equal to the one that is read back later."""
    seq, ts, kind, prev, hashed, clause, data = row
    return Event(seq, ts, kind, _decode_clause(clause), _decode_data(data), prev.hex(), hashed.hex())


def _good_ts(ts: str) -> bool:
    """Whether this is a moment as the journal writes it. Most moments lie in a minute that was looked at before."""
    minute = ts[:17]
    if minute not in _GOOD_MINUTES:
        if not _TS.fullmatch(minute + "00.000000Z"):
            return False
        if len(_GOOD_MINUTES) >= 16:
            _GOOD_MINUTES.clear()
        _GOOD_MINUTES.add(minute)
    return (
        len(ts) == 27
        and ts[17:19] in _SECONDS
        and ts[19] == "."
        and ts[26] == "Z"
        and ts.isascii()
        and ts[20:26].isdigit()
    )


_GOOD_MINUTES: Final[set[str]] = set()
_SECONDS: Final = frozenset(f"{second:02d}" for second in range(60))


def _heading(kind: str, clause: tuple[str, ...]) -> tuple[str, str, bytes, bytes]:
    """Kind and clause, found good: the kind as plain text, the clause as canonical JSON, and the canonical bytes
    before the data and between the data and seq.
    """
    kind = str.__str__(kind)
    if not _KIND.fullmatch(kind):
        raise BadEvent(f"kind {kind!r}: must be noun.verb in small letters")
    if not all(isinstance(name, str) and name for name in clause):
        raise BadEvent(f"{kind}: clause {clause!r} must be a list of names")
    clause_json = _encode(tuple(str.__str__(name) for name in clause)).decode()
    begin, middle = _around_data(kind, clause_json)
    if len(_HEADINGS) >= 1024:
        _HEADINGS.clear()
    return kind, clause_json, begin.encode(), middle.encode()


# A program has few kinds, each with the same few clauses, and the commit before has left the processor's caches cold.
_HEADINGS: Final[dict[tuple[str, tuple[str, ...]], tuple[str, str, bytes, bytes]]] = {}


def _plain(value: dict[Any, Any], depth: int) -> bool:
    """Whether an object is certainly without a flaw, but for the letters in its names. Nearly all are."""
    if depth == 0:
        return False
    for name, part in value.items():
        if type(name) is not str:
            return False
        kind = type(part)
        if kind is str or kind is bool or part is None:
            continue
        if not _plain_value(part, depth):
            return False
    return True


def _plain_value(value: Any, depth: int) -> bool:
    kind = type(value)
    if isinstance(value, int):
        return (kind is int or kind is bool) and _SMALLEST_NUMBER <= value <= LARGEST_NUMBER
    if kind is dict:
        return _plain(value, depth - 1)
    if (kind is not list and kind is not tuple) or depth == 1:
        return kind is str or value is None
    for part in value:  # noqa: SIM110 - all() would make a generator for each of them
        if not _plain_value(part, depth - 1):
            return False
    return True


def _flaw(value: object, depth: int) -> str:
    """What in a value not every language would write the same way: fractions, huge numbers, names not in ASCII."""
    if isinstance(value, dict):
        if depth == 0:
            return "nested too deeply"
        for name, inner in value.items():
            if not isinstance(name, str) or not name.isascii():
                return f"the name {name!r} must be text in ASCII"
            if flaw := _flaw(inner, depth - 1):
                return f"{name}: {flaw}"
        return ""
    if isinstance(value, int):
        within = _SMALLEST_NUMBER <= value <= LARGEST_NUMBER
        return "" if within else f"{value} is too large a number; write it as text"
    if value is None or isinstance(value, str):
        return ""
    if isinstance(value, (list, tuple)):
        if depth == 0:
            return "nested too deeply"
        return next(filter(None, (_flaw(inner, depth - 1) for inner in value)), "")
    if isinstance(value, float):
        return f"{value} is a fraction, which languages write differently; use a smaller unit"
    return f"{type(value).__name__} is no JSON"


# --- events that were stored ----------------------------------------------------------------------------------------


def from_row(row: Sequence[Any]) -> Event:
    """A stored row as an event; its texts come as bytes. JournalDamaged if it was never written like that."""
    seq, ts, kind, prev, hashed, clause, data = row
    for name, value in (
        ("ts", ts),
        ("kind", kind),
        ("prev", prev),
        ("hash", hashed),
        ("clause", clause),
        ("data", data),
    ):
        if not isinstance(value, bytes):
            raise JournalDamaged(seq, f"its {name} is unreadable")
    if len(prev) != 32 or len(hashed) != 32:
        raise JournalDamaged(seq, "its hashes are unreadable")
    try:
        event = Event(
            seq, ts.decode(), kind.decode(), _decode_clause(clause), _decode_data(data), prev.hex(), hashed.hex()
        )  # fmt: skip
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise JournalDamaged(seq, f"it is unreadable ({error})") from None
    if _encode(event.clause) != clause or _encode(event.data) != data:
        raise JournalDamaged(seq, "its JSON is not as the journal writes it")
    return event


_decode_line: Final = msgspec.json.Decoder(Event).decode


def from_line(text: bytes, number: int) -> Event:
    """A line of an export as an event. JournalDamaged, naming the line, if it was never written like that."""
    try:
        event = _decode_line(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JournalDamaged(None, f"line {number} is no event ({error})") from None
    if line(event) != text.removesuffix(b"\n"):
        raise JournalDamaged(event.seq, f"line {number} is not as the journal writes it")
    return event


def check(events: Iterable[Event], since: Checkpoint = START) -> Iterator[Event]:
    """Hand the events through as long as each follows the one before. JournalDamaged names the first that does not."""
    seq, prev = since.seq, since.hash
    for event in events:
        seq += 1
        if event.seq < seq:
            raise JournalDamaged(seq, f"in its place stands event {event.seq}")
        if event.seq > seq:
            raise JournalDamaged(seq, f"it is missing; the next one there is {event.seq}")
        if not _TS.fullmatch(event.ts) or not _KIND.fullmatch(event.kind):
            raise JournalDamaged(seq, "its ts or kind was never written like that")
        if event.prev != prev:
            raise JournalDamaged(seq, "its prev is not the hash of the event before")
        if event.hash != digest(event):
            raise JournalDamaged(seq, "its content does not fit its hash")
        prev = event.hash
        yield event


def check_known(since: Checkpoint, known: Event | None) -> None:
    """JournalDamaged unless the event that now stands in a place that was verified before is the one of then."""
    if known is None:
        raise JournalDamaged(since.seq, "it was verified before, and is missing now")
    if known.hash != since.hash or digest(known) != since.hash:
        raise JournalDamaged(since.seq, "it is not the event that was verified before")


def verify(events: Iterable[Event], since: Checkpoint, on_event: Callable[[Event], None] | None = None) -> Checkpoint:
    """Check the events after a place that is known to be good, and tell the place of the last.

    JournalDamaged names the first bad event. `on_event` gets every event that was found good.
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
        raise JournalDamaged(end.seq + 1, f"in its place stands event {damage.seq}: {damage.reason}") from None
    return end

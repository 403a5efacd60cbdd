"""The events of a journal and the chain of hashes that holds them together. Pure: no disk, no clock.

The hash of an event is the SHA-256 of the hash before it (64 characters) followed by the event's canonical bytes. The
canonical bytes are the JSON of clause, data, kind, seq and ts as RFC 8785 has it, so that an auditor can compute
them in any language; docs/journal.md explains it with an example.
"""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Any

import msgspec

from controller.journal.errors import BadEvent, JournalDamaged

LONGEST_DATA = 1 << 16  # bytes of JSON; an event is a sentence, not an archive
DEEPEST_DATA = 16  # objects and lists within each other
LARGEST_NUMBER = 2**53 - 1  # what every JSON reader takes in without rounding
_SMALLEST_NUMBER = -LARGEST_NUMBER

_TS = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII)
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}")
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_clause = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_data = msgspec.json.Decoder(dict[str, Any]).decode

Row = tuple[int, str, str, bytes, bytes, str, str]
"""An event as it is stored: seq, ts, kind, prev, hash, clause and data, these two as canonical JSON."""


class NewEvent(msgspec.Struct, frozen=True, gc=False):
    """What happened, before it has its place in the journal."""

    ts: str
    kind: str
    clause: Sequence[str] = ()
    data: dict[str, Any] = {}


class Event(msgspec.Struct, frozen=True):
    """What happened, in its place. For a command to a device, `seq` is the command's id."""

    seq: int
    ts: str
    kind: str
    clause: tuple[str, ...]
    data: dict[str, Any]
    prev: str
    hash: str


class Checkpoint(msgspec.Struct, frozen=True):
    """A place in the chain: the number and the hash of an event."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


START = Checkpoint(0, "0" * 64)
"""Before the first event."""


# --- bytes and hashes -----------------------------------------------------------------------------------------------


def canonical(event: Event) -> bytes:
    """The bytes that the hash covers, after the hash before."""
    begin, middle = _around_data(event.kind, _encode(event.clause).decode())
    return f"{begin}{_encode(event.data).decode()}{middle}{event.seq}{_after_seq(event.ts)}".encode()


def content_of(row: Row) -> bytes:
    """The same of an event as it is stored."""
    seq, ts, kind, _, _, clause, data = row
    begin, middle = _around_data(kind, clause)
    return f"{begin}{data}{middle}{seq}{_after_seq(ts)}".encode()


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
    rows = link_rows(new, after)
    return [from_new(row) for row in rows], rows


def link_rows(new: Iterable[NewEvent], after: Checkpoint) -> list[Row]:
    """The same, only as they are stored."""
    rows = []
    seq, prev, prev_hex, good_ts = after.seq, bytes.fromhex(after.hash), after.hash.encode(), None
    for event in new:
        seq += 1
        clause, data = event.clause, event.data
        if type(clause) is not tuple:
            if not isinstance(clause, (list, tuple)):
                raise BadEvent(f"{event.kind}: clause {clause!r} must be a list of names")
            clause = tuple(clause)
        if type(data) is not dict or not _plain(data, DEEPEST_DATA):
            if not isinstance(data, dict):
                raise BadEvent(f"{event.kind}: data must be an object")
            if flaw := _flaw(data, DEEPEST_DATA):
                raise BadEvent(f"{event.kind}: {flaw}")
        try:
            if event.ts is not good_ts:
                ts = str.__str__(event.ts)  # of an Enum that is a str, its value
                end = _after_seq(ts).encode()
            kind, clause_json, begin, middle = _heading(event.kind, clause)
            encoded = _encode(data)
        except (TypeError, UnicodeEncodeError) as error:
            raise BadEvent(
                f"kind {event.kind!r}, ts {event.ts!r}: kind, ts and clauses must be text ({error})"
            ) from None
        if event.ts is not good_ts:
            if not _TS.fullmatch(ts):
                raise BadEvent(f"{kind}: ts {ts!r} must be UTC as 2026-01-31T23:59:59.000000Z")
            good_ts = event.ts
        if len(encoded) > LONGEST_DATA:
            raise BadEvent(f"{kind}: {len(encoded):,} bytes of data; {LONGEST_DATA:,} is the most")
        hashed = sha256(b"%b%b%b%b%d%b" % (prev_hex, begin, encoded, middle, seq, end)).digest()
        rows.append((seq, ts, kind, prev, hashed, clause_json, encoded.decode()))
        prev, prev_hex = hashed, hexlify(hashed)
    return rows


def from_new(row: Row) -> Event:
    """A row of link_rows as an event: the journal's own copy, equal to the one that is read back later."""
    seq, ts, kind, prev, hashed, clause, data = row
    return Event(seq, ts, kind, _decode_clause(clause), _decode_data(data), prev.hex(), hashed.hex())


# A program has few kinds, each with the same few clauses, and the commit before has left the processor's caches cold.
@lru_cache(maxsize=1024)
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
    return kind, clause_json, begin.encode(), middle.encode()


# What a program writes has few shapes: the names and the types of an object's values, or the types in a list. A shape
# is looked at once. After that only the numbers are, and what lies within; that takes a third of the time of a walk.
_Shape = tuple[Callable[[Any], tuple[int, ...]] | None, tuple[Any, ...]]  # what picks the numbers; names of the rest
_shapes: dict[tuple[object, ...], _Shape] = {}  # those that were found good
_SIMPLE = frozenset({str, bool, type(None)})


def _plain(value: Any, depth: int) -> bool:
    """Whether an object or a list is certainly without a flaw. Nearly all are."""
    shape = (*value, *map(type, value.values())) if type(value) is dict else (*map(type, value),)
    known = _shapes.get(shape) or _learn(value, shape)
    if known is None or depth == 0:
        return False
    numbers, inner = known
    if numbers is not None:
        found = numbers(value)
        if max(found) > LARGEST_NUMBER or min(found) < _SMALLEST_NUMBER:
            return False
    for name in inner:  # noqa: SIM110 - all() would make a generator for each of them
        if not _plain(value[name], depth - 1):
            return False
    return True


def _learn(value: Any, shape: tuple[object, ...]) -> _Shape | None:
    items = list(value.items() if type(value) is dict else enumerate(value))
    numbers, inner = [], []
    for name, part in items:
        kind = type(part)
        if type(value) is dict and (type(name) is not str or not name.isascii()):
            return None
        if kind is int:
            numbers.append(name)
        elif kind is dict or kind is list or kind is tuple:
            inner.append(name)
        elif kind not in _SIMPLE:
            return None
    # A picker of one name would give the bare value: it is named twice.
    known = itemgetter(*numbers, numbers[0]) if numbers else None, tuple(inner)
    if len(_shapes) < 1000:  # a program has few; whoever brings more is only slower
        _shapes[shape] = known
    return known


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


_decode_line = msgspec.json.Decoder(Event).decode


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

"""The events of a journal and the chain of hashes that holds them together. Pure: no disk, no clock.

The hash of an event is the SHA-256 of the hash before it (64 characters) followed by the event's canonical bytes. The
canonical bytes are the JSON of clause, data, kind, seq and ts as RFC 8785 has it, so that an auditor can compute
them in any language; docs/journal.md explains it with an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec

from controller.journal.errors import BadEvent, JournalDamaged

LONGEST_DATA = 1 << 16  # bytes of JSON; an event is a sentence, not an archive
DEEPEST_DATA = 16  # objects and lists within each other
LARGEST_NUMBER = 2**53 - 1  # what every JSON reader takes in without rounding

_TS = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII)
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}")
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_clause = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_data = msgspec.json.Decoder(dict[str, Any]).decode

Row = tuple[int, str, str, bytes, bytes, str, str]
"""An event as it is stored: seq, ts, kind, prev, hash, clause and data, these two as canonical JSON."""


class NewEvent(msgspec.Struct, frozen=True):
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
    clause, data = _encode(event.clause).decode(), _encode(event.data).decode()
    return _content(event.seq, event.ts, event.kind, clause, data).encode()


def digest(event: Event) -> str:
    """The hash that this event must have."""
    return sha256(event.prev.encode() + canonical(event)).hexdigest()


def canonical_json(data: dict[str, Any]) -> bytes:
    """An event's data as it is hashed and stored."""
    return _encode(data)


def line(event: Event) -> bytes:
    """The event as a line of JSON, without the line's end: as it is exported, printed and sent."""
    return _encode(event)


def _content(seq: int, ts: str, kind: str, clause: str, data: str) -> str:
    # The names stand in the order that RFC 8785 asks for. ts and kind hold nothing that JSON would escape.
    return f'{{"clause":{clause},"data":{data},"kind":"{kind}","seq":{seq},"ts":"{ts}"}}'


# --- new events -----------------------------------------------------------------------------------------------------


def link(new: Iterable[NewEvent], after: Checkpoint) -> tuple[list[Event], list[Row]]:
    """Give new events their places after this one. BadEvent if one of them cannot be written."""
    events, rows = [], []
    seq, prev, prev_bytes = after.seq, after.hash, bytes.fromhex(after.hash)
    for event in new:
        seq += 1
        if not isinstance(event.clause, (list, tuple)):
            raise BadEvent(f"{event.kind}: clause {event.clause!r} must be a list of names")
        if not isinstance(event.data, dict):
            raise BadEvent(f"{event.kind}: data must be an object")
        if flaw := _flaw(event.data, DEEPEST_DATA):
            raise BadEvent(f"{event.kind}: {flaw}")
        try:
            ts = str.__str__(event.ts)  # of an Enum that is a str, its value
            kind, clause, clause_json = _heading(event.kind, tuple(event.clause))
            data_bytes = _encode(event.data)
        except (TypeError, UnicodeEncodeError) as error:
            raise BadEvent(
                f"kind {event.kind!r}, ts {event.ts!r}: kind, ts and clauses must be text ({error})"
            ) from None
        if not _TS.fullmatch(ts):
            raise BadEvent(f"{kind}: ts {ts!r} must be UTC as 2026-01-31T23:59:59.000000Z")
        if len(data_bytes) > LONGEST_DATA:
            raise BadEvent(f"{kind}: {len(data_bytes):,} bytes of data; {LONGEST_DATA:,} is the most")
        data_json = data_bytes.decode()
        hashed = sha256((prev + _content(seq, ts, kind, clause_json, data_json)).encode())
        hash_bytes, hash_hex = hashed.digest(), hashed.hexdigest()
        # Decoded again: the journal's event is its own copy, and equal to the one that is read back later.
        events.append(Event(seq, ts, kind, clause, _decode_data(data_bytes), prev, hash_hex))
        rows.append((seq, ts, kind, prev_bytes, hash_bytes, clause_json, data_json))
        prev, prev_bytes = hash_hex, hash_bytes
    return events, rows


# A program has few kinds, each with the same few clauses, and the commit before has left the processor's caches cold.
@lru_cache(maxsize=1024)
def _heading(kind: str, clause: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """Kind and clause, found good, as plain texts; and the clause as canonical JSON."""
    kind = str.__str__(kind)
    if not _KIND.fullmatch(kind):
        raise BadEvent(f"kind {kind!r}: must be noun.verb in small letters")
    if not all(isinstance(name, str) and name for name in clause):
        raise BadEvent(f"{kind}: clause {clause!r} must be a list of names")
    clause = tuple(str.__str__(name) for name in clause)
    return kind, clause, _encode(clause).decode()


def _flaw(value: object, depth: int) -> str:
    """What in a value not every language would write the same way: fractions, huge numbers, names not in ASCII."""
    if isinstance(value, dict):
        if depth == 0:
            return "nested too deeply"
        for name, inner in value.items():
            if not isinstance(name, str) or not name.isascii():
                return f"the name {name!r} must be text in ASCII"
            if type(inner) is str or (type(inner) is int and -LARGEST_NUMBER <= inner <= LARGEST_NUMBER):
                continue  # most are; the call below would find the same
            if flaw := _flaw(inner, depth - 1):
                return f"{name}: {flaw}"
        return ""
    if isinstance(value, int):
        return "" if -LARGEST_NUMBER <= value <= LARGEST_NUMBER else f"{value} is too large a number; write it as text"
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

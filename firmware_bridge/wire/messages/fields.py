"""The bounds of the fields of messages, and the ranges of message numbers."""

from __future__ import annotations

from typing import Annotated

import msgspec

VERSION = 1  # of the messages, negotiated in Hello and Welcome
MAX_ID = 2**53 - 1  # every number: JSON and JavaScript read integers exactly up to here
MOST_CARDS = 2**16 - 1
LARGEST_PACK = 520  # ten decks of 52
MOST_KINDS = 64  # in one message: the kinds of a pack, or of the cards of one stack. More would not fit
DIGEST_BYTES = 32

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
EventNumber = Annotated[int, msgspec.Meta(ge=1, le=MAX_ID)]
Boot = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
CardCount = Annotated[int, msgspec.Meta(ge=-1, le=MOST_CARDS)]  # -1: not counted
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
Version = Annotated[int, msgspec.Meta(ge=0, le=255)]
Name = Annotated[str, msgspec.Meta(max_length=24)]
Text = Annotated[str, msgspec.Meta(max_length=64)]
Digest = Annotated[bytes, msgspec.Meta(max_length=DIGEST_BYTES)]  # SHA-256 of the firmware image, or empty
Numbers = Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=255)]], msgspec.Meta(max_length=16)]
CardKind = Annotated[int, msgspec.Meta(ge=-1, le=255)]  # of a card; -1: not recognised
Kinds = Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=MOST_CARDS)]], msgspec.Meta(max_length=MOST_KINDS)]
ShownKinds = Annotated[list[CardKind], msgspec.Meta(max_length=MOST_KINDS)]
Durations = Annotated[list[Milliseconds], msgspec.Meta(max_length=16)]  # by the numbers of Cycle, from 1
Total = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]

# Ranges of message numbers, so that a message of a later version can be classified too. Each ends with a part reserved
# for makers: no version of the protocol will use those numbers.
COMMANDS = range(16, 48)
VENDOR_COMMANDS = range(40, 48)
QUESTIONS = range(48, 64)
VENDOR_QUESTIONS = range(60, 64)
EVENTS = range(64, 128)
VENDOR_EVENTS = range(112, 128)


def check_digest(digest: bytes) -> None:
    """Raise ValueError unless this is a SHA-256 or empty; the decoder reports it as a field that cannot be read."""
    if len(digest) not in (0, DIGEST_BYTES):
        raise ValueError(f"firmware_digest has {len(digest)} bytes, not 0 or {DIGEST_BYTES}")

"""The bounds of the fields of messages, and the ranges of message numbers."""

from __future__ import annotations

from typing import Annotated

import msgspec

VERSION = 1  # of the messages, negotiated in Hello and Welcome
MAX_ID = 2**63 - 1  # command ids and event numbers

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
Boot = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
CardCount = Annotated[int, msgspec.Meta(ge=-1, le=255)]  # -1: not counted
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
Version = Annotated[int, msgspec.Meta(ge=0, le=255)]
Name = Annotated[str, msgspec.Meta(max_length=24)]
Text = Annotated[str, msgspec.Meta(max_length=64)]
Digest = Annotated[bytes, msgspec.Meta(max_length=32)]  # SHA-256 of the firmware image, or empty
Numbers = Annotated[list[int], msgspec.Meta(max_length=16)]
Kinds = Annotated[list[int], msgspec.Meta(max_length=53)]  # of cards
Total = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]

# Ranges of message numbers, so that a message of a later version can be classified too.
COMMANDS = range(16, 48)
QUESTIONS = range(48, 64)
EVENTS = range(64, 96)

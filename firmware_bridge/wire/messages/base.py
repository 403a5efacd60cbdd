"""The base of all messages: how one is encoded, numbered and described."""

from __future__ import annotations

import enum

import msgspec


class Message(msgspec.Struct, array_like=True, gc=False):
    """Base of all messages."""

    def encode(self) -> bytes:
        """The bytes of this message."""
        return encode(self)


encode = msgspec.msgpack.Encoder().encode  # without the method call, for the session's hot path


def message_number(kind: type[Message]) -> int:
    """The number that comes first in messages of this type."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int)
    return tag


def describe_message(message: Message) -> str:
    """A message on one line for a technician: its name and fields, enumerations by name."""
    parts = []
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, enum.Enum):
            value = value.name.lower()
        elif isinstance(value, bytes):
            value = value.hex()[:16] + ("…" if len(value) > 8 else "")
        elif isinstance(value, str):
            value = repr(value)
        elif name in ("boot", "events_boot"):  # in the form that packets and logs use
            value = f"{value:08x}"
        parts.append(f"{name}={value}")
    return f"{type(message).__name__} {' '.join(parts)}".rstrip()

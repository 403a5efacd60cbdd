"""Frames on the wire: a body and its CRC-32, COBS-encoded, terminated by one zero byte.

Pure: bytes in, frame bodies or `BadFrame`s out. After a bad frame the decoder resumes at the next delimiter.
"""

# mypyc
from __future__ import annotations

import enum
from dataclasses import dataclass
from struct import Struct
from typing import Final
from zlib import crc32

from cobs import cobs

DELIMITER: Final = b"\x00"
_crc32: Final = crc32  # Final, so that compiled code does not look them up for every frame
_cobs_decode: Final = cobs.decode
_cobs_encode: Final = cobs.encode
_four_bytes: Final = Struct("<I").pack  # twice as fast as int.to_bytes

# A body and its CRC are at most 254 bytes, so COBS adds exactly one byte, and a whole frame with its delimiter
# is at most 256 bytes, which a small microcontroller can buffer.
MAX_BODY: Final = 250
MAX_ENCODED: Final = MAX_BODY + 4 + 1
_MIN_DECODED: Final = 1 + 4

# The CRC-32 of any bytes followed by their own CRC-32 (little-endian) is this constant: one pass, no slicing.
_CRC_RESIDUE: Final = 0x2144DF1C


class Flaw(enum.Enum):
    """What can be wrong with a frame."""

    TOO_LONG = "too long"
    TOO_SHORT = "too short"
    BAD_COBS = "not COBS"
    BAD_CRC = "wrong CRC"


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Bytes between two delimiters that are not a frame. `expected` and `got` are lengths or CRCs."""

    flaw: Flaw
    expected: int
    got: int
    encoded: bytes

    def __str__(self) -> str:
        if self.flaw is Flaw.BAD_CRC:
            return f"wrong CRC: expected {self.expected:08x}, got {self.got:08x}"
        if self.flaw is Flaw.TOO_LONG:
            return f"too long: expected a delimiter after at most {self.expected} bytes, got none"
        if self.flaw is Flaw.TOO_SHORT:
            return f"too short: expected at least {self.expected} bytes, got {self.got}"
        return f"not COBS: expected {self.expected} bytes after the last code byte, got {self.got}"


def encode_frame(body: bytes) -> bytes:
    """The bytes to send for a body of 1 to MAX_BODY bytes."""
    if not 0 < len(body) <= MAX_BODY:
        raise ValueError(f"a frame's body has 1 to {MAX_BODY} bytes, not {len(body)}")
    return _cobs_encode(body + _four_bytes(_crc32(body))) + DELIMITER  # type: ignore[no-any-return]


class FrameDecoder:
    """Splits a stream of bytes into frames; buffers at most one frame."""

    __slots__ = ("_buffer", "_midway", "_skipping")

    def __init__(self) -> None:
        self._buffer = b""
        self._skipping = False  # inside a frame already reported as too long: wait for its delimiter
        self._midway = False  # either of these: the last byte was not a delimiter

    def feed(self, data: bytes) -> list[bytes | BadFrame]:
        """The bodies and bad frames that these bytes complete, in order."""
        if not self._midway:
            encoded, delimiter, rest = data.partition(DELIMITER)
            if delimiter and not rest:  # the usual case: exactly one frame
                return [_decode(encoded)] if encoded else []
        return self._feed_pieces(data)

    def _feed_pieces(self, data: bytes) -> list[bytes | BadFrame]:
        *chunks, rest = data.split(DELIMITER)
        found: list[bytes | BadFrame] = []
        for chunk in chunks:
            if self._skipping:
                self._skipping = False
                continue
            encoded = self._buffer + chunk if self._buffer else chunk
            self._buffer = b""
            if encoded:  # an empty frame is just an extra delimiter
                found.append(_decode(encoded))
        if rest and not self._skipping:
            self._buffer += rest
            if len(self._buffer) > MAX_ENCODED:
                found.append(_too_long(self._buffer))
                self._buffer = b""
                self._skipping = True
        self._midway = self._skipping or bool(self._buffer)
        return found


def _too_long(encoded: bytes) -> BadFrame:
    return BadFrame(Flaw.TOO_LONG, MAX_ENCODED, MAX_ENCODED + 1, encoded[: MAX_ENCODED + 1])


def _bad_cobs(encoded: bytes) -> BadFrame:
    at = 0
    while at + encoded[at] < len(encoded):  # each code byte says how far the next one is
        at += encoded[at]
    return BadFrame(Flaw.BAD_COBS, encoded[at] - 1, len(encoded) - at - 1, encoded)


def _decode(encoded: bytes) -> bytes | BadFrame:
    try:
        decoded: bytes = _cobs_decode(encoded)
    except cobs.DecodeError:
        return _too_long(encoded) if len(encoded) > MAX_ENCODED else _bad_cobs(encoded)
    if _crc32(decoded) == _CRC_RESIDUE and len(decoded) >= _MIN_DECODED and len(encoded) <= MAX_ENCODED:
        return decoded[:-4]
    if len(encoded) > MAX_ENCODED:
        return _too_long(encoded)
    if len(decoded) < _MIN_DECODED:
        return BadFrame(Flaw.TOO_SHORT, _MIN_DECODED, len(decoded), encoded)
    return BadFrame(Flaw.BAD_CRC, _crc32(decoded[:-4]), int.from_bytes(decoded[-4:], "little"), encoded)

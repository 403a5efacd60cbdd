"""Frames: whole or counted as bad, the same however the bytes are cut, and back in step at the next delimiter."""

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.wire.frame import MAX_BODY, MAX_ENCODED, BadFrame, Flaw, FrameDecoder, encode_frame
from firmware_bridge.wire.health import LinkCounters
from tests.support.wire_strategies import CUTS, RANDOM_BYTES, chop

BODIES = st.binary(min_size=1, max_size=MAX_BODY)


def cobs_by_hand(data: bytes) -> bytes:
    """COBS as its paper describes it, for data of at most 254 bytes: each zero becomes the distance to the next."""
    assert len(data) <= 254
    if 0 not in data and len(data) == 254:
        return b"\xff" + data
    return b"".join(bytes([len(run) + 1]) + run for run in data.split(b"\0"))


def bad(decoder: FrameDecoder, data: bytes) -> BadFrame:
    """The one bad frame that these bytes give."""
    (found,) = decoder.feed(data)
    assert isinstance(found, BadFrame)
    return found


@given(BODIES)
def test_a_frame_is_cobs_of_body_and_crc_and_a_zero(body: bytes) -> None:
    assert encode_frame(body) == cobs_by_hand(body + zlib.crc32(body).to_bytes(4, "little")) + b"\0"


@given(st.lists(BODIES, max_size=6), CUTS)
def test_frames_survive_any_cutting(bodies: list[bytes], cuts: list[int]) -> None:
    decoder = FrameDecoder()
    stream = b"".join(map(encode_frame, bodies))
    assert [found for piece in chop(stream, cuts) for found in decoder.feed(piece)] == bodies


@given(st.lists(RANDOM_BYTES | BODIES.map(encode_frame), max_size=8), CUTS)
def test_soup_gives_the_same_in_one_piece_in_pieces_and_byte_by_byte(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    whole = FrameDecoder().feed(stream)
    for pieces in (chop(stream, cuts), [stream[i : i + 1] for i in range(len(stream))]):
        decoder = FrameDecoder()
        assert [found for piece in pieces for found in decoder.feed(piece)] == whole


@given(RANDOM_BYTES)
def test_every_run_between_delimiters_is_a_frame_or_a_counted_error(soup: bytes) -> None:
    found = FrameDecoder().feed(soup + b"\0")
    assert len(found) == sum(1 for run in soup.split(b"\0") if run)
    counters = LinkCounters()
    errors = [what for what in found if isinstance(what, BadFrame)]
    for error in errors:
        counters.count_bad(error)
        assert "expected" in str(error)
        assert "got" in str(error)
    assert counters.bad_frames == len(errors)


@given(st.lists(RANDOM_BYTES, max_size=10))
def test_the_buffer_stays_small(chunks: list[bytes]) -> None:
    decoder = FrameDecoder()
    for chunk in chunks:
        decoder.feed(chunk)
        assert len(decoder._buffer) <= MAX_ENCODED


def test_an_endless_frame_is_told_once_and_not_kept() -> None:
    decoder = FrameDecoder()
    found = [what for _ in range(1000) for what in decoder.feed(b"\x07" * 100)]
    assert [what.flaw for what in found if isinstance(what, BadFrame)] == [Flaw.TOO_LONG]
    assert decoder._buffer == b""
    assert decoder.feed(b"\x07\0") == []
    assert decoder.feed(encode_frame(b"back")) == [b"back"]


@given(RANDOM_BYTES, BODIES)
def test_back_in_step_at_the_next_delimiter(soup: bytes, body: bytes) -> None:
    decoder = FrameDecoder()
    decoder.feed(soup)
    decoder.feed(b"\0")
    assert decoder.feed(encode_frame(body)) == [body]


def test_spare_delimiters_mean_nothing() -> None:
    assert FrameDecoder().feed(b"\0\0\0" + encode_frame(b"a") + b"\0\0" + encode_frame(b"b") + b"\0") == [b"a", b"b"]


@pytest.mark.parametrize("body", [b"", bytes(MAX_BODY + 1)])
def test_a_body_of_wrong_length_is_not_sent(body: bytes) -> None:
    with pytest.raises(ValueError, match="1 to 250 bytes"):
        encode_frame(body)


def test_the_longest_frame_has_256_bytes() -> None:
    frame = encode_frame(bytes(range(1, 251)))
    assert len(frame) == MAX_ENCODED + 1 == 256
    assert FrameDecoder().feed(frame) == [bytes(range(1, 251))]


def test_a_wrong_crc_tells_expected_and_got() -> None:
    body = b"\x12\x34\x56"
    found = bad(FrameDecoder(), cobs_by_hand(body + b"\x01\x02\x03\x04") + b"\0")
    assert (found.flaw, found.expected, found.got) == (Flaw.BAD_CRC, zlib.crc32(body), 0x04030201)
    assert str(found) == f"wrong CRC: expected {zlib.crc32(body):08x}, got 04030201"


def test_wrong_lengths_and_codes_tell_expected_and_got() -> None:
    short = bad(FrameDecoder(), b"\x05\x01\x02\x03\x04\0")
    assert str(short) == "too short: expected at least 5 bytes, got 4"
    broken = bad(FrameDecoder(), b"\x02\x07\x09\x01\x02\0")
    assert str(broken) == "not COBS: expected 8 bytes after the last code byte, got 2"
    long = bad(FrameDecoder(), b"\x01" * 256)
    assert str(long) == "too long: expected a delimiter after at most 255 bytes, got none"


def test_every_single_bit_error_is_seen() -> None:
    frame = encode_frame(random.Random(1).randbytes(40))
    for bit in range(len(frame) * 8):
        flipped = bytearray(frame)
        flipped[bit // 8] ^= 1 << bit % 8
        found = FrameDecoder().feed(bytes(flipped) + b"\0")
        assert found
        assert all(isinstance(what, BadFrame) for what in found), f"bit {bit} went through"

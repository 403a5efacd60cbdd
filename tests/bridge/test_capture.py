"""Captures: what was recorded is read back, decoded as it was, and damage is named by its line."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from controller.cli.shoectl import cli
from firmware_bridge.tools.capture import (
    BadCapture,
    DecodedLine,
    Header,
    LineEvent,
    Piece,
    Record,
    Remark,
    Traffic,
    end_line,
    header_line,
    read_capture,
    record_line,
)
from firmware_bridge.wire.frame import encode_frame
from firmware_bridge.wire.health import Direction
from firmware_bridge.wire.messages import AskStatus, Done, Hello, Message
from firmware_bridge.wire.packet import Packet, PacketType, pack

CAPTURES = sorted((Path(__file__).parents[1] / "captures").glob("*.jsonl"))
HEADER = Header(port="/dev/ttyUSB0", started="2026-01-01T12:00:00.000Z", baud=115200)


def capture_of(records: list[Record]) -> list[bytes]:
    last_s = records[-1].at_s if records else 0.0
    return [header_line(HEADER), *map(record_line, records), end_line(last_s, len(records))]


def read_until_bad(lines: Iterable[bytes]) -> tuple[list[Header | Record], BadCapture]:
    read = []
    with pytest.raises(BadCapture) as bad:  # noqa: PT012 - what came before it is wanted too
        for record in read_capture(lines):
            read.append(record)
    return read, bad.value


def data(seq: int, message: Message, ack: int = 0, session: int = 7) -> bytes:
    return encode_frame(pack(Packet(PacketType.DATA, session, seq=seq, ack=ack, message=message.encode())))


def ack(seq: int, ack: int, kind: PacketType = PacketType.ACK) -> bytes:
    return encode_frame(pack(Packet(kind, 7, seq=seq, ack=ack)))


OPEN = encode_frame(pack(Packet(PacketType.OPEN, 7, boot=1, window=8)))
OPENED = encode_frame(pack(Packet(PacketType.OPENED, 7, boot=2, window=8)))
SOME: list[Record] = [
    Piece(0.0, "out", OPEN),
    Piece(0.001, "in", OPENED),
    Remark(0.5, LineEvent.NOTE, "a remark with \x1b[2J in it"),
    Piece(1.25, "out", data(0, AskStatus(1))),
]


# --- recorded traffic -----------------------------------------------------------------------------------------------


def test_there_are_captures() -> None:
    assert {file.stem for file in CAPTURES} >= {"greeting", "dispense", "noise", "unplug"}


@pytest.mark.parametrize("file", CAPTURES, ids=lambda file: file.stem)
def test_a_recorded_capture_gives_what_it_gave(file: Path) -> None:
    replayed = CliRunner().invoke(cli, ["replay", str(file)])
    assert replayed.exit_code == 0
    assert replayed.stdout == file.with_suffix(".txt").read_text()


def sums(name: str) -> Traffic:
    traffic = Traffic()
    file = next(file for file in CAPTURES if file.stem == name)
    for record in read_capture(file.read_bytes().splitlines(keepends=True)):
        if not isinstance(record, Header):
            traffic.feed(record)
    return traffic


def test_the_captures_hold_what_they_are_there_for() -> None:
    noise = sums("noise").tallies["in"]
    assert noise.bad > 0
    assert noise.resends > noise.duplicates > 0
    assert sums("noise").tallies["out"].resends > 0
    for quiet in ("greeting", "dispense", "unplug"):
        traffic = sums(quiet)
        assert [tally.bad + tally.resends for tally in traffic.tallies.values()] == [0, 0]
        assert traffic.round_trip is not None


# --- the file -------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read() -> None:
    assert list(read_capture(capture_of(SOME))) == [HEADER, *SOME]
    assert list(read_capture(capture_of([]))) == [HEADER]


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6).map(lambda t: round(t, 6)), st.sampled_from(["in", "out"]), st.binary(max_size=40))
    )
)
def test_any_bytes_survive_a_file(pieces: list[tuple[float, Direction, bytes]]) -> None:
    records: list[Record] = [Piece(*piece) for piece in sorted(pieces)]
    text = io.BytesIO(b"".join(capture_of(records)))
    assert list(read_capture(text)) == [HEADER, *records]


@given(st.integers(0, 10_000))
def test_a_capture_cut_anywhere_gives_all_before_the_cut(cut: int) -> None:
    whole = b"".join(capture_of(SOME))
    cut %= len(whole) - 1  # without the very last line's end it is still whole
    lines = io.BytesIO(whole[:cut]).readlines()
    read, bad = read_until_bad(lines)
    complete = whole[:cut].count(b"\n")
    # A line that lacks only its newline is whole: then one more is read, and what is missing is the one behind it.
    assert read == [HEADER, *SOME][: len(read)]
    assert complete <= len(read) <= complete + 1
    assert bad.line == len(read) + 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "no capture|empty"),
        (b"hello\n", "not a Dragonshoe capture"),
        (b"[]\n", "not a Dragonshoe capture"),
        (b'{"format":"pcap"}\n', "not a Dragonshoe capture"),
        (b'{"format":"dragonshoe-capture","version":9}\n', "version 9"),
        (b'{"format":"dragonshoe-capture","version":1}\n', "not a Dragonshoe capture"),
        (b"\xff\xfe\n", "not a Dragonshoe capture"),
    ],
)
def test_a_file_that_is_no_capture_is_refused(line: bytes, why: str) -> None:
    read, bad = read_until_bad([line] if line else [])
    assert read == []
    assert bad.line == 1
    assert bad.args[0].startswith("line 1: ")
    assert any(one in str(bad) for one in why.split("|"))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"\n", "not valid JSON"),
        (b'{"t":2,"dir":"in","hex":"0', "not valid JSON; the line is cut off"),
        (b'{"t":2,"dir":"in","hex":"0g"}\n', "damaged bytes"),
        (b'{"t":2,"dir":"up","hex":"00"}\n', "damaged"),
        (b'{"t":"2","dir":"in","hex":"00"}\n', "damaged"),
        (b'{"t":0.9,"dir":"in","hex":"00"}\n', "time 0.9 after 1.25"),
        (b'{"t":1e999,"dir":"in","hex":"00"}\n', ""),
        (b'{"t":2}\n', "damaged"),
        (b"7\n", "not a record"),
        (b"[" * 100_000 + b"\n", "not valid JSON"),
        (b'{"t":2,"text":"\xff","event":"note"}\n', "not valid JSON"),
        (b'{"t":2,"end":3}\n', "3 records were written, but 4 are present"),
        (b'"' + b"a" * (1 << 20) + b'"\n', "longer than"),
    ],
)
def test_damage_is_named_by_its_line(line: bytes, why: str) -> None:
    read, bad = read_until_bad([*capture_of(SOME)[:-1], line, end_line(2.0, 5)])
    assert read == [HEADER, *SOME]
    assert bad.line == 6
    assert why in str(bad)


def test_nothing_may_follow_the_end() -> None:
    read, bad = read_until_bad([*capture_of(SOME), record_line(SOME[-1])])
    assert len(read) == 5
    assert "continues after its end" in str(bad)


def test_a_remark_of_a_later_version_is_a_note() -> None:
    lines = [header_line(HEADER), b'{"t":1,"event":"levitated","text":"up it goes"}\n', end_line(1, 1)]
    assert list(read_capture(lines))[1] == Remark(1, LineEvent.NOTE, "up it goes")


# --- decoding -------------------------------------------------------------------------------------------------------


def decoded(pieces: Iterable[Piece]) -> list[DecodedLine]:
    traffic = Traffic()
    return [line for piece in pieces for line in traffic.feed(piece)]


def lines_of(*pieces: tuple[Direction, bytes]) -> list[DecodedLine]:
    return decoded(Piece(float(at), *piece) for at, piece in enumerate(pieces))


def test_every_frame_is_a_line() -> None:
    lines = lines_of(("out", b"\0" + OPEN), ("in", OPENED), ("out", data(0, Hello(1, 1))), ("in", ack(0, 1)))
    assert [str(line) for line in lines] == [
        "    0.000  out  OPEN    session 0007 boot 00000001 window 8",
        "    1.000  in   OPENED  session 0007 boot 00000002 window 8",
        "    2.000  out  DATA      0 ack 0    "
        "Hello version_min=1 version_max=1 events_boot=00000000 events_stored=0 software=''",
        "    3.000  in   ACK       0 ack 1",
    ]


def test_one_byte_at_a_time_gives_the_same_lines() -> None:
    traffic = [("out", OPEN), ("in", OPENED), ("out", data(0, Hello(1, 1))), ("in", b"\x05abc\0" + ack(0, 1))]
    pieces = [Piece(0.0, way, bytes([byte])) for way, part in traffic for byte in part]  # type: ignore[arg-type]
    whole = [Piece(0.0, way, part) for way, part in traffic]  # type: ignore[arg-type]
    assert decoded(pieces) == decoded(whole)


def test_a_bad_frame_says_what_was_expected_and_got() -> None:
    damaged = bytearray(OPENED)
    damaged[-3] ^= 4
    (line,) = lines_of(("in", bytes(damaged)))
    assert line.bad
    assert "wrong CRC: expected " in str(line)
    assert line.plain()["bad"]["flaw"] == "wrong CRC"


def test_what_is_not_of_this_version_is_shown_too() -> None:
    unknown, unreadable = lines_of(
        ("in", encode_frame(b"\x21abc")),
        ("in", encode_frame(pack(Packet(PacketType.DATA, 7, message=b"\x92\x05\xa1x")))),
    )
    assert "not a packet of this version: 21 61 62 63" in str(unknown)
    assert "unreadable message: number 5" in str(unreadable)
    assert unknown.bad
    assert unreadable.bad


def test_resends_duplicates_and_losses_are_told_apart() -> None:
    traffic = Traffic()
    sent: list[tuple[Direction, bytes]] = [
        ("out", OPEN),
        ("out", OPEN),  # again
        ("in", OPENED),
        ("in", data(0, Done(1))),
        ("out", ack(0, 1)),
        ("in", data(0, Done(1), 0)),  # again, though acknowledged: a duplicate
        ("in", data(2, Done(3), 0)),  # 1 was lost
        ("out", ack(0, 1, PacketType.NAK)),
        ("in", data(1, Done(2), 0)),  # again: it was sent before, as 2 shows
        ("in", data(2, Done(3), 0)),  # again, not yet acknowledged
        ("in", data(0, Done(9), 0, session=8)),  # of another session: not counted
    ]
    lines = [line for at, piece in enumerate(sent) for line in traffic.feed(Piece(float(at), *piece))]
    assert [line.notes for line in lines] == [
        (), ("again",), (), (), (), ("again, a duplicate",), ("1 was lost",), (), ("again",), ("again",),
        ("another session, 0008",),
    ]  # fmt: skip
    assert (traffic.tallies["out"].resends, traffic.tallies["out"].duplicates) == (1, 0)
    got = traffic.tallies["in"]
    assert (got.resends, got.duplicates, got.lost, got.frames, got.bad) == (3, 1, 1, 7, 0)


def test_numbers_go_round() -> None:
    traffic = Traffic()
    for seq in (0xFFFE, 0xFFFF, 0, 1):
        traffic.feed(Piece(0.0, "in", data(seq, Done(1))))
    assert (traffic.tallies["in"].resends, traffic.tallies["in"].lost) == (0, 0)
    (line,) = traffic.feed(Piece(0.0, "in", data(0xFFFF, Done(1))))
    assert line.notes == ("again",)


def test_the_round_trip_is_of_what_was_sent_once() -> None:
    traffic = Traffic()
    for at_s, way, part in (
        (0.0, "out", OPEN), (0.0, "in", OPENED), (1.0, "out", data(0, AskStatus(1))), (1.004, "in", ack(0, 1)),
        (2.0, "out", data(1, AskStatus(2))), (2.5, "out", data(1, AskStatus(2))), (2.6, "in", ack(0, 2)),
    ):  # fmt: skip
        traffic.feed(Piece(at_s, way, part))  # type: ignore[arg-type]
    assert traffic.round_trip is not None
    assert (traffic.round_trip.samples, traffic.round_trip.median_ms) == (1, 4.0)


def test_half_a_frame_does_not_outlive_its_cable() -> None:
    traffic = Traffic()
    traffic.feed(Piece(0.0, "in", OPENED[:5]))
    assert traffic.tallies["in"].unfinished == 5
    traffic.feed(Remark(1.0, LineEvent.PORT_LOST, "gone"))
    (line,) = traffic.feed(Piece(2.0, "in", OPENED))
    assert not line.bad


def test_a_passive_recording_of_the_host_wire_is_decoded_too() -> None:
    (line,) = lines_of(("in", data(5, AskStatus(3))))
    assert str(line).endswith("AskStatus ref=3")
    assert line.notes == ()


@given(st.lists(st.tuples(st.sampled_from(["in", "out"]), st.binary(max_size=300))))
def test_any_bytes_decode_to_lines(pieces: list[tuple[Direction, bytes]]) -> None:
    for line in lines_of(*pieces):
        assert "\n" not in str(line)
        assert line.plain()["t"] == line.at_s

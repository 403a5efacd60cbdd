"""The Angel Eye II-EX: its bytes against a table of what they mean, and a line that loses, repeats, corrupts."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.drivers.angel_eye.line import (
    ANSWER_WITHIN_S,
    DIGITS,
    AngelEyeLine,
    Answered,
    Contradicted,
    NotAnswered,
    Reported,
    ShoeCommand,
    cancel_error,
)
from firmware_bridge.drivers.angel_eye.reports import (
    REFUSALS,
    CardDrawn,
    CardFor,
    CutCardDrawn,
    StandBy,
    Started,
    UnknownReport,
    read_report,
)
from firmware_bridge.drivers.angel_eye.telegram import (
    DATA_AFTER,
    MOST_DATA,
    STX,
    Acknowledged,
    BadBytes,
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    Telegram,
    TelegramFlaw,
    TelegramReader,
    encode,
)

FILE = Path(__file__).parents[2] / "docs" / "angel-eye-vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text())
LONGEST = MOST_DATA + 5  # ENQ, sequence, ETX, checksum


def report(sequence: str, data: bytes) -> bytes:
    return encode(ReportTelegram(ord(sequence), data))


def meaning(telegram: Telegram) -> dict[str, Any]:
    """What a telegram says, as the table of vectors puts it."""
    match telegram:
        case CommandTelegram(type, digits):
            return {"command": type, "digits": digits}
        case Acknowledged():
            return {"answer": "accepted"}
        case NotAcknowledged(code):
            return {"answer": REFUSALS[code]}
        case ReportTelegram(_, data):
            found = read_report(data)
            fields = dataclasses.asdict(found)
            if isinstance(found, UnknownReport):
                fields["data"] = found.data.hex().upper()
            return {"report": type_name(found), **{name: plain(value) for name, value in fields.items()}}


def type_name(value: object) -> str:
    return type(value).__name__


def plain(value: object) -> object:
    return str(value) if isinstance(value, CardFor) else value


# --- bytes and meaning ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["bytes"])
def test_every_vector_means_what_it_says(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["bytes"])
    (telegram,) = TelegramReader().feed(data)
    assert not isinstance(telegram, BadBytes)
    assert meaning(telegram) == vector["means"]
    assert encode(telegram) == data


def test_the_published_vector_locks_the_shoe() -> None:
    assert encode(ShoeCommand.LOCK.value) == bytes.fromhex("02 4F 50 4C 4B 30 32 03") + b"1B"


def test_every_code_of_a_report_and_every_refusal_has_a_vector() -> None:
    sent = [bytes.fromhex(vector["bytes"]) for vector in VECTORS if vector["from"] == "shoe"]
    assert set(DATA_AFTER) <= {data[2] for data in sent if len(data) > 2}
    assert set(REFUSALS) == {data[1] for data in sent if data[0] == 0x15}


def test_an_error_that_has_no_two_digits_cannot_be_cancelled() -> None:
    assert encode(cancel_error(7))[3:7] == b"EC07"
    with pytest.raises(ValueError, match="two digits"):
        cancel_error(100)


# --- a bad line -----------------------------------------------------------------------------------------------------

CODES = sorted(DATA_AFTER)
KNOWN = st.sampled_from(CODES).flatmap(
    lambda code: st.binary(min_size=DATA_AFTER[code], max_size=DATA_AFTER[code]).map(lambda rest: bytes([code]) + rest)
)
REPORTS = st.builds(ReportTelegram, st.sampled_from(DIGITS.encode()), KNOWN)
TELEGRAMS = st.one_of(
    REPORTS,
    st.sampled_from([one.value for one in ShoeCommand]),
    st.just(Acknowledged()),
    st.builds(NotAcknowledged, st.integers(0, 255)),
)


@given(st.lists(TELEGRAMS, max_size=12), st.data())
def test_telegrams_arrive_whole_however_they_are_split(sent: list[Telegram], data: st.DataObject) -> None:
    wire = b"".join(map(encode, sent))
    reader, found, at = TelegramReader(), [], 0
    while at < len(wire):
        size = data.draw(st.integers(1, len(wire) - at))
        found += reader.feed(wire[at : at + size])
        at += size
    assert found == sent


@given(st.binary(max_size=400))
def test_of_arbitrary_bytes_none_is_lost_and_few_are_kept(noise: bytes) -> None:
    whole = TelegramReader().feed(noise)
    reader, found = TelegramReader(), []
    for at in range(len(noise)):
        found += reader.feed(noise[at : at + 1])
        assert len(reader._kept) <= LONGEST
    assert found == whole
    sizes = [len(one.bytes if isinstance(one, BadBytes) else encode(one)) for one in found]
    assert sum(sizes) + reader.reset() == len(noise)
    for one in found:
        if isinstance(one, ReportTelegram):
            read_report(one.data)


@given(REPORTS, REPORTS, st.data())
def test_a_report_after_a_damaged_one_arrives(
    damaged: ReportTelegram, next_: ReportTelegram, data: st.DataObject
) -> None:
    """One flipped bit, one lost byte or one that was added; what follows twice is read at least once."""
    wire = bytearray(encode(damaged))
    at = data.draw(st.integers(0, len(wire) - 1))
    match data.draw(st.sampled_from(["flip", "lose", "add"])):
        case "flip":
            wire[at] ^= 1 << data.draw(st.integers(0, 7))
        case "lose":
            del wire[at]
        case _:
            wire.insert(at, data.draw(st.integers(0, 255)))
    found = TelegramReader().feed(bytes(wire) + encode(next_) + encode(next_) + encode(next_))
    assert next_ in found


@given(REPORTS, st.data())
def test_one_flipped_bit_never_makes_another_report(sent: ReportTelegram, data: st.DataObject) -> None:
    wire = bytearray(encode(sent))
    wire[data.draw(st.integers(0, len(wire) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    found = [one for one in TelegramReader().feed(bytes(wire)) if isinstance(one, ReportTelegram)]
    assert found == []


def test_a_byte_in_a_damaged_report_is_no_answer() -> None:
    """Its checksum is wrong, and its data have the value of ACK: a lock must not count as accepted because of it."""
    damaged = bytearray(report("1", b"D\x06\x06"))
    damaged[-1] ^= 1
    found = TelegramReader().feed(bytes(damaged))
    assert [one.flaw for one in found if isinstance(one, BadBytes)] == [TelegramFlaw.CHECKSUM]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (b"x", TelegramFlaw.STRAY),
        (report("1", b"C")[:-1] + b"0", TelegramFlaw.CHECKSUM),
        (b"\x05\x31D\x80\xb1\x80\x80\x80", TelegramFlaw.NO_END),
        (b"\x05\x31?" + b"?" * MOST_DATA, TelegramFlaw.TOO_LONG),
        (bytes([STX]) + b"XXLK02\x03" + b"04", TelegramFlaw.NOT_A_COMMAND),
    ],
)
def test_bad_bytes_say_what_is_wrong_with_them(data: bytes, flaw: TelegramFlaw) -> None:
    found = TelegramReader().feed(data)
    assert isinstance(found[0], BadBytes)
    assert found[0].flaw is flaw
    assert str(flaw) in str(found[0])


# --- each report once -----------------------------------------------------------------------------------------------

CARD = b"D\x80\xb1"
SPADE_ACE = CardDrawn(CardFor.PLAYER, 0, "spades", "ace")


def test_a_report_that_is_sent_three_times_is_handled_once() -> None:
    line = AngelEyeLine()
    assert line.receive(report("4", CARD) * 3, 0.0) == [Reported(SPADE_ACE, ord("4"), None)]
    assert (line.counters.reports, line.counters.repeated) == (1, 2)


def test_the_same_card_under_the_next_number_is_another_card() -> None:
    line = AngelEyeLine(DIGITS)
    found = line.receive(report("4", CARD) * 3 + report("5", CARD), 0.0)
    assert [(one.report, one.missed) for one in found if isinstance(one, Reported)] == [
        (SPADE_ACE, None),
        (SPADE_ACE, 0),
    ]


def test_lost_reports_are_noticed_by_their_numbers_where_their_order_is_known() -> None:
    numbered, unnumbered = AngelEyeLine(DIGITS), AngelEyeLine()
    wire = report("8", b"P") + report("1", b"C")
    assert [one.missed for one in numbered.receive(wire, 0.0) if isinstance(one, Reported)] == [None, 2]
    assert [one.missed for one in unnumbered.receive(wire, 0.0) if isinstance(one, Reported)] == [None, None]
    assert numbered.counters.missed == 2


def test_a_shoe_that_starts_counts_anew() -> None:
    line = AngelEyeLine(DIGITS)
    found = line.receive(report("8", b"P") + report("1", b"S"), 0.0)
    assert found[1:] == [Reported(Started(), ord("1"), 0)]


def test_two_reports_with_one_number_that_differ_are_both_shown() -> None:
    line = AngelEyeLine(DIGITS)
    found = line.receive(report("4", CARD) + report("4", b"C"), 0.0)
    assert found[1:] == [Contradicted(SPADE_ACE, CutCardDrawn(), ord("4"))]


def test_what_came_before_the_line_was_opened_again_does_not_count() -> None:
    """The shoe may have gone through all numbers meanwhile, so the same one is another report."""
    line = AngelEyeLine(DIGITS)
    line.receive(report("4", b"P") + report("5", CARD)[:3], 0.0)
    line.disconnect()
    line.connect()
    assert line.receive(report("4", b"P"), 1.0) == [Reported(StandBy(), ord("4"), None)]
    assert line.counters.bad_bytes == 3


# --- commands -------------------------------------------------------------------------------------------------------

LOCK, UNLOCK = ShoeCommand.LOCK.value, ShoeCommand.UNLOCK.value


def test_a_command_waits_for_the_answer_to_the_one_before_it() -> None:
    line = AngelEyeLine()
    line.give(LOCK, 0.0)
    line.give(UNLOCK, 0.0)
    assert line.take_output() == encode(LOCK)
    assert line.receive(b"\x06", 0.1) == [Answered(LOCK)]
    assert line.take_output() == encode(UNLOCK)
    assert line.receive(b"\x15\x21", 0.2) == [Answered(UNLOCK, "busy")]
    assert line.deadline == math.inf


def test_a_refusal_that_is_not_known_shows_its_code() -> None:
    line = AngelEyeLine()
    line.give(LOCK, 0.0)
    assert line.receive(b"\x15\x77", 0.1) == [Answered(LOCK, "code 77")]


def test_a_late_answer_is_not_taken_for_that_to_the_next_command() -> None:
    line = AngelEyeLine()
    line.give(LOCK, 0.0)
    line.give(UNLOCK, 0.0)
    line.take_output()
    assert line.tick(line.deadline) == [NotAnswered(LOCK)]
    assert line.receive(b"\x06", ANSWER_WITHIN_S + 1.0) == []
    assert line.take_output() == b""
    assert line.counters.unexpected == 1
    assert line.tick(line.deadline) == []
    assert line.take_output() == encode(UNLOCK)


def test_commands_without_an_answer_are_given_up_with_the_line() -> None:
    line = AngelEyeLine()
    line.give(LOCK, 0.0)
    line.give(UNLOCK, 0.0)
    assert line.disconnect() == [NotAnswered(LOCK), NotAnswered(UNLOCK)]
    line.connect()
    assert (line.take_output(), line.deadline) == (b"", math.inf)


def test_an_answer_that_nobody_waits_for_is_counted() -> None:
    line = AngelEyeLine()
    assert line.receive(b"\x06\x15\x21", 0.0) == []
    assert line.counters.unexpected == 2

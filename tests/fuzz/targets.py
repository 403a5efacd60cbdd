"""What is fuzzed. Each target takes any bytes; it raises nothing, or the contract of what it looks at is broken.

The contract is the same everywhere: it parses, or it raises the one documented error; never another exception, a hang
or memory without bound. The number that comes back says how far the bytes came: a search may use it as its aim.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from controller.daemon.config import EXAMPLE, Config, ConfigError, parse_config
from controller.journal import Checkpoint, Journal, JournalError, JournalReader, NewEvent
from controller.journal.export import json_lines, span, verify_lines
from firmware_bridge.drivers.angel_eye.line import DIGITS, AngelEyeLine, Reported, ShoeCommand
from firmware_bridge.drivers.angel_eye.telegram import MOST_DATA
from firmware_bridge.tools.angel_eye_traffic import describe_report
from firmware_bridge.wire.frame import MAX_BODY, MAX_ENCODED, BadFrame, FrameDecoder, encode_frame
from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import (
    VERSION,
    AskStatus,
    Button,
    ButtonName,
    DeviceRole,
    Dispense,
    Done,
    Welcome,
)
from firmware_bridge.wire.packet import MAX_MESSAGE
from firmware_bridge.wire.session import EventMark, HostSession
from simulators.table.scenario import ScenarioError, read_scenario
from tests.support.snapshots import save_state

HANG_S = 20  # nothing that anybody sends may take this long
Target = Callable[[bytes], int]
SCENARIOS = Path(__file__).parents[1] / "scenarios"


class Hang(AssertionError):
    """It took too long."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """A hang is an error, not a wait."""

    def late(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {HANG_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# --- the wire -------------------------------------------------------------------------------------------------------


def frame(data: bytes) -> int:
    """The decoder: whole and byte by byte it finds the same, and it keeps no more than a frame."""
    whole = FrameDecoder()
    found = whole.feed(data)
    single = FrameDecoder()
    pieces: list[bytes | BadFrame] = []
    for at in range(len(data)):
        pieces += single.feed(data[at : at + 1])
        assert len(single._buffer) <= MAX_ENCODED
    good = [one for one in found if isinstance(one, bytes)]
    assert good == [one for one in pieces if isinstance(one, bytes)]
    assert [str(one) for one in found] == [str(one) for one in pieces]
    for body in good:
        assert 0 < len(body) <= MAX_BODY
        assert FrameDecoder().feed(encode_frame(body)) == [body]
    return len(good)


def session(data: bytes) -> int:
    """A host's session at any stage. The first byte says how far it has come; then what the device does, bit by bit:
    raw bytes, whole frames with any body, messages in good order with any content, and time that passes.
    """
    device_boot, now, happened = 7, 20.0, 0
    host = HostSession(host_boot=5, stored=EventMark(device_boot, 3), software="fuzz", expects=DeviceRole.SHOE)
    device = Link(opens=False, boot=device_boot)

    def exchange(raw: bytes = b"") -> None:
        nonlocal happened
        for happening in host.receive(raw, now) if raw else ():
            happened += 1
            str(happening)
        for _ in range(50):
            there, back = host.take_output(), device.take_output()
            if not there and not back:
                return
            device.receive(there, now)
            happened += len(host.receive(back, now))
        raise AssertionError("they talk for ever")

    stage = data[0] % 4 if data else 0
    if stage > 0:
        host.connect(now)
        exchange()
    if stage > 1:
        welcome = Welcome(VERSION, device_boot, DeviceRole.SHOE, "M", "O", "S", "1", b"", [1, 5], first_event=4)
        device.send(welcome.encode(), now)
        exchange()
        assert host.ready
    if stage > 2:
        host.send(Dispense(id=9, boot=device_boot, cards=3), now)
        host.ask(AskStatus(1), now)
        exchange()
    rest = data[1:]
    while rest:
        what, length = rest[0] % 5, rest[1] if len(rest) > 1 else 0
        piece, rest = rest[2 : 2 + length], rest[2 + length :]
        if what == 0:
            exchange(piece)
        elif what == 1 and piece:
            exchange(encode_frame(piece[:MAX_BODY]))
        elif what == 2 and piece and device.state.name == "OPEN" and not device.full:
            device.send(piece[:MAX_MESSAGE], now)
            exchange()
        elif what == 3:
            now += length / 16
            happened += len(host.tick(now))
            device.tick(now)
            exchange()
        elif what == 4:
            host.connect(now)
            exchange()
    return happened


# --- files of people ------------------------------------------------------------------------------------------------


def config(data: bytes) -> int:
    """The table's configuration."""
    try:
        found = parse_config(data.decode(errors="replace"), "table.toml")
    except ConfigError as error:
        str(error)
        return 0
    assert isinstance(found, Config)
    return 2


def scenario(data: bytes) -> int:
    """A story in TOML."""
    try:
        return len(read_scenario(data.decode(errors="replace")).step)
    except ScenarioError as error:
        str(error)
        return 0


# --- the journal ----------------------------------------------------------------------------------------------------

TS = "2026-01-31T23:59:59.000000Z"


@functools.cache
def _folder() -> Path:
    import atexit
    import shutil

    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # many small files, each flushed
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def good_journal() -> tuple[bytes, bytes]:
    """A small journal, as a file and as an export."""
    path = _folder() / "good.db"
    with Journal(path, create=True) as journal:
        for number in range(12):
            data = {"round": number, "text": "x" * (number * 450), "deck": "red-1"}
            journal.append([NewEvent(TS, "round.started", ("10.B",), data)])
        save_state(journal, 6, b"state" * 50, "v1")
        journal.mark_verified(Checkpoint(journal.head.seq, journal.head.hash))
        exported = b"".join(json_lines(journal, span(journal), proof=True))
    return path.read_bytes(), exported


def patched(good: bytes, data: bytes) -> bytes:
    """The good bytes with patches: three bytes of place, one of length, the new bytes; a place past the end cuts."""
    made = bytearray(good)
    while len(data) >= 4:
        at, length = int.from_bytes(data[:3], "big"), data[3]
        if at >= len(good):
            del made[at % len(good) :]
        else:
            made[at : at + length] = data[4 : 4 + length].ljust(length, b"\0")
        data = data[4 + length :]
    return bytes(made)


def journal_file(data: bytes) -> int:
    """A journal's file with anything in it: patched, or wholly other."""
    path = _folder() / "tried.db"
    for suffix in ("", "-wal", "-shm", ".lock"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(data[1:] if data[:1] == b"\xff" else patched(good_journal()[0], data[1:]))
    return _read_all(path) + _write_more(path)


def _read_all(path: Path) -> int:
    done, ignored = 0, list[str]()
    try:
        with JournalReader(path) as reader:
            for work in (
                lambda: reader.head,
                lambda: list(reader.events()),
                lambda: reader.last(3, ("round.started",)),
                lambda: reader.search(kind="round", having=[("deck", "red-1")], text=["x"], newest=True),
                lambda: reader.verified(),
                lambda: reader.latest_snapshot(on_ignored=ignored.append),
                lambda: reader.check_snapshots("v1"),
                lambda: list(json_lines(reader, span(reader), proof=True)),
                reader.verify,
            ):
                try:
                    work()
                    done += 1
                except JournalError:
                    continue
    except JournalError:
        return done
    return done


def _write_more(path: Path) -> int:
    try:
        with Journal(path) as journal:
            journal.append([NewEvent(TS, "round.completed", (), {})])
            save_state(journal, journal.head.seq, b"state", "v1")
            return 1
    except JournalError:
        return 0


def journal_log(data: bytes) -> int:
    """A journal whose write-ahead log has anything in it, as after a crash on a bad disk."""
    path = _folder() / "logged.db"
    for suffix in ("", "-wal", "-shm", ".lock"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    file, log = _journal_with_log()
    path.write_bytes(file)
    path.with_name("logged.db-wal").write_bytes(patched(log, data))
    return _read_all(path) + _write_more(path)


@functools.cache
def _journal_with_log() -> tuple[bytes, bytes]:
    path = _folder() / "with_log.db"
    journal = Journal(path, create=True)
    for number in range(5):
        journal.append([NewEvent(TS, "round.started", ("10.B",), {"round": number, "deck": "red-1"})])
    found = path.read_bytes(), path.with_name("with_log.db-wal").read_bytes()
    journal.close()
    return found


def export(data: bytes) -> int:
    """Exported lines: patched, or wholly other."""
    text = data[1:] if data[:1] == b"\xff" else patched(good_journal()[1], data[1:])
    try:
        return verify_lines(text.splitlines(keepends=True)).count
    except JournalError as error:
        str(error)
        return 0


# --- the API --------------------------------------------------------------------------------------------------------


def api(data: bytes) -> int:
    """A request at the API of a real daemon: any method, path, headers and body."""
    from tests.fuzz.asked import asked

    return asked(data)


def angel_eye(data: bytes) -> int:
    """The line of an Angel Eye: whole and byte by byte it says the same, and it keeps no more than one telegram."""
    whole, single = AngelEyeLine(DIGITS), AngelEyeLine(DIGITS)
    for line in (whole, single):
        line.give(ShoeCommand.LOCK.value, 0.0)
    found = whole.receive(data, 1.0)
    pieces = [one for at in range(len(data)) for one in single.receive(data[at : at + 1], 1.0)]
    assert found == pieces
    assert whole.counters == single.counters
    assert single._reader.kept <= MOST_DATA + 5
    for one in found:
        if isinstance(one, Reported):
            describe_report(one.report)
    return len(found)


TARGETS: dict[str, Target] = {
    "frame": frame,
    "angel_eye": angel_eye,
    "session": session,
    "config": config,
    "scenario": scenario,
    "journal_file": journal_file,
    "journal_log": journal_log,
    "export": export,
    "api": api,
}


@functools.cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Good beginnings of a search."""
    event = Button(4, 0, ButtonName.GREEN).encode()
    done = Done(9).encode()
    if name == "frame":
        return (encode_frame(b"hello"), encode_frame(bytes(MAX_BODY)) * 2, b"\0\0\5abc\0")
    if name == "angel_eye":
        vectors = json.loads((Path(__file__).parents[2] / "docs" / "angel-eye-vectors.json").read_text())
        return tuple(bytes.fromhex(vector["bytes"]) for vector in vectors)
    if name == "session":
        return (
            b"\0",
            *(bytes([stage, 2, len(event)]) + event + bytes([2, len(done)]) + done for stage in range(4)),
            b"\3\3\xff\4\0" + bytes([1, 5]) + b"\x10\0\0\0\0",
        )
    if name == "config":
        return (
            EXAMPLE.encode(),
            b'[shuffler]\nport = "usb:1209:5d0e"\n[shoe]\nport = "socket://a:1"\n',
            b"x = [[[1]]]",
        )
    if name == "scenario":
        return tuple(path.read_bytes() for path in sorted(SCENARIOS.glob("*.toml"))[::12])
    if name == "journal_file":
        return (b"\0", b"\xff" + good_journal()[0][:100], b"\0" + b"\0\x10\x00\x02\x0d\x00", b"\0\0\0\x10\x02\x02\x00")
    if name == "journal_log":
        return (b"", b"\0\0\x20\x04abcd")
    if name == "export":
        return (b"\0", b"\xff" + good_journal()[1], b"\0\0\0\x40\x02zz")
    return (
        b"GET /api/v1/table",
        b"GET /api/v1/events?after=1&kind=table&text=a+b&limit=5&newest=1",
        b"GET /api/v1/events/stream?only=journal&after=1\nlast-event-id:1",
        b"GET /api/v1/rounds?before=9&limit=3",
        b"GET /api/v1/rounds/1",
        b"GET /web/../api.py",
        b"GET /metrics",
        b'POST /api/v1/actions\n\n{"action": "open_table"}',
        b'POST /api/v1/actions\n\n{"action": "wager", "seats": [1, 2], "role": "dealer"}',
        b'POST /api/v1/people/unlock\n\n{"name": "Dana"}',
        b'POST /api/v1/session\nx-screen:1\ncookie:shoed=x\nx-token:y\n\n{"name": "Dana", "pin": "2580"}',
        b"DELETE /api/v1/session\nx-screen:1\n\n{}",
    )


def run(name: str, data: bytes) -> int:
    """One input at one target, in bounded time."""
    with limited():
        try:
            return TARGETS[name](data)
        except sqlite3.Error as error:  # said by name: it is the one that slips through most easily
            raise AssertionError(f"{type(error).__name__} came through: {error}") from error

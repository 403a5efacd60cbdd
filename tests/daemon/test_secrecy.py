"""No hidden card appears in anything that the daemon writes or returns, whatever a card-recognising device reports.

Hidden are the cards that were not dealt, and the hands until they are turned over. The devices here report far more
than they should: every event contains the order of all cards inside and in the hands, there are events of a later
version that contain nothing else, a stack that is taken carries its cards as in version 0.1, an answer that nobody
asked for names them, and the kinds that they count are numbers that occur nowhere else. That the search finds a leak is
checked in tests/campaign/test_planted_leaks.py.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import re
import resource
import signal
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind
from firmware_bridge.wire.messages import (
    AskCards,
    Capability,
    CardFaceUp,
    CardKinds,
    CardsCounted,
    EventMessage,
    Message,
    StackTaken,
    message_number,
)
from simulators.devices.cards import CardPlace
from simulators.devices.device import SHOE_CAPABILITIES
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Firmware
from simulators.table.house import capabilities, deck_names
from tests.crash.outside import Outside
from tests.daemon.test_shoed import config_file
from tests.support.plugged import Plugged
from tests.support.served import LIMIT_S, Served, UnixConnection
from tests.support.shoectl import shoectl

LETTERS = "QXZJKVWY"  # one for each kind of card
WINDOW = 8  # this many cards in a row are not a coincidence
COUNTS = [61_803, 39_887, 49_894, 48_204, 58_683, 43_656, 56_381, 17_720]  # of each kind; recognisable as a sequence
KINDS = 79_190_010_300  # the base of the numbers that a device adds for the cards of a stack; plus the kind
KIND = 233  # of every card that is seen face up
LATER_EVENT = 90  # of a protocol that comes after this one
TAKEN = message_number(StackTaken)
PATHS = (
    *(f"/api/v1/{name}" for name in ("table", "events?newest=1&limit=500", "actions", "rounds", "rounds/1", "rules")),
    *(f"/api/v1/{name}" for name in ("devices", "devices/shuffler/frames", "devices/shoe/frames", "journal")),
    *(f"/api/v1/{name}" for name in ("session", "people", "simulation", "openapi.json", "flows", "flows/close")),
    "/metrics",
    "/healthz",
    "/",
)

ALWAYS_NAMED = ("/api/v1/rules",)  # the rules of the game name its cards
NAMES = re.compile(rb"(red|blue|gold) dragon|phoenix|tiger|panda|monkey|rabbit", re.IGNORECASE)
# The game's own list of them, in its configuration; CSV doubles quotation marks.
ALL_KINDS = re.compile(rb'\[\s*"{1,2}red dragon"[^]]*"rabbit"{1,2}\s*\]')

reported: set[str] = set()  # every order of cards that a device has reported
asked: list[int] = []  # the commands whose cards the shoe was asked for


class Talkative(Firmware):
    """A device that recognises all cards inside and reports them."""

    wrong_kinds = False  # of the next count
    tells_in_new_events = False  # events of a later version contain cards too

    def _inside(self) -> str:
        cards = self.mechanics.cards
        outside = (CardPlace.EXIT, CardPlace.HAND)
        places = (*outside, CardPlace.HELD, CardPlace.SHOE, CardPlace.INFEED, CardPlace.SHELVES, CardPlace.OUTPUT)
        order = "".join(
            LETTERS[card.kind] for place in places for spot in cards.spots(place) for card in cards.pile(spot)
        )
        reported.add(order)
        return order[:106]

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is CardFaceUp:
            fields["kind"] = KIND
        if what is CardsCounted and Talkative.wrong_kinds:
            Talkative.wrong_kinds = False
            fields["kinds"] = list(COUNTS)
        if what is CardsCounted:
            self._later()
        super().report(what, **fields)

    def _later(self) -> None:
        number = self._next_event
        content = self._inside() if Talkative.tells_in_new_events else "something new"
        event = msgspec.msgpack.encode([LATER_EVENT, number, self._uptime_ms(), content])
        self._events.append((number, event))
        self._next_event += 1
        if self._greeted:
            self._send_event(number, event)

    def _send_event(self, number: int, event: bytes) -> None:
        """Add fields that the protocol does not have, and an answer to no question: they must be ignored."""
        fields = msgspec.msgpack.decode(event)
        if fields[0] == LATER_EVENT:
            super()._send_event(number, event)
            return
        kinds = self._taken.get(fields[3]) if fields[0] == TAKEN else None
        extra = [[KINDS + kind for kind in kinds]] if kinds else []
        super()._send_event(number, msgspec.msgpack.encode([*fields, *extra, self._inside()]))
        if kinds:
            self._send(CardKinds(fields[3], fields[3], kinds).encode())

    def _cards(self, question: AskCards) -> Message:
        asked.append(question.command)
        return super()._cards(question)


# A run of the letters as they are, in hexadecimal, and as a list of numbers; matches are looked up in `reported`.
AS_LETTERS = re.compile(rb"[QXZJKVWY]{8,}")
AS_HEX = re.compile(rb"(?:51|58|5[aA]|4[aA]|4[bB]|56|57|59){8,}")
AS_NUMBERS = re.compile(rb"(?:(?:81|88|90|74|75|86|87|89)[, ]{0,2}){8,}")
AS_BASE64 = re.compile(rb"[A-Za-z0-9+/]{10,}")
BASE64_BEGINS = (0, 2, 3)  # the first character that the letters alone decide, by how they are aligned


def leaks(outputs: dict[str, bytes]) -> dict[str, str]:
    """The outputs that contain undealt cards, and what they contain."""
    windows = {order[at : at + WINDOW].encode() for order in reported for at in range(len(order) - WINDOW + 1)}
    encoded = {
        base64.b64encode(bytes(shift) + window)[begin:][:10]
        for window in windows
        for shift, begin in enumerate(BASE64_BEGINS)
    }
    packed = [msgspec.msgpack.encode(pair)[1:] for pair in itertools.pairwise(COUNTS)]
    forms = [form for one in packed for form in (one, one.hex().encode())]
    forms += [b"%d%s%d" % (a, between, b) for a, b in itertools.pairwise(COUNTS) for between in (b",", b", ")]
    numbers = range(KINDS, KINDS + 8)
    forms += [form for n in numbers for form in (b"%d" % n, b"%x" % n, n.to_bytes(8), n.to_bytes(8, "little"))]
    forms += [b'"kind":%d' % KIND, b'"kind": %d' % KIND, b"kind=%d" % KIND]
    found: dict[str, str] = {}
    for name, data in outputs.items():
        runs = [
            *AS_LETTERS.findall(data),
            *(bytes.fromhex(run.decode()) for run in AS_HEX.findall(data)),
            *(bytes(int(code) for code in re.findall(rb"\d\d", run)) for run in AS_NUMBERS.findall(data)),
        ]
        hits = [run for run in runs if _has(run, WINDOW, windows)]
        hits += [run for run in AS_BASE64.findall(data) if _has(run, 10, encoded)]
        hits += [form for form in forms if form in data]
        if hits:
            found[name] = repr(hits[0])
    return found


def named(outputs: dict[str, bytes]) -> dict[str, str]:
    """The outputs in which a kind of card is named."""
    found = {name: NAMES.search(ALL_KINDS.sub(b"", data)) for name, data in outputs.items() if name not in ALWAYS_NAMED}
    return {name: match[0].decode() for name, match in found.items() if match}


def _has(run: bytes, length: int, wanted: set[bytes]) -> bool:
    return any(run[at : at + length] in wanted for at in range(len(run) - length + 1))


class Session:
    """A daemon with leaky devices, all its output, and people who play."""

    def __init__(self, folder: Path, command: tuple[str, ...] | None = None, build: type[Firmware] = Talkative) -> None:
        setup = Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True))
        reported.clear()
        asked.clear()
        self.folder = folder
        self.outputs: dict[str, bytes] = {}
        self.plugged = Plugged(
            folder,
            speed=100.0,
            decks=deck_names(setup, 6),
            shuffler_capabilities=capabilities(setup, "shuffler"),
            shoe_capabilities=SHOE_CAPABILITIES | {Capability.RECOGNISES},
            build=build,
        )
        file = folder / config_file(folder, more='[screen]\nlisten = "127.0.0.1:0"\npeople = "people.toml"\n')
        file.write_text(file.read_text().replace("[shuffler]\n", "[shuffler]\nrecognises = true\n"))
        self._command = {"command": command} if command else {}
        self.outside = Outside(folder, self.plugged, setup)
        self.starts = 0
        self.begin()

    def begin(self) -> None:
        """Start the daemon, and read its live events."""
        self.starts += 1
        env = {"PYTHONFAULTHANDLER": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
        self.served = Served(self.folder, "--config", "table.toml", env=env, **self._command)
        self.served.until("ready")
        self._listening = threading.Thread(target=self._listen, args=(f"stream {self.starts}",))
        self._listening.start()

    def _listen(self, name: str) -> None:
        connection = UnixConnection(self.served.socket)
        self.outputs[name] = b""
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/api/v1/events/stream?after=0")
            with connection.getresponse() as response:
                while part := response.read1():
                    self.outputs[name] += part

    def end(self, how: signal.Signals) -> None:
        """Keep a copy of disk and log, and end the daemon."""
        self.outputs |= {f"{name} {self.starts}": data for name, data in self._files().items()}
        assert self.served.end(how) == -how
        self._listening.join(LIMIT_S)
        self.outputs[f"log {self.starts}"] = self.served.log.encode()
        self.served.close()

    def play(self, rounds: int, *faults: tuple[str, FaultName], kill: bool = False) -> None:
        """Play this many more rounds, with faults in the first; optionally kill the daemon in the middle of it."""
        wanted = self.outside.state.rounds + rounds
        limit = time.monotonic() + 2 * LIMIT_S
        while True:
            state = self.outside.state
            idle = state.table is TableState.BETTING and state.round is None
            if idle and state.rounds >= wanted and not state.warnings:
                return
            if kill and state.round is not None:
                kill = False
                self.end(signal.SIGKILL)
                self.begin()
            if faults and state.round is not None:
                self._inject(faults)
                faults = ()
            self.outside.work()
            assert time.monotonic() < limit, (state.table, state.warnings, state.devices)

    def _inject(self, faults: tuple[tuple[str, FaultName], ...]) -> None:
        self.plugged.do(lambda table, now: [getattr(table, name).inject(what, now) for name, what in faults])

    def until_revealed(self) -> None:
        """Play the first round until the dealer's cards are shown; at no moment before is a card of a hand named."""
        limit = time.monotonic() + 2 * LIMIT_S
        moments = 0
        while True:
            outputs = self.responses() | self._files() | self.outputs | {"log": self.served.log.encode()}
            kinds = {event.kind for event in self.outside.events} if self.outside.state.seq else set()
            if "dealer.revealed" in kinds:
                assert moments > 5
                return
            moments += "stack.taken" in kinds
            found = named(outputs)
            assert not found, sorted(found)
            self.outside.work()
            assert time.monotonic() < limit, self.outside.state.table

    def asked_early(self) -> set[int]:
        """The commands whose cards the shoe was asked for although their round was never revealed."""
        revealed = {event.data["round"] for event in self.outside.events if event.kind == "dealer.revealed"}
        taken = [event.data for event in self.outside.events if event.kind == "stack.taken"]
        return set(asked) - {data["command"] for data in taken if data["round"] in revealed}

    def responses(self) -> dict[str, bytes]:
        """Every response of the API."""
        return {path: self.served.ask("GET", path).body for path in PATHS}

    def _files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((self.folder / "run").glob("journal.db*"))}

    def ask_everything(self) -> None:
        """Every response of the API, the support bundle and the exports."""
        self.outputs |= self.responses()
        for name, answer in (("refused", self.served.do("reveal_dealer")), ("wrong", self.served.do("cut_deck"))):
            assert answer.status in (400, 409)
            self.outputs[name] = answer.body
        self.outputs |= self.bundle() | self.exports()

    def exports(self) -> dict[str, bytes]:
        """The journal as people take it away."""
        files = {name: self.folder / name for name in ("export.csv", "export.jsonl", "proof.jsonl", "copy.db")}
        journal = ("--force", "--journal", str(self.folder / "run" / "journal.db"))
        for words in (
            ("export", "--format", "csv", str(files["export.csv"])),
            ("export", str(files["export.jsonl"])),
            ("export", "--proof", str(files["proof.jsonl"])),
            ("copy", str(files["copy.db"])),
        ):
            done = shoectl("journal", *words, *journal)
            assert done.exit_code == 0, done.output
        contents = {name: file.read_bytes() for name, file in files.items()}
        assert min(map(len, contents.values())) > 1000
        return contents

    def bundle(self) -> dict[str, bytes]:
        """Every part of the support bundle."""
        file, config = self.folder / "bundle.tar.gz", self.folder / "table.toml"
        done = shoectl("bundle", str(file), "--force", "--socket", str(self.served.socket), "--config", str(config))
        assert done.exit_code == 0, done.output
        with tarfile.open(file) as archive:
            parts = [(part, archive.extractfile(part)) for part in archive.getmembers()]
            return {f"bundle {part.name}": content.read() for part, content in parts if content}

    def close(self) -> None:
        """Release everything, whatever has happened."""
        self.served.close()
        self._listening.join(LIMIT_S)
        self.plugged.close()


@contextlib.contextmanager
def session(
    folder: Path,
    command: tuple[str, ...] | None = None,
    build: type[Firmware] = Talkative,
    kind: type[Session] = Session,
) -> Iterator[Session]:
    """A table that is always closed."""
    found = kind(folder, command, build)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize(
    "form", [str, lambda s: s.encode().hex(), lambda s: base64.b64encode(b"!" + s.encode()).decode()]
)
def test_the_search_finds_an_order_in_every_form(form: Callable[[str], str]) -> None:
    reported.clear()
    reported.add("QXZJKVWYYWVKJ")
    assert leaks({"page": f"nothing {form('XZJKVWYYW')} here".encode()})
    assert leaks({"page": str([*b"XZJKVWYYW"]).encode()})
    assert not leaks({"page": f"nothing {form('XZJKVWYQX')} here".encode()})  # an order that was not reported


def test_nothing_undealt_is_written_or_answered(tmp_path: Path) -> None:
    with session(tmp_path) as table:
        table.play(1)
        Talkative.wrong_kinds = True
        table.play(2, ("shoe", FaultName.JAM), ("shuffler", FaultName.FACE_UP))
        table.play(1, kill=True)
        table.play(2, ("shoe", FaultName.REBOOT), ("shuffler", FaultName.JAM))
        table.ask_everything()
        process = Path(f"/proc/{table.served.process.pid}")
        assert resource.prlimit(table.served.process.pid, resource.RLIMIT_CORE) == (0, 0)
        assert int((process / "coredump_filter").read_text(), 16) == 0  # nothing is piped to a core handler either
        table.end(signal.SIGABRT)
    kinds = {event.kind for event in table.outside.events}
    assert {"count.rejected", "round.voided", "device.jammed", "card.turned", "device.reported"} <= kinds
    assert "Current thread" in table.outputs[f"log {table.starts}"].decode()  # the crash dump is there
    assert len(reported) > 50
    assert leaks(table.outputs) == {}
    assert len(asked) > 10
    assert table.asked_early() == set()


def test_every_response_that_can_be_read_is_searched(tmp_path: Path) -> None:
    """A new one is searched for cards, too. The stream is read all the time."""
    with session(tmp_path) as table:
        paths = table.served.get("/api/v1/openapi.json")["paths"]
    example = {"{number}": "1", "{goal}": "close", "{name}": "shoe"}
    readable = {path for path, methods in paths.items() if "get" in methods} - {"/api/v1/events/stream"}
    for variable, value in example.items():
        readable = {path.replace(variable, value) for path in readable}
    assert readable <= {path.partition("?")[0] for path in PATHS}


def test_no_hand_is_known_before_it_is_turned_over(tmp_path: Path) -> None:
    with session(tmp_path) as table:
        table.until_revealed()
        table.play(0)
        table.ask_everything()
        assert table.asked_early() == set()
    assert leaks(table.outputs) == {}
    assert {"/api/v1/events?newest=1&limit=500", "/api/v1/rounds/1", "stream 1"} <= set(named(table.outputs))


@contextlib.contextmanager
def new_events_tell() -> Iterator[None]:
    """The events of a later version contain the cards, too."""
    Talkative.tells_in_new_events = True
    try:
        yield
    finally:
        Talkative.tells_in_new_events = False


def test_what_an_unknown_event_contains_stays_in_the_journal(tmp_path: Path) -> None:
    """It is kept as it was sent, for the auditor, also in exports; nobody at the table can read it."""
    with new_events_tell(), session(tmp_path) as table:
        table.play(1)
        table.ask_everything()
        table.end(signal.SIGKILL)
    journal = {"journal.db", "journal.db-wal", "export.csv", "export.jsonl", "proof.jsonl", "copy.db"}
    assert {name.partition(" ")[0] for name in leaks(table.outputs)} <= journal
    (seen, *_) = [event.data for event in table.outside.events if event.data.get("message_number") == LATER_EVENT]
    assert leaks({"content": seen["content"].encode()})

"""No face-down card is in anything that people take away from a table: exports, copies, the bundle, recordings.

While the players decide, each is made again whenever another hand has been taken, and searched for cards. That the
search finds a leak in each of them is checked in tests/campaign/test_planted_leaks.py.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from firmware_bridge.tools.capture import Header, Piece, end_line, header_line, read_capture, record_line, utc_now
from firmware_bridge.tools.conform.hidden_points import ELEMENTS
from firmware_bridge.wire.frame import FrameDecoder
from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import CardFaceUp, CardKinds, DeviceRole, message_number
from firmware_bridge.wire.packet import PacketType, parse_packet
from simulators.devices.firmware import Firmware
from tests.daemon.test_secrecy import Session, named, session
from tests.support.served import LIMIT_S
from tests.support.shoectl import shoectl

tapped: list[Piece] = []  # everything on the line of the shoe


class TappedLink(Link):
    """A line with a second cable, at which somebody records."""

    def take_output(self) -> bytes:
        data = super().take_output()
        if data:
            tapped.append(Piece(0.0, "in", data))
        return data


class Tapped(Firmware):
    """A device that keeps to the protocol, on such a line."""

    def __init__(self, plate: Any, *more: Any) -> None:
        if plate.role is DeviceRole.SHOE:
            self.link_type = TappedLink  # type: ignore[misc]
        super().__init__(plate, *more)

    def receive(self, data: bytes, now: float) -> None:
        if self.plate.role is DeviceRole.SHOE:
            tapped.append(Piece(0.0, "out", data))
        super().receive(data, now)


def cards_named(recording: bytes) -> list[str]:
    """The messages of a recording that say what a card is: an answer to AskCards, a card that is face up, or an event
    with more elements than the protocol has."""
    decoder = FrameDecoder()
    found = []
    for record in read_capture(iter(recording.splitlines(keepends=True))):
        if not isinstance(record, Piece) or record.direction != "in":
            continue
        for body in decoder.feed(record.data):
            packet = parse_packet(body) if isinstance(body, bytes) else None
            if packet is None or packet.type is not PacketType.DATA:
                continue
            number, *fields = msgspec.msgpack.decode(packet.message)
            more = 1 + len(fields) > ELEMENTS.get(number, 0)
            if more or number in (message_number(CardKinds), message_number(CardFaceUp)):
                found.append(f"message {number}: {fields}")
    return found


class Leaving(Session):
    """A table, and everything that can be taken away from it."""

    def taken_away(self) -> dict[str, bytes]:
        """The content of every file that a person can make, by what it is."""
        return self.exports() | self.bundle() | self._recorded()

    def _recorded(self) -> dict[str, bytes]:
        file = self.folder / "capture.jsonl"
        header = header_line(Header(port="shoe", started=utc_now(), baud=115_200, passive=True))
        records = tapped[:]
        file.write_bytes(header + b"".join(map(record_line, records)) + end_line(0.0, len(records)))
        replayed = shoectl("replay", str(file), "--json")
        assert replayed.exit_code == 0, replayed.output
        assert "StackTaken" in replayed.stdout
        return {"capture": file.read_bytes(), "replay": replayed.stdout.encode()}

    def search_until_revealed(self) -> int:
        """Play the first round until the dealer's cards are shown, and search all of it after each hand that is taken.
        Returns how often."""
        limit = time.monotonic() + 4 * LIMIT_S
        hands = searched = 0
        while True:
            kinds = [event.kind for event in self.outside.events] if self.outside.state.seq else []
            if "dealer.revealed" in kinds:
                return searched
            if kinds.count("stack.taken") > hands:
                hands = kinds.count("stack.taken")
                searched += 1
                self.search()
            self.outside.work()
            assert time.monotonic() < limit, self.outside.state.table

    def search(self) -> None:
        """No card is named in what can be taken away."""
        outputs = self.taken_away()
        found = {name: word for name, word in named(outputs).items() if not name.endswith("openapi.json")}
        if messages := cards_named(outputs["capture"]):
            found["capture"] = messages[0]
        if b"CardKinds" in outputs["replay"] or b'"kinds":[' in outputs["replay"].replace(b'"kinds":[]', b""):
            found["replay"] = "kinds"
        assert not found, f"cards are named in: {sorted(found)}"


def leaving(folder: Path, **more: Any) -> Any:
    """A table with devices that recognise cards and keep to the protocol, unless others are given."""
    tapped.clear()
    return session(folder, kind=Leaving, **({"build": Tapped} | more))


def test_no_hidden_hand_is_in_anything_that_leaves_the_table(tmp_path: Path) -> None:
    with leaving(tmp_path) as table:
        assert table.search_until_revealed() >= 3
        table.play(0)
        afterwards = table.taken_away()
    assert {"export.csv", "export.jsonl", "proof.jsonl", "copy.db", "bundle/journal/events.jsonl"} <= {
        name.replace("bundle bundle", "bundle") for name in named(afterwards)
    }
    assert cards_named(afterwards["capture"])  # once the hands are turned over, the shoe was asked

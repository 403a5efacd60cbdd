"""monitor, capture and self-test at an Angel Eye II-EX: behind a device server, and at a serial port."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge.drivers.angel_eye.line import ShoeCommand
from firmware_bridge.drivers.angel_eye.telegram import CommandTelegram, ReportTelegram, TelegramReader, encode
from tests.support.plugged import stranger
from tests.support.shoectl import shoectl

CARD = encode(ReportTelegram(ord("3"), b"D\x80\xb9"))
RESULT = encode(ReportTelegram(ord("4"), b"G\xc1"))


@pytest.fixture
def device_server() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that passes on what a shoe reports, and what it was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client:
                        client.sendall(CARD * 3 + RESULT[:4])
                        client.sendall(RESULT[4:])
                        while data := client.recv(4096):
                            heard.append(data)

        thread = threading.Thread(target=serve, name="device server")
        thread.start()
        yield f"socket://127.0.0.1:{server.getsockname()[1]}", heard
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_monitor_shows_what_an_angel_eye_reports_and_sends_nothing(device_server: tuple[str, list[bytes]]) -> None:
    address, heard = device_server
    shown = shoectl("monitor", address, "--driver", "angel-eye", "--count", "4")
    assert shown.exit_code == 0
    assert shown.stdout.count("REPORT 3  nine of spades to player 0") == 3
    assert "REPORT 4  result: banker, player pair" in shown.stdout
    assert heard == []


def test_a_capture_of_an_angel_eye_is_replayed_by_its_driver(
    device_server: tuple[str, list[bytes]], tmp_path: Path
) -> None:
    file = tmp_path / "shoe.jsonl"
    shown = shoectl("capture", device_server[0], str(file), "--driver", "angel-eye", "--count", "4")
    assert shown.exit_code == 0
    assert json.loads(file.read_text().splitlines()[0])["driver"] == "angel-eye"
    assert shoectl("replay", str(file)).stdout == shown.stdout


def test_programs_get_the_card_by_its_fields(device_server: tuple[str, list[bytes]]) -> None:
    shown = shoectl("monitor", device_server[0], "--driver", "angel-eye", "--count", "4", "--json")
    reports = [line["report"] for line in map(json.loads, shown.stdout.splitlines()) if "report" in line]
    assert reports[0] == {
        "name": "CardDrawn",
        "sequence": "3",
        "to": "player",
        "index": 0,
        "suit": "spades",
        "rank": "nine",
        "again": False,
    }


def test_a_driver_that_does_not_exist_is_refused() -> None:
    refused = shoectl("monitor", "/dev/null", "--driver", "angle-eye")
    assert refused.exit_code == 2
    assert "angel-eye" in refused.stderr


# --- self-test ------------------------------------------------------------------------------------------------------


class Lock:
    """A shoe's end of the line: what it answers to a command, and what it reports afterwards."""

    def __init__(self, answer: bytes = b"\x06", stays: bool = False) -> None:
        self.commands: list[CommandTelegram] = []
        self._reader = TelegramReader()
        self._answer = answer
        self._stays = stays

    def __call__(self, heard: bytes) -> bytes:
        reply = b""
        for one in self._reader.feed(heard):
            assert isinstance(one, CommandTelegram)
            self.commands.append(one)
            locked = self._stays or one == ShoeCommand.LOCK.value
            lock = encode(ReportTelegram(ord("0") + len(self.commands), bytes((ord("L"), 0x80 | locked))))
            reply += self._answer + lock * 3 if self._answer == b"\x06" else self._answer
        return reply


def test_a_self_test_locks_and_unlocks_an_angel_eye() -> None:
    shoe = Lock()
    with stranger(shoe) as path:
        shown = shoectl("self-test", path, "--driver", "angel-eye", "--yes")
    assert shown.exit_code == 0
    assert "it was locked and unlocked" in shown.stdout
    assert shoe.commands == [ShoeCommand.LOCK.value, ShoeCommand.UNLOCK.value]


@pytest.mark.parametrize(
    ("shoe", "fault"),
    [
        (Lock(b"\x15\x21"), "lock: refused, busy; unlock: refused, busy"),
        (Lock(b""), "lock: no answer; unlock: no answer"),
        (Lock(stays=True), "unlock: accepted, but the shoe has not reported its lock"),
    ],
)
def test_a_self_test_says_what_an_angel_eye_did_not_do(shoe: Lock, fault: str) -> None:
    with stranger(shoe) as path:
        shown = shoectl("self-test", path, "--driver", "angel-eye", "--yes", "--within", "1", "--json")
    assert shown.exit_code == 1
    assert "; ".join(json.loads(shown.stdout)["faults"]) == fault


def test_a_self_test_of_an_angel_eye_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    refused = shoectl("self-test", str(tmp_path / "nothing"), "--driver", "angel-eye", "--yes")
    assert refused.exit_code == 1
    assert "nothing" in refused.stderr.splitlines()[-1]
    assert "Traceback" not in refused.output

"""Floods of device events and of connections during a deal, which still ends correctly."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.api.server import BACKLOG, MAX_CONNECTIONS
from controller.core.machines import TableState
from controller.core.setup import Setup
from firmware_bridge.wire.messages import ButtonName
from simulators.devices.device import SimulatedTable
from simulators.table.house import deck_names
from tests.crash.outside import Outside
from tests.crash.test_every_point import check_round
from tests.daemon.test_shoed import config_file
from tests.support.plugged import Plugged
from tests.support.served import Served, UnixConnection, free_port

LIMIT_S = 120.0  # generous: only a hang runs into it
WATCHDOG_S = 15.0  # generous, for a busy machine
ROUNDS = 2
CROWD = 800  # connections on both sockets
OWN_FILES = 150  # of the daemon: journal, ports, libraries
GROWN_KB = 40_000  # memory that a flood may leave behind: buffers of connections, but not the data


class Systemd:
    """The receiving end of sd_notify: records the longest time between two watchdog messages."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "notify"))
        self._socket.setblocking(False)
        self.env = {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}
        self._fed_at = time.monotonic()
        self.longest_s = 0.0

    def look(self) -> None:
        """Read the messages that have arrived."""
        with contextlib.suppress(BlockingIOError):
            while message := self._socket.recv(4096):
                if b"WATCHDOG=1" in message:
                    self._fed_at = time.monotonic()
        self.longest_s = max(self.longest_s, time.monotonic() - self._fed_at)

    def close(self) -> None:
        self._socket.close()


class Flooded:
    """A table that plays while something else happens."""

    def __init__(self, folder: Path) -> None:
        self.systemd = Systemd(folder)
        self.plugged = Plugged(folder, speed=100.0, decks=deck_names(Setup(), 4))
        self.listen = f"127.0.0.1:{free_port()}"
        more = f'[screen]\nlisten = "{self.listen}"\npeople = "{folder}/people.toml"\n'
        self.served = Served(folder, "--config", config_file(folder, more=more), env=self.systemd.env)
        self.served.until("ready")
        self.outside = Outside(folder, self.plugged)
        self.pressed: Counter[str] = Counter()  # presses that a device has queued; it reserves room for card events

    def play(self, rounds: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Play whole rounds, each correct to the last card."""
        for _ in range(rounds):
            number, end = self.outside.state.rounds + 1, time.monotonic() + LIMIT_S
            while True:
                state = self.outside.state
                if state.rounds >= number and state.table is TableState.BETTING and state.round is None:
                    break
                meanwhile()
                self.outside.work()
                self.systemd.look()
                assert time.monotonic() < end, f"round {number}: {state.table}, {state.devices}, {state.warnings}"
            check_round(self.outside, number)

    @property
    def rss_kb(self) -> int:
        status = Path(f"/proc/{self.served.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    @property
    def fds(self) -> int:
        return len(os.listdir(f"/proc/{self.served.process.pid}/fd"))

    def close(self) -> None:
        self.served.close()
        self.plugged.close()
        self.systemd.close()


@pytest.fixture
def flooded(tmp_path: Path) -> Iterator[Flooded]:
    table = Flooded(tmp_path)
    try:
        table.play(1)
        yield table
        table.systemd.look()
        assert table.systemd.longest_s < WATCHDOG_S, "the watchdog was not fed"
        table.outside.verify()
        assert table.served.process.poll() is None
    finally:
        table.close()


def test_a_device_that_floods_events(flooded: Flooded) -> None:
    """Button presses faster than the link can carry them: every event that a device has numbered is stored once."""
    before = flooded.rss_kb
    flooded.play(ROUNDS, lambda: press(flooded, 10))
    end = time.monotonic() + LIMIT_S
    while (stored := buttons(flooded)) != flooded.pressed:
        assert time.monotonic() < end, (stored, flooded.pressed)
        flooded.systemd.look()
    assert min(stored.values()) > 500
    assert flooded.rss_kb - before < GROWN_KB


def press(flooded: Flooded, times: int) -> None:
    """Press a button of each device continuously."""

    def lean(table: SimulatedTable, now: float) -> None:
        for name, device in (("shoe", table.shoe), ("shuffler", table.shuffler)):
            assert device.firmware
            before = device.firmware._next_event
            for _ in range(times):
                device.press(ButtonName.GREEN, now)
            flooded.pressed[name] += device.firmware._next_event - before

    flooded.plugged.do(lean)


def buttons(flooded: Flooded) -> Counter[str]:
    """The button events in the journal."""
    flooded.outside.state  # noqa: B018 - reads the journal
    return Counter(event.data["device"] for event in flooded.outside.events if event.data.get("event") == "Button")


def test_hundreds_of_connections(flooded: Flooded) -> None:
    """Silent connections, partial requests, endless pipelines and garbage, on both sockets. Requests still work."""
    before, most = flooded.rss_kb, 0
    host, _, port = flooded.listen.rpartition(":")
    rng = random.Random(3)
    crowd: list[socket.socket] = []
    ask = b"GET /api/v1/table HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    said = (b"", ask[:20], ask * 50, b"\x00\xff" * 500, b"POST /api/v1/actions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{")

    def come(count: int = 5) -> None:
        nonlocal most
        for _ in range(count):
            unix = rng.random() < 0.5
            sock = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                sock.connect(str(flooded.served.socket) if unix else (host, int(port)))
            crowd.append(sock)
            with contextlib.suppress(OSError):
                rng.choice(crowd).send(rng.choice(said))
            if len(crowd) > CROWD:
                crowd.pop(rng.randrange(len(crowd))).close()
        most = max(most, flooded.fds)

    try:
        while len(crowd) < CROWD:
            come()
        flooded.play(ROUNDS, come)
        assert MAX_CONNECTIONS < most < 2 * (MAX_CONNECTIONS + 2 * BACKLOG) + OWN_FILES, most
        assert flooded.served.get("/healthz") == {"status": "ok"}
        assert flooded.rss_kb - before < GROWN_KB
    finally:
        for sock in crowd:
            sock.close()


def test_readers_that_do_not_read_are_sent_away(flooded: Flooded) -> None:
    """Clients request the stream and then read nothing from it, while the table has much to report."""
    before = flooded.rss_kb
    slow = [UnixConnection(flooded.served.socket) for _ in range(20)]
    for connection in slow:
        connection.request("GET", "/api/v1/events/stream")
    until(flooded, "shoed_screens 20")
    until(flooded, "shoed_screens 0", meanwhile=lambda: press(flooded, 50))
    for connection in slow:
        connection.close()
    flooded.play(1)
    assert flooded.rss_kb - before < GROWN_KB


def until(flooded: Flooded, wanted: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Read the daemon's metrics until they contain this line."""
    end = time.monotonic() + LIMIT_S
    while wanted not in (metrics := flooded.served.ask("GET", "/metrics").body.decode()).splitlines():
        meanwhile()
        flooded.systemd.look()
        assert time.monotonic() < end, metrics

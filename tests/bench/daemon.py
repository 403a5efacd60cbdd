"""The daemon as a process: its start, its memory, its idleness, its answer to a jam, and a deal before a crowd."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from controller.core.machines import TableState
from controller.core.setup import Setup
from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import AnyCommand, Dispense, EventMessage, Jam, Place, StackTaken
from simulators.devices.firmware import Firmware
from simulators.table.house import deck_names
from tests.bench.measure import Row, interleave
from tests.crash.outside import Outside
from tests.daemon.test_shoed import config_file
from tests.support.plugged import Plugged
from tests.support.served import LIMIT_S, Served

STARTS = 9
LIBRARIES = "import asyncio, serial, usb.core, transitions, structlog, msgspec, sqlite3"
SAY_READY = (
    "import os, socket; "
    "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', os.environ['NOTIFY_SOCKET'])"
)
MOST_MB = 48.0
REQUESTS = 500
IDLE_S = 20.0
JAMS = 200
TURNS, ROUNDS = 8, 8  # turns with a crowd and without, and rounds in each
SCREENS, CLIENTS = 50, 10
SEATS = (1, 2, 3, 4, 5, 6)
STACKS = len(SEATS) + 1  # the dealer's too
ROOT = str(Path(__file__).parents[2])
BARE = """
import asyncio, serial, sys
async def main():
    port = serial.Serial(sys.argv[1], timeout=0)
    asyncio.get_running_loop().add_reader(port.fd, port.read, 4096)
    print("there", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def environment(**more: str) -> dict[str, str]:
    """As installed: compiled once, found on its path."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "PYTHONPATH": ROOT, **more}


# --- the start --------------------------------------------------------------------------------------------------------


def until_ready(folder: Path, words: list[str]) -> float:
    """Milliseconds from the start of a process until it says READY=1."""
    address = folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(address))
        notify.settimeout(LIMIT_S)
        begun = time.perf_counter()
        quiet = subprocess.DEVNULL
        env = environment(NOTIFY_SOCKET=str(address))
        process = subprocess.Popen(words, cwd=folder, env=env, stdout=quiet, stderr=quiet)
        while b"READY=1" not in notify.recv(4096):
            pass
        took = time.perf_counter() - begun
    process.terminate()
    process.wait(LIMIT_S)
    address.unlink()
    return took * 1e3


def starts(folder: Path) -> Row:
    """A start with a journal that was there before, and devices that are not there yet."""
    daemon = [str(Path(sys.executable).with_name("shoed")), "--config", config_file(folder)]
    bare = [sys.executable, "-c", f"{LIBRARIES}; {SAY_READY}"]
    until_ready(folder, daemon)  # makes the journal, and compiles what is not yet
    found = interleave({"ours": lambda: until_ready(folder, daemon), "bare": lambda: until_ready(folder, bare)}, STARTS)
    return Row(
        "from process start to ready", "ms", found["ours"], found["bare"], "only importing the libraries", "<= 3"
    )


# --- memory and idleness ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(
    folder: Path, *command: str, build: Callable[..., Firmware] = Firmware, first: bool = False, more: str = ""
) -> Iterator[tuple[Served, Plugged]]:
    """A daemon whose devices are played by this process.

    With `first` both have a processor whenever they want one, where the system allows it, and the devices are on TCP:
    the bytes of a pty are carried by a worker of the kernel, which has to wait for a processor itself.
    """
    if first:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # what is started now inherits it
    plugged = Plugged(folder, speed=100.0, tcp=first, decks=deck_names(Setup(), 4), build=build)
    config = config_file(folder, shuffler=plugged.shuffler, shoe=plugged.shoe, more=more)
    served = Served(folder, "--config", config, env=environment(), **({"command": command} if command else {}))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        served.until("ready")
        served.wait(lambda table: all(device["state"] == "ready" for device in table["devices"]))
        yield served, plugged
    finally:
        served.close()
        plugged.close()


def resident_mb(pid: int) -> float:
    """What is in memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def spent_s(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_and_idleness(folder: Path) -> list[Row]:
    """After many requests, and then over some time with nothing to do."""
    far, near = pty.openpty()
    bare = subprocess.Popen(
        [sys.executable, "-c", BARE, os.ttyname(near)], stdout=subprocess.PIPE, env=environment(), text=True
    )
    try:
        assert bare.stdout is not None
        bare.stdout.readline()
        with running(folder) as (served, _):
            for number in range(REQUESTS):
                path = ("table", "actions", "devices", "events?newest=1", "journal")[number % 5]
                assert served.ask("GET", f"/api/v1/{path}").status == 200
            memory = resident_mb(served.process.pid)
            before, bare_before = spent_s(served.process.pid), spent_s(bare.pid)
            time.sleep(IDLE_S)
            ours = (spent_s(served.process.pid) - before) / IDLE_S * 100
            theirs = (spent_s(bare.pid) - bare_before) / IDLE_S * 100
        theirs_mb = resident_mb(bare.pid)
    finally:
        bare.terminate()
        bare.wait(LIMIT_S)
        assert bare.stdout is not None
        bare.stdout.close()
        os.close(near)
        os.close(far)
    least = 1 / os.sysconf("SC_CLK_TCK") / IDLE_S * 100  # what the kernel's clock can tell
    return [
        Row(f"resident memory after {REQUESTS} requests", "MB", memory, MOST_MB, "what it may have", "<= 1"),
        Row("resident memory", "MB", memory, theirs_mb, "bare asyncio and pyserial"),
        Row(f"processor while idle, over {IDLE_S:.0f} s", "%", ours, 1.0, "what it may take", "<= 1"),
        Row(
            "processor while idle",
            "%",
            ours,
            max(theirs, least),
            "bare asyncio and pyserial, or the clock's least step",
        ),
    ]


# --- a jam ------------------------------------------------------------------------------------------------------------


def jams(folder: Path) -> list[Row]:
    """From the event to the lock, compared with the journal's own write: the same disk at the same time."""
    times = folder / "times"
    with running(folder, sys.executable, "-m", "tests.bench.stamping", str(times)) as (served, plugged):

        def jam(table: Any, now: float) -> None:
            table.shoe.firmware.now = now
            table.shoe.firmware.report(Jam, command=0, place=Place.EXIT)

        for number in range(1, JAMS + 1):
            plugged.do(jam)
            served.wait(lambda table: table["warnings"])
            assert served.do("free_jam", device="shoe").status == 200
            served.wait(lambda table: all(warning["gone"] for warning in table["warnings"]))
            for warning in served.table()["warnings"]:
                assert served.do("clear_warning", warning=warning["key"]).status == 200
            served.wait(lambda table: not table["warnings"] and table["devices"][1]["state"] == "ready")
            assert len(times.read_text().splitlines()) == number
    pairs = [tuple(map(int, line.split())) for line in times.read_text().splitlines()]
    path, write = ([pair[which] / 1e3 for pair in pairs] for which in (0, 1))
    peer = "the journal's write in it"
    return [
        Row("jam to lock, median", "us", statistics.median(path), statistics.median(write), peer, "<= 1.5"),
        Row("jam to lock, p99", "us", p99(path), p99(write), peer),
    ]


def p99(values: list[float]) -> float:
    """The value that one in a hundred is above."""
    return sorted(values)[round((len(values) - 1) * 0.99)]


# --- a crowd ----------------------------------------------------------------------------------------------------------


class TimedLink(Link):
    """The shoe's end of the link, with a clock."""

    taken_at = 0.0  # when the word that a stack was taken went out; -1 until it does

    def take_output(self) -> bytes:
        data = super().take_output()
        if data and self.taken_at < 0:
            self.taken_at = time.perf_counter()
        return data


class Timed(Firmware):
    """A shoe that notes how long it is from a stack that was taken to the command for the next one."""

    link_type: ClassVar[type[Link]] = TimedLink
    waits: ClassVar[list[float]] = []
    waiting: ClassVar[bool] = False  # for the next command
    _stacks = 0  # in this round

    def report(self, what: type[EventMessage], **fields: object) -> None:
        assert isinstance(self.link, TimedLink)
        if what is StackTaken and 0 < self._stacks < STACKS:
            self.link.taken_at, Timed.waiting = -1.0, True
        super().report(what, **fields)

    def _command(self, command: AnyCommand, data: bytes) -> None:
        assert isinstance(self.link, TimedLink)
        if isinstance(command, Dispense):
            if self.link.taken_at > 0:
                Timed.waits.append((time.perf_counter() - self.link.taken_at) * 1e3)
            self._stacks += 1
        elif command.moves_cards:
            self._stacks = 0
        self.link.taken_at, Timed.waiting = 0.0, False
        super()._command(command, data)


@contextlib.contextmanager
def crowd(path: Path, there: bool) -> Iterator[None]:
    """Screens and clients, or nobody."""
    if not there:
        yield
        return
    words = [sys.executable, "-m", "tests.bench.crowd", str(path), str(SCREENS), str(CLIENTS)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(), text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
        assert process.poll() is None, "a screen was sent away"
    finally:
        process.terminate()
        process.wait(LIMIT_S)
        process.stdout.close()


def deals(folder: Path, turns: int = TURNS, *, first: bool = True) -> dict[bool, list[float]]:
    """From a stack that was taken to the command for the next one, as the shoe sees it: with a crowd, and without."""
    waits: dict[bool, list[float]] = {True: [], False: []}
    with running(folder, build=Timed, first=first) as (served, plugged):
        outside = Outside(folder, plugged)
        outside.robot.bets = lambda: SEATS  # type: ignore[method-assign]
        play(outside, 1)
        for turn in range(2 * turns):
            there = turn % 2 == 1
            with crowd(served.socket, there):
                if there:
                    full = f"shoed_screens {SCREENS}"
                    while full not in served.ask("GET", "/metrics").body.decode():
                        time.sleep(0.05)
                Timed.waits.clear()
                play(outside, ROUNDS)
                waits[there] += Timed.waits
    return waits


def crowded(folder: Path) -> list[Row]:
    """What a crowd costs a deal: with processors for the daemon and the devices, and with what is left over for all."""
    own, shared = folder / "own", folder / "shared"
    own.mkdir()
    shared.mkdir()
    calm, rough = deals(own), deals(shared, TURNS // 2, first=False)
    peer = "without them"
    who = f"{SCREENS} screens and {CLIENTS} clients there"
    return [
        Row(f"stack taken to next command, {who}, p99", "ms", p99(calm[True]), p99(calm[False]), peer, "<= 1.2"),
        Row("the same, median", "ms", statistics.median(calm[True]), statistics.median(calm[False]), peer),
        Row("the same over ptys, all processes alike, p99", "ms", p99(rough[True]), p99(rough[False]), peer),
        Row("the same, median", "ms", statistics.median(rough[True]), statistics.median(rough[False]), peer),
    ]


def play(outside: Outside, rounds: int) -> None:
    """This many whole rounds."""
    wanted = outside.state.rounds + rounds
    while outside.state.rounds < wanted or outside.state.table is not TableState.BETTING or outside.state.round:
        outside.work()
        while Timed.waiting:  # nobody does anything else meanwhile in the process that plays the shoe
            time.sleep(0.001)


def rows() -> list[Row]:
    """All measurements of the daemon, each in its own folder."""
    found: list[Row] = []
    for part in (lambda folder: [starts(folder)], memory_and_idleness, jams, crowded):
        with tempfile.TemporaryDirectory(dir=os.environ.get("DRAGONSHOE_BENCH_FOLDER")) as name:
            found += part(Path(name))
    return found

"""`shoectl` as a technician uses it: the real command with devices and other programs on real ptys."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serial
import structlog
from serial.tools import list_ports
from serial.tools.list_ports_linux import SysFS

from controller.cli import terminal
from controller.cli.shoectl import VERBS as SECTIONS
from firmware_bridge.ports import discovery
from firmware_bridge.ports.transport import PortSettings
from firmware_bridge.tools.conform import PointResult
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.faults import FaultName
from simulators.pipes.usb_backend import SoftwareUsb
from tests.support import terminal as ptys
from tests.support.plugged import LIMIT_S, Plugged, stranger
from tests.support.shoectl import SHOECTL, complaint, json_lines, shoectl

SPEED = 20.0
VERBS = [name for section in SECTIONS.values() for name in section]


@pytest.fixture
def plugged(tmp_path: Path) -> Iterator[Plugged]:
    made = Plugged(tmp_path / "run", speed=SPEED)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


# --- the group --------------------------------------------------------------------------------------------------------


def test_help_and_version() -> None:
    assert shoectl("--version").stdout.startswith("shoectl, version ")
    text = shoectl("--help").stdout
    for verb in VERBS:
        assert re.search(rf"^  {verb}  ", text, re.MULTILINE)
        page = shoectl(verb, "--help")
        assert page.exit_code == 0
        if verb not in ("journal", "sim", "config", "person"):  # groups, whose own verbs have examples
            assert f"shoectl {verb}" in page.stdout.split("Example", 1)[1]
            assert ("--json" in page.stdout) is (verb not in ("completion", "man"))
        assert max(map(len, page.stdout.splitlines())) <= 100


def test_a_verb_loads_no_more_than_it_needs() -> None:
    program = "import sys; from controller.cli.shoectl import cli; cli.get_command(None, 'status'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "controller.cli.table" in loaded
    assert not {"transitions", "usb", "sqlite3", "starlette", "uvicorn", "simulators"} & loaded


def test_wrong_usage() -> None:
    assert "--help" in complaint(shoectl("levitate"), 2)
    for words, meant in ((["evnts"], "events"), (["journal", "verfy"], "verify"), (["sim", "injct"], "inject")):
        assert f"Did you mean '{meant}'?" in complaint(shoectl(*words), 2)
    assert "PORT" in complaint(shoectl("probe"), 2)
    assert "--baud" in complaint(shoectl("probe", "/dev/x", "--baud", "fast"), 2)
    for verb in ("probe", "monitor", "self-test", "conform"):
        assert "expected an address such as /dev/ttyUSB0, socket://" in complaint(shoectl(verb, "COM1"), 2)
    nothing = shoectl()
    assert nothing.exit_code == 2
    assert nothing.stdout == ""
    assert nothing.stderr.startswith("Usage: shoectl")


@pytest.mark.parametrize(
    "words", [["probe"], ["monitor"], ["monitor", "--passive"], ["self-test", "--yes"], ["conform"]]
)
def test_ports_that_cannot_be_opened(words: list[str], plugged: Plugged, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    before = "motors" if "--yes" in words else ""

    def error_line(address: str) -> str:
        result = shoectl(words[0], address, *words[1:])
        assert result.exit_code == 1
        assert result.stdout == ""
        lines = [line for line in result.stderr.splitlines() if not (before and before in line)]
        assert len(lines) == 1
        assert lines[0].startswith("shoectl: ")
        return lines[0]

    assert "not found" in error_line(str(tmp_path / "nothing"))
    assert "not a working serial port" in error_line(str(file))
    with serial.Serial(plugged.shoe, exclusive=True):
        assert f"pid {os.getpid()}" in error_line(plugged.shoe)


# --- ports ------------------------------------------------------------------------------------------------------------


def test_ports_on_a_machine_without_any(mocker: Any) -> None:
    mocker.patch.object(list_ports, "comports", return_value=[])
    mocker.patch.object(discovery, "usb_devices", return_value=[])
    empty = shoectl("ports")
    assert empty.exit_code == 0
    assert empty.stdout == ""
    assert "plug the device in" in empty.stderr
    assert json.loads(shoectl("ports", "--json").stdout) == []


def test_ports_are_listed_and_not_opened(mocker: Any) -> None:
    far, near = pty.openpty()
    path = os.ttyname(near)
    info = SysFS(path)
    info.description, info.vid, info.pid, info.serial_number = "FT232R\x1b[2J USB", 0x0403, 0x6001, "A50285BI"
    mocker.patch.object(list_ports, "comports", return_value=[info])
    mocker.patch.object(discovery, "usb_devices", return_value=[])
    opened = mocker.patch("serial.Serial.open")
    heads, row = shoectl("ports").stdout.splitlines()
    assert heads.split() == ["ADDRESS", "DESCRIPTION", "USB", "ID", "SERIAL", "STATE"]
    assert row.startswith(path)
    assert "0403:6001" in row
    assert "A50285BI" in row
    assert "\x1b" not in row
    (one,) = json.loads(shoectl("ports", "--json").stdout)
    assert one["address"] == path
    assert one["may_open"] is True
    opened.assert_not_called()
    mocker.patch.object(os, "access", return_value=False)
    assert "this user may not open it" in shoectl("ports").stdout
    os.close(far)
    os.close(near)


# --- probe ------------------------------------------------------------------------------------------------------------


def test_probe_of_devices(plugged: Plugged) -> None:
    both = shoectl("probe", plugged.shuffler, plugged.shoe)
    assert both.exit_code == 0
    assert f"{plugged.shuffler}: shuffler SH-0001" in both.stdout
    assert f"{plugged.shoe}: shoe SE-0001" in both.stdout
    assert "1 kept for the controller, starting with number 1" in both.stdout
    first, second = (json.loads(shoectl("probe", plugged.shoe, "--json").stdout) for _ in range(2))
    assert first[0]["result"] == "found"
    assert first[0]["identity"]["serial"] == "SE-0001"
    assert first[0]["first_event"] == second[0]["first_event"] == 1


def test_probe_of_strangers_and_a_device_together(plugged: Plugged, tmp_path: Path) -> None:
    with stranger(lambda heard: b"$GPGGA,123519,4807\r\n" * 3) as gps, stranger(lambda heard: b"") as mute:
        addresses = [gps, mute, str(tmp_path / "nothing"), plugged.shoe]
        shown = shoectl("probe", *addresses, "--within", "0.5")
        output = shoectl("probe", *addresses, "--within", "0.5", "--json")
    assert shown.exit_code == output.exit_code == 1
    assert "looks like lines of text: '$GPGGA" in shown.stdout
    assert "no power, or another baud rate" in shown.stdout
    assert "not found" in shown.stderr
    assert [one["result"] for one in json.loads(output.stdout)] == ["not ours", "mute", "port error", "found"]


def test_probe_on_usb(tmp_path: Path) -> None:
    bus = SoftwareUsb()
    made = Plugged(tmp_path, usb=bus)
    try:
        result = shoectl("probe", made.shoe, obj=PortSettings(usb_backend=bus))
        assert result.exit_code == 0
        assert "shoe SE-0001" in result.stdout
    finally:
        made.close()


# --- monitor, capture, replay -----------------------------------------------------------------------------------------


def test_monitor_shows_the_greeting(plugged: Plugged) -> None:
    seen = shoectl("monitor", plugged.shoe, "--count", "6", "--hex")
    assert seen.exit_code == 0
    assert seen.stderr == ""
    for part in ("out  OPEN ", "in   OPENED ", "Hello ", "Welcome ", "PowerUp number=1", "ready: shoe", "goodbye"):
        assert part in seen.stdout
    assert "round trip: " in seen.stdout
    assert "EventsStored" not in seen.stdout
    # Nothing was stored: the next one sees the same events.
    lines = json_lines(shoectl("monitor", plugged.shoe, "--count", "6", "--json").stdout)
    assert "summary" in lines[-1]
    numbers = [line["message"]["number"] for line in lines if line.get("message", {}).get("name") == "PowerUp"]
    assert numbers == [1]


def test_monitor_passively_sends_nothing(plugged: Plugged) -> None:
    heard: list[bytes] = []

    def answer(data: bytes) -> bytes:
        heard.append(data)
        return b""

    with stranger(answer) as path:
        lines = json_lines(shoectl("monitor", path, "--passive", "--for", "0.2", "--json").stdout)
    assert heard == []
    assert lines[0]["event"] == "opened"
    assert lines[-1]["summary"]["out"]["bytes"] == 0


def test_monitor_of_a_wrong_device_guesses_what_it_is() -> None:
    with stranger(lambda heard: b"$GPGGA,123519,4807\r\n" * 20) as gps:
        seen = shoectl("monitor", gps, "--for", "0.5")
    assert seen.exit_code == 0
    assert "too long" in seen.stdout
    assert "no complete frame was received: looks like lines of text" in seen.stdout


def test_a_capture_replays_as_it_was_shown(plugged: Plugged, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    shown = shoectl("capture", plugged.shoe, str(file), "--count", "6")
    assert shown.exit_code == 0
    replayed = shoectl("replay", str(file))
    assert replayed.exit_code == 0
    assert replayed.stdout == shown.stdout
    assert plugged.shoe in replayed.stderr
    header, *rest = json_lines(file.read_text())
    assert header["format"] == "dragonshoe-capture"
    assert {line["dir"] for line in rest if "dir" in line} == {"in", "out"}
    again = shoectl("capture", plugged.shoe, str(file), "--count", "6")
    assert "--force" in complaint(again)
    shown = shoectl("capture", plugged.shoe, str(file), "--count", "6", "--force", "--json")
    assert shoectl("replay", str(file), "--json").stdout == shown.stdout
    assert json_lines(shown.stdout)


def test_a_damaged_capture(plugged: Plugged, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    shoectl("capture", plugged.shoe, str(file), "--count", "6")
    whole = shoectl("replay", str(file)).stdout.splitlines()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    cut = shoectl("replay", str(file))
    assert cut.exit_code == 1
    assert "line 5: not valid JSON; the line is cut off" in cut.stderr
    assert cut.stdout.splitlines()[:3] == whole[:3]
    file.write_bytes(b"")
    assert "line 1: empty" in shoectl("replay", str(file)).stderr
    assert "No such file" in complaint(shoectl("replay", str(tmp_path / "nothing")))
    assert "Is a directory" in complaint(shoectl("replay", str(tmp_path)))


def test_a_disk_that_does_not_take_the_capture(plugged: Plugged, tmp_path: Path) -> None:
    assert "No space left" in complaint(shoectl("capture", plugged.shoe, "/dev/full", "--force"))
    assert "No such file" in complaint(shoectl("capture", plugged.shoe, str(tmp_path / "no" / "folder")))
    assert "directory" in complaint(shoectl("capture", plugged.shoe, str(tmp_path), "--force"))


def test_a_cable_that_is_pulled_and_put_back(plugged: Plugged) -> None:
    with running("monitor", plugged.shoe, "--json") as monitor:
        until(monitor, "ready")
        plugged.do(lambda table, now: table.shoe.inject(FaultName.UNPLUG, now))
        until(monitor, "port lost")
        plugged.do(lambda table, now: table.shoe.mend(FaultName.UNPLUG, now))
        until(monitor, "ready")
        plugged.do(lambda table, now: table.shoe.inject(FaultName.REBOOT, now))
        until(monitor, "link lost")
        assert "restarted" in until(monitor, "ready")["text"]
        monitor.send_signal(signal.SIGINT)
        rest = json_lines(monitor.communicate(timeout=LIMIT_S)[0])
    assert monitor.returncode == 0
    assert rest[-1]["summary"]["in"]["bad"] == 0


# --- self-test --------------------------------------------------------------------------------------------------------


def test_self_test(plugged: Plugged) -> None:
    result = shoectl("self-test", plugged.shuffler, "--yes")
    assert result.exit_code == 0
    assert "motors" in result.stderr
    assert "self-test complete" in result.stdout
    again = json.loads(shoectl("self-test", plugged.shuffler, "--yes", "--json").stdout)
    assert again["outcome"] == "COMPLETE"
    assert again["done"]["command"] == 2
    assert again["status"]["events_kept"] == 3  # PowerUp and two CycleDone, left for the controller


def test_self_test_that_finds_something(plugged: Plugged) -> None:
    plugged.do(lambda table, now: table.shoe.inject(FaultName.STALL, now))
    result = shoectl("self-test", plugged.shoe, "--yes")
    assert result.exit_code == 1
    assert "self-test failed" in result.stdout
    assert "motor, feed motor failed its test" in result.stdout
    refused = shoectl("self-test", plugged.shoe, "--yes")
    assert refused.exit_code == 1
    assert "refused, failed" in refused.stderr


def test_self_test_asks_first(plugged: Plugged) -> None:
    result = shoectl("self-test", plugged.shoe)
    assert result.exit_code == 2
    assert "--yes starts without asking" in result.stderr
    output = json.loads(shoectl("probe", plugged.shoe, "--json").stdout)
    assert output[0]["counters"]["effects"] == 0


def test_self_test_of_a_device_that_restarts(plugged: Plugged) -> None:
    def pull_power_in_the_middle() -> None:
        plugged.table.shoe.inject(FaultName.REBOOT, plugged.table.shoe.now)

    plugged.do(lambda table, now: setattr(table.shoe.mechanics, "cycle_started", pull_power_in_the_middle))
    result = shoectl("self-test", plugged.shoe, "--yes")
    assert result.exit_code == 1
    assert "restarted" in result.stderr
    assert "Traceback" not in result.stderr


# --- conform ----------------------------------------------------------------------------------------------------------


def test_conform(plugged: Plugged) -> None:
    only = ["--only", "frame.crc", "--only", "session.welcome"]
    result = shoectl("conform", plugged.shoe, *only)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "2 tests: 2 passed, 0 failed, 0 skipped"
    lines = json_lines(shoectl("conform", plugged.shoe, *only, "--json").stdout)
    assert [line["verdict"] for line in lines[:-1]] == ["passed", "passed"]
    assert lines[-1]["summary"] == {"passed": 2, "failed": 0, "skipped": 0}
    assert lines[-1]["not_covered"] == []
    assert "unknown test levitation" in complaint(shoectl("conform", plugged.shoe, "--only", "levitation"), 2)
    assert shoectl("conform", plugged.shoe, "--with-cards").exit_code == 2


def test_conform_asks_a_person_and_lists_what_was_not_covered(plugged: Plugged) -> None:
    def door(is_open: bool) -> None:
        plugged.do(lambda table, now: table.shoe.door(is_open, now))

    only = ["--only", "hands.door", "--only", "hands.jam", "--only", "sequence.lock"]
    plugged.do(lambda table, now: table.shoe.load(Spot(CardPlace.TABLE, 0), now))
    with ptys.Terminal("conform", plugged.shoe, "--interactive", "--yes", *only, columns=400) as person:
        person.until("Open the door of the device.")
        door(True)
        person.press("\n")
        person.until("Close the door of the device.")
        door(False)
        person.press("\n")
        person.until("Block the card path")
        person.press("s\n")
        assert person.end() == 0
    assert "passed   hands.door" in person.shown
    assert "3 tests: 2 passed, 0 failed, 1 skipped" in person.shown
    (line,) = [line for line in person.shown.splitlines() if "not covered" in line]
    assert "hands.jam: the person did not do this: Block the card path" in line


def test_conform_without_anybody_at_the_terminal_skips_what_needs_hands(plugged: Plugged) -> None:
    words = ["conform", plugged.shoe, "--interactive", "--yes", "--json", "--only", "hands.door", "--only", "hands.jam"]
    *results, end = json_lines(shoectl(*words, input="").stdout)
    assert [result["verdict"] for result in results] == ["skipped", "skipped"]
    assert [point["name"] for point in end["not_covered"]] == ["hands.door", "hands.jam"]


def test_conform_that_fails(mocker: Any) -> None:
    async def conform(address: str, *, report: Any, **more: Any) -> list[PointResult]:
        results = [PointResult("frame.crc", "Frame", "never", "failed", "it \x1b[2J did", 0.1)]
        for one in results:
            report(one)
        return results

    mocker.patch("firmware_bridge.tools.conform.conform", conform)
    result = shoectl("conform", "/dev/x")
    assert result.exit_code == 1
    assert result.stdout.startswith("failed   frame.crc")
    assert "\x1b" not in result.stdout


# --- as a process -----------------------------------------------------------------------------------------------------


def running(*words: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([*SHOECTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def until(process: subprocess.Popen[str], event: str) -> dict[str, Any]:
    """Read JSON lines until this event comes."""
    assert process.stdout is not None
    for line in process.stdout:
        plain: dict[str, Any] = json.loads(line)
        if plain.get("event") == event:
            return plain
    raise AssertionError(f"{event} never came: {process.communicate()}")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_capture_is_whole(plugged: Plugged, tmp_path: Path, ending: signal.Signals) -> None:
    file = tmp_path / "one.jsonl"
    with running("capture", plugged.shoe, str(file), "--json") as capture:
        until(capture, "ready")
        capture.send_signal(ending)
        out, err = capture.communicate(timeout=LIMIT_S)
    assert (capture.returncode, err) == (0, "")
    assert "summary" in json_lines(out)[-1]
    assert shoectl("replay", str(file)).exit_code == 0


def test_output_that_nobody_reads_any_more(plugged: Plugged) -> None:
    with running("monitor", plugged.shoe) as monitor:
        assert monitor.stdout is not None
        monitor.stdout.readline()
        monitor.stdout.close()
        plugged.do(lambda table, now: table.shoe.inject(FaultName.REBOOT, now))  # so that it has more to say
        assert monitor.wait(LIMIT_S) == 1
        assert monitor.stderr is not None
        assert monitor.stderr.read() == ""


def test_output_onto_a_full_disk(plugged: Plugged) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*SHOECTL, "probe", plugged.shoe],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("shoectl: output: No space left on device")
    assert "Traceback" not in done.stderr


def test_an_interrupted_probe() -> None:
    begun = threading.Event()

    def answer(heard: bytes) -> bytes:
        begun.set()
        return b""

    with stranger(answer) as path, running("probe", path, "--within", "60") as probing:
        assert begun.wait(LIMIT_S)
        probing.send_signal(signal.SIGINT)
        out, err = probing.communicate(timeout=LIMIT_S)
    assert (probing.returncode, out, err.strip()) == (1, "", "shoectl: interrupted")


def test_exit_codes_of_the_process(tmp_path: Path) -> None:
    def code(*words: str) -> int:
        return subprocess.run([*SHOECTL, *words], capture_output=True, timeout=LIMIT_S, check=False).returncode

    assert [code("--version"), code("probe", str(tmp_path / "x")), code("probe", "nonsense")] == [0, 1, 2]


# --- on a terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_colour_only_where_it_is_wanted(plugged: Plugged, no_colour: str, coloured: bool) -> None:
    far, near = pty.openpty()
    environment = {**os.environ, "NO_COLOR": no_colour, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    try:
        done = subprocess.run(
            [*SHOECTL, "probe", plugged.shoe], stdout=near, env=environment, timeout=LIMIT_S, check=False
        )
        text = os.read(far, 65536).decode()
    finally:
        os.close(near)
        os.close(far)
    assert done.returncode == 0
    assert ("\x1b[32m" in text) is coloured
    assert max(len(re.sub(r"\x1b\[\d*m", "", line)) for line in text.splitlines()) <= 100


def test_tables_and_words() -> None:
    assert terminal.table(("NAME", "N"), [("a", "1"), ("long\n", "23")]) == ["NAME     N", "a        1", r"long\n  23"]
    assert terminal.printable("a\x1b[2Jé…\x00") == r"a\x1b[2Jé…\x00"
    assert [terminal.duration(ms) for ms in (1500, 61_000, 3_660_000, 90_000_000)] == [
        "1.5 s",
        "1 min 1 s",
        "1 h 1 min",
        "1 d 1 h",
    ]


def test_waiting_is_told_on_a_terminal() -> None:
    far, near = pty.openpty()
    program = f"from controller.cli import progress; progress.SHOW_AFTER_S = 0.1; {ptys.SHOECTL}"
    with ptys.Terminal("probe", os.ttyname(near), "--within", "1", program=program) as screen:
        assert screen.end() == 1
    os.close(far)
    os.close(near)
    assert "waiting for /dev/pts/" in screen.shown

"""`shoed` as a process: it tells in JSON lines what devices report, and in one line what is wrong with its file."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.shoed import Config, ConfigError, PortConfig, read_config
from simulators.control import ask
from tests.plugged import Plugged

LIMIT_S = 30.0  # generous: only a hang runs into it
SHOED = str(Path(sys.executable).with_name("shoed"))


class Daemon:
    """A running shoed, and what it has logged."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []

    def until(self, event: str, **wanted: str) -> dict[str, Any]:
        """The next line of this event with these words in it."""
        assert self.process.stderr is not None
        for text in self.process.stderr:
            line: dict[str, Any] = json.loads(text)
            self.lines.append(line)
            if line["event"] == event and all(part in str(line.get(name)) for name, part in wanted.items()):
                return line
        raise AssertionError(f"{event} {wanted} never came: {self.lines}")

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.until("stopped")
        assert self.process.wait(LIMIT_S) == 0


@contextlib.contextmanager
def shoed(folder: Path, *words: str) -> Iterator[Daemon]:
    with subprocess.Popen(
        [SHOED, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Daemon(process)
        finally:
            process.kill()


def refused(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and complaint of a shoed that does not start."""
    done = subprocess.run([SHOED, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


# --- following --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_follows_simulated_devices(tmp_path: Path, ending: signal.Signals) -> None:
    with shoed(tmp_path, "--simulate") as daemon:
        simulating = daemon.until("simulating")
        assert simulating["shoe"] == "build/run/shoe"
        first, second = daemon.until("device ready"), daemon.until("device ready")
        assert {line["device"].split()[0] for line in (first, second)} == {"shuffler", "shoe"}
        for line in daemon.lines:
            assert {"event", "level", "timestamp"} <= line.keys()
        ask(tmp_path / "build/run", do="press", device="shoe", button="red")
        pressed = daemon.until("device event", report="Button")
        assert pressed["device"] == "shoe"
        assert "red" in pressed["report"]
        ask(tmp_path / "build/run", do="inject", device="shuffler", fault="reboot")
        assert "restarted" in daemon.until("link lost")["reason"]
        assert daemon.until("device ready")["restarted"] is True
        assert daemon.until("device event", device="shuffler")["number"] == 1
        daemon.end(ending)
    assert list((tmp_path / "build/run").iterdir()) == []


def test_a_second_simulation_in_the_same_place_is_refused(tmp_path: Path) -> None:
    with shoed(tmp_path, "--simulate") as daemon:
        daemon.until("device ready")
        code, text = refused(tmp_path, "--simulate")
        assert code == 1
        assert text.splitlines()[-1].startswith("Error: simulators run in build/run already")
        daemon.end(signal.SIGTERM)


def test_it_follows_what_the_file_names(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path, speed=20.0)
    try:
        file = tmp_path / "shoe.toml"
        file.write_text(f'[shoe]\nport = "{plugged.shoe}"\nbaud = 9600\n')
        with shoed(tmp_path, "--config", str(file)) as daemon:
            assert daemon.until("device ready")["port"] == plugged.shoe
            assert daemon.until("device event")["number"] == 1
            daemon.end(signal.SIGTERM)
        file.write_text(f'[shuffler]\nport = "{plugged.shoe}"\n')
        with shoed(tmp_path, "--config", str(file)) as daemon:
            wrong = daemon.until("device not reached")
            assert "no shuffler, it is a shoe" in wrong["reason"]
            assert wrong["level"] == "warning"
            daemon.end(signal.SIGTERM)
    finally:
        plugged.close()


def test_a_device_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "shoe.toml"
    file.write_text(f'[shoe]\nport = "{tmp_path / "shoe"}"\n')
    with shoed(tmp_path, "--config", "shoe.toml") as daemon:
        assert "not there" in daemon.until("device not reached")["reason"]
        plugged = Plugged(tmp_path, speed=20.0)
        try:
            daemon.until("device ready")
            daemon.end(signal.SIGTERM)
        finally:
            plugged.close()


# --- the file ---------------------------------------------------------------------------------------------------------

MISTAKES = [
    ("[shoe\n", "line 1"),
    ("\udcff", "decode"),
    ('[shoe]\nport = "/dev/x"\ncolour = "red"', "colour"),
    ('[toaster]\nport = "/dev/x"', "toaster"),
    ("[shoe]\nbaud = 9600", "port"),
    ("[shoe]\nport = 5", "$.shoe.port"),
    ('[shoe]\nport = "/dev/x"\nbaud = "fast"', "$.shoe.baud"),
    ('[shoe]\nport = "/dev/x"\nbaud = 0', "$.shoe.baud"),
    ('[shoe]\nport = "COM1"', "shoe.port: 'COM1' is not a port address"),
    ('[shuffler]\nport = "socket://nowhere"', "shuffler.port: "),
    ('[shuffler]\nport = "socket://a..b:1"', "shuffler.port: "),
    ("", "no device; write [shuffler] or [shoe] with a port"),
]


@pytest.mark.parametrize(("text", "about"), MISTAKES)
def test_mistakes_in_the_file(tmp_path: Path, text: str, about: str) -> None:
    file = tmp_path / "shoe.toml"
    file.write_text(text, errors="surrogateescape")
    with pytest.raises(ConfigError) as wrong:
        read_config(file)
    assert str(wrong.value).startswith(f"{file}: ")
    assert about in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize(("text", "about"), [MISTAKES[0], MISTAKES[2], MISTAKES[8], MISTAKES[-1]])
def test_mistakes_end_the_process_in_one_line(tmp_path: Path, text: str, about: str) -> None:
    (tmp_path / "shoe.toml").write_text(text)
    code, told = refused(tmp_path, "--config", "shoe.toml")
    assert code == 1
    (line,) = told.splitlines()
    assert line.startswith("Error: shoe.toml: ")
    assert about in line


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path, "--config", "shoe.toml") == (1, "Error: shoe.toml: No such file or directory\n")
    assert refused(tmp_path, "--config", ".") == (1, "Error: .: Is a directory\n")


def test_a_good_file(tmp_path: Path) -> None:
    file = tmp_path / "shoe.toml"
    file.write_text('[shuffler]\nport = "usb:1209:5d0e:SH-1"\n[shoe]\nport = "/dev/ttyUSB0"\nbaud = 57600\n')
    assert read_config(file) == Config(PortConfig("usb:1209:5d0e:SH-1"), PortConfig("/dev/ttyUSB0", 57600))


@pytest.mark.parametrize("words", [[], ["--simulate", "--config", "shoe.toml"], ["--levitate"]])
def test_wrong_usage(tmp_path: Path, words: list[str]) -> None:
    code, told = refused(tmp_path, *words)
    assert code == 2
    assert told.splitlines()[-1].startswith("Error: ")
    assert not (tmp_path / "build").exists()

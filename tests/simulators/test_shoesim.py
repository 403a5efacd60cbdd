"""`shoesim` as a person uses it: the real command runs the devices, and is the hand that breaks and loads them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firmware_bridge.tools.conform import conform
from firmware_bridge.tools.probe import FoundDevice, FoundForeign, probe
from firmware_bridge.wire.messages import CycleDone, Dispense, Door, DoorState, EventMessage, Jam, Lock, Outcome
from simulators.control import SOCKET_NAME
from simulators.devices.faults import ScriptError, read_script
from simulators.shoesim import cli
from tests.support.connected import ConnectedDevice
from tests.support.shoectl import shoectl

LIMIT_S = 120.0  # generous: only a hang runs into it
SHOESIM = str(Path(sys.executable).with_name("shoesim"))


@contextlib.contextmanager
def started(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [SHOESIM, "run", "--dir", str(folder), "--speed", "50", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def announced(process: subprocess.Popen[str]) -> dict[str, str]:
    """The addresses of the devices, once they are there."""
    assert process.stdout is not None
    addresses = {}
    for _ in range(2):
        line = process.stdout.readline()
        assert line, process.communicate(timeout=LIMIT_S)
        name, address = line.split()
        addresses[name] = address
    return addresses


@contextlib.contextmanager
def simulators(folder: Path, *words: str) -> Iterator[dict[str, str]]:
    """Running simulators, which must end cleanly; gives their addresses."""
    with started(folder, *words) as process:
        yield announced(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, err) == (0, "stopped\n")


@contextlib.contextmanager
def dealing(*words: str) -> Iterator[str]:
    """A simulated Angel Eye with its dealer, which must end cleanly; gives its address."""
    command = [SHOESIM, "angel-eye", "--speed", "50", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=LIMIT_S)
            assert (process.returncode, err) == (0, "")
        finally:
            process.kill()


@pytest.mark.parametrize("place", ["pty", "tcp"])
def test_a_simulated_angel_eye_deals_until_it_is_stopped(place: str, tmp_path: Path) -> None:
    where = ["--tcp", "0"] if place == "tcp" else ["--port", str(tmp_path / "run" / "shoe")]
    with dealing(*where) as address:
        found = asyncio.run(probe(address))
        assert isinstance(found, FoundForeign), found
        shown = shoectl("monitor", address, "--driver", "angel-eye", "--count", "20")
        assert shown.exit_code == 0
        assert "REPORT" in shown.stdout
        assert "BAD" not in shown.stdout.splitlines()[-10]


def test_an_angel_eye_whose_port_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = CliRunner().invoke(cli, ["angel-eye", "--tcp", port], prog_name="shoesim")
    assert refused.exit_code == 1
    assert "Address already in use" in complaint(refused)


def shoesim(folder: Path, *words: str) -> Result:
    result = CliRunner().invoke(cli, [*words, "--dir", str(folder)], prog_name="shoesim")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def said(folder: Path, *words: str) -> str:
    result = shoesim(folder, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def refused(folder: Path, *words: str) -> str:
    """The one line of simulators that do not start."""
    done = subprocess.run(
        [SHOESIM, "run", "--dir", str(folder), *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(LIMIT_S):
            return await work

    return asyncio.run(limited())


# --- defects ----------------------------------------------------------------------------------------------------------


def test_a_defect_can_be_switched_on(tmp_path: Path) -> None:
    def found(address: str) -> str:
        (result,) = run(conform(address, only=["question.clock"]))
        return str(result.verdict)

    with simulators(tmp_path, "--speed", "1", "--defect", "LivesInSeconds") as addresses:
        assert found(addresses["shoe"]) == "failed"
    result = CliRunner().invoke(cli, ["run", "--defect", "Levitates"])
    assert result.exit_code == 2
    assert "unknown defect 'Levitates'" in result.stderr


# --- running ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_announces_the_devices_and_leaves_nothing_behind(tmp_path: Path, ending: signal.Signals) -> None:
    folder = tmp_path / "new" / "run"
    with started(folder, "--announce") as process:
        addresses = announced(process)
        assert process.stdout is not None
        hints = "".join(iter(process.stdout.readline, "Ctrl-C ends it.\n"))
        assert f"--dir {folder}" in hints
        assert addresses == {"shuffler": str(folder / "shuffler"), "shoe": str(folder / "shoe")}
        assert sorted(os.listdir(folder)) == ["shoe", SOCKET_NAME, "shuffler"]
        for name in addresses:
            found = run(probe(addresses[name]))
            assert isinstance(found, FoundDevice)
            assert found.identity.role.name.lower() == name
        with socket.socket(socket.AF_UNIX) as idle:  # somebody who connects and says nothing keeps nobody up
            idle.connect(str(folder / SOCKET_NAME))
            process.send_signal(ending)
            _, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, err) == (0, "stopped\n")
    assert os.listdir(folder) == []


def test_devices_on_tcp(tmp_path: Path) -> None:
    with simulators(tmp_path, "--tcp") as addresses:
        assert addresses["shoe"].startswith("socket://127.0.0.1:")
        found = run(probe(addresses["shoe"]))
        assert isinstance(found, FoundDevice)
        assert found.identity.serial == "SE-0001"
        assert os.listdir(tmp_path) == [SOCKET_NAME]


def test_a_second_one_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        announced(first)
        ports = {name: os.readlink(tmp_path / name) for name in ("shuffler", "shoe")}
        assert refused(tmp_path) == f"Error: simulators are already running in {tmp_path}; stop them first"
        assert ports == {name: os.readlink(tmp_path / name) for name in ports}
        assert "53 cards table 0" in said(tmp_path, "status")
        first.kill()
        first.communicate(timeout=LIMIT_S)
    assert (tmp_path / SOCKET_NAME).exists()  # the dead leave theirs behind, and are no hindrance
    with simulators(tmp_path):
        assert "53 cards table 0" in said(tmp_path, "status")


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in refused(tmp_path / "file")
    (tmp_path / "shoe").touch()
    assert "remove it first" in refused(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["file", "shoe"]
    assert "too long" in refused(tmp_path / ("x" * 100))


# --- the hand ---------------------------------------------------------------------------------------------------------


def test_the_verbs_of_the_hand(tmp_path: Path) -> None:
    with simulators(tmp_path) as addresses:
        assert said(tmp_path, "load", "shuffler", "blue") == "cards: 53\n"
        assert said(tmp_path, "load", "shoe") == "cards: 53\n"
        assert "no deck is on the table" in complaint(shoesim(tmp_path, "load", "shoe"))
        assert "no green deck is on the table" in complaint(shoesim(tmp_path, "load", "shoe", "green"))
        assert said(tmp_path, "inject", "shoe", "jam", "--after-cards", "9") == "faults: jam\n"
        assert said(tmp_path, "mend", "shoe", "jam") == "faults: none\n"
        assert said(tmp_path, "take", "shoe") == "cards: 0\n"

        async def deal() -> None:
            async with ConnectedDevice(addresses["shoe"]) as shoe:
                await shoe.command(Dispense, 1, 3)
                await shoe.until(CycleDone)

        run(deal())
        assert said(tmp_path, "take", "shoe", "2") == "cards: 3\n"
        printed = json.loads(said(tmp_path, "status", "--json"))
        assert printed["cards"] == {"INFEED 0": 53, "SHOE 0": 50, "HAND 2": 3, "FLOOR 0": 2}
        assert printed["devices"]["shoe"] == {
            "address": addresses["shoe"],
            "power": True,
            "plugged": True,
            "mode": "ready",
            "faults": [],
        }
        assert said(tmp_path, "gather") == "cards: 3\n"
        assert "3 cards table 0" in said(tmp_path, "status")
        assert json.loads(said(tmp_path, "take", "shoe", "--json")) == {"cards": 0}


def test_buttons_doors_and_locks(tmp_path: Path) -> None:
    with simulators(tmp_path) as addresses:
        assert said(tmp_path, "press", "shoe", "red") == ""
        assert said(tmp_path, "door", "shoe", "open") == ""
        assert said(tmp_path, "door", "shoe", "close") == ""

        async def lock() -> list[str]:
            async with ConnectedDevice(addresses["shoe"]) as shoe:
                await shoe.command(Lock, 1)
                while (await shoe.until(Door)).state is not DoorState.LOCKED:
                    pass
                return [type(event).__name__ for event in shoe.happenings.of(EventMessage)]

        assert run(lock()) == ["PowerUp", "Button", "Door", "Door", "Door"]
        assert "the door is locked" in complaint(shoesim(tmp_path, "door", "shoe", "open"))


def test_cable_and_power(tmp_path: Path) -> None:
    with simulators(tmp_path):
        said(tmp_path, "inject", "shoe", "unplug")
        assert not (tmp_path / "shoe").exists()
        assert "unplugged" in said(tmp_path, "status")
        said(tmp_path, "mend", "shoe", "unplug")
        assert (tmp_path / "shoe").exists()
        said(tmp_path, "inject", "shuffler", "power_loss")
        assert "no power" in said(tmp_path, "status")
        said(tmp_path, "inject", "shuffler", "dead")
        assert "a dead device stays dead" in complaint(shoesim(tmp_path, "mend", "shuffler", "dead"))


def test_wrong_words_of_the_hand(tmp_path: Path) -> None:
    for words in (["status"], ["inject", "shoe", "jam"], ["gather"]):
        line = complaint(shoesim(tmp_path, *words))
        assert f"no simulators are running in {tmp_path}" in line
        assert "start them: shoesim run" in line
    for words in (
        ["inject", "toaster", "jam"],
        ["inject", "shoe", "rust"],
        ["press", "shoe", "blue"],
        ["take", "shoe", "8"],
        ["levitate"],
        ["run", "--speed", "0"],
    ):
        wrong = shoesim(tmp_path, *words)
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert wrong.stderr.splitlines()[-1].startswith("Error: ")
    with simulators(tmp_path):  # the same once more as real processes
        codes = [
            subprocess.run([SHOESIM, *words], capture_output=True, timeout=LIMIT_S, check=False).returncode
            for words in (
                ["status", "--dir", str(tmp_path)],
                ["load", "shoe", "green", "--dir", str(tmp_path)],
                ["load", "hat"],
            )
        ]
    assert codes == [0, 1, 2]


RUBBISH = [
    b"",
    b"\n",
    b"levitate\n",
    b"\x00\xff\xfe\n",
    b"[]\n",
    b"null\n",
    b'{"do"',
    b'{"do": "status"',
    b'{"do": 5}\n',
    b'{"do": "status", "colour": "red"}\n',
    b'{"do": "levitate"}\n',
    b'{"do": "inject"}\n',
    b'{"do": "inject", "device": "shoe", "fault": "rust"}\n',
    b'{"do": "inject", "device": "shoe", "fault": "noise", "for_s": -1}\n',
    b'{"do": "inject", "device": "shoe", "fault": "jam", "after_cards": -9}\n',
    b'{"do": "press", "device": "shoe", "button": "blue"}\n',
    b'{"do": "take", "device": "shoe", "seat": -3}\n',
    b'{"do": "load", "device": "hat"}\n',
    b"[" * 4000 + b"\n",
    b"x" * 5000 + b"\n",
    b"x" * 1_000_000,
]


def test_rubbish_on_the_control_socket(tmp_path: Path) -> None:
    with simulators(tmp_path):
        for line in RUBBISH:
            with socket.socket(socket.AF_UNIX) as asker:
                asker.settimeout(LIMIT_S)
                asker.connect(str(tmp_path / SOCKET_NAME))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it does not hear the babbler out
                    asker.sendall(line)
                    asker.shutdown(socket.SHUT_WR)
                    answer = asker.makefile("rb").read()
                    assert answer == b"" or json.loads(answer)["ok"] in (True, False)
            with socket.socket(socket.AF_UNIX) as hasty:  # and does not wait for the answer
                hasty.connect(str(tmp_path / SOCKET_NAME))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    hasty.sendall(line)
        assert "53 cards table 0" in said(tmp_path, "status")


# --- scripts ----------------------------------------------------------------------------------------------------------


def test_planned_faults(tmp_path: Path) -> None:
    script = tmp_path / "faults.toml"
    script.write_text(
        '[[fault]]\ndevice = "shuffler"\nfault = "unplug"\nat_s = 0\n'
        '[[fault]]\ndevice = "shoe"\nfault = "jam"\nat_cycle = 2\nafter_cards = 1\n'
    )
    with started(tmp_path, "--script", str(script)) as process:
        addresses = announced(process)
        assert not Path(addresses["shuffler"]).exists()
        printed = json.loads(said(tmp_path, "status", "--json"))
        assert printed["devices"]["shuffler"]["faults"] == ["unplug"]
        said(tmp_path, "load", "shoe")

        async def deal() -> None:
            async with ConnectedDevice(addresses["shoe"]) as shoe:
                await shoe.command(Dispense, 1, 2)
                assert (await shoe.until(CycleDone)).outcome is Outcome.COMPLETE
                said(tmp_path, "take", "shoe")
                await shoe.command(Dispense, 2, 3)
                await shoe.until(Jam)
                await shoe.until(CycleDone)

        run(deal())
        assert "1 cards exit 0" in said(tmp_path, "status")
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0


MISTAKES = [
    ("[[fault]]\ndevice = 'shoe'\nfault = 'jam'\nat_s = 1\ncolour = 'red'", "colour"),
    ("[[fault]]\ndevice = 'shoe'\nfault = 'rust'\nat_s = 1", "rust"),
    ("[[fault]]\ndevice = 'shoe'\nfault = 'jam'\nat_s = 1\nat_cycle = 1", "either at_s or at_cycle"),
    ("[[fault]]\ndevice = 'shoe'\nfault = 'jam'", "either at_s or at_cycle"),
    ("[[fault]]\ndevice = 'shoe'\nfault = 'jam'\nat_cycle = 0", "counted from 1"),
    ("[[fault]]\ndevice = 'hat'\nfault = 'jam'\nat_s = 1", "unknown device 'hat'"),
    ("[[fault]]\nfault = 'jam'\nat_s = 1", "device"),
    ("[[fault]]\ndevice = 'shoe'\nfault = 'jam'\nat_s = 'noon'", "at_s"),
    ("fault = [", "end of document"),
    ("", "fault"),
]


@pytest.mark.parametrize(("text", "about"), MISTAKES)
def test_mistakes_in_a_script(text: str, about: str) -> None:
    with pytest.raises(ScriptError) as wrong:
        read_script(text)
    assert about in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize(("text", "about"), [*MISTAKES[:3], ("\udcff\udcfe", "decode")])
def test_mistakes_in_a_script_keep_the_devices_from_starting(tmp_path: Path, text: str, about: str) -> None:
    script = tmp_path / "faults.toml"
    script.write_text(text, errors="surrogateescape")
    line = refused(tmp_path, "--script", str(script))
    assert line.startswith(f"Error: {script}: ")
    assert about in line
    assert os.listdir(tmp_path) == ["faults.toml"]


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    missing = shoesim(tmp_path, "run", "--script", str(tmp_path / "nothing"))
    assert missing.exit_code == 2
    assert "nothing" in missing.stderr


def test_a_typo_is_answered_with_the_nearest_verb() -> None:
    result = CliRunner().invoke(cli, ["injct"])
    assert result.exit_code == 2
    assert "Did you mean 'inject'?" in result.stderr

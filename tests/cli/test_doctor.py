"""`shoectl doctor`: every problem is found and comes with its fix; a healthy machine has none."""

from __future__ import annotations

import grp
import json
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.cli import client
from controller.cli.checks import TOPICS, devices, examine
from controller.cli.checks import machine as machine_checks
from controller.cli.checks.examination import Examination, Finding
from controller.cli.client import Client
from controller.core.actions import Role
from controller.daemon.config import EXAMPLE
from controller.daemon.people import PeopleFile, Person, hash_pin, write_people
from controller.daemon.version import VERSION
from controller.journal import Journal, NewEvent
from firmware_bridge.ports import discovery as ports_here
from tests.journal.test_store import by_hand
from tests.support.contract_daemon import ContractDaemon
from tests.support.other_user import as_nobody
from tests.support.shoectl import shoectl

DEVICE = {
    "name": "shoe",
    "port": "/dev/shoed/shoe",
    "stage": "ready",
    "state": "ready",
    "online": True,
    "identity": None,
    "boot": 1,
    "last_event": 0,
    "counters": {"frames_in": 50_000, "crc_errors": 2, "cobs_errors": 0, "length_errors": 0, "resends": 1, "losses": 0},
    "round_trip": None,
    "trouble": "",
    "history": [],
}
SYSTEMCTL = """LoadState=loaded
ActiveState=active
SubState=running
Result=success
NRestarts=0
UnitFileState=enabled
NeedDaemonReload=no"""
HASHED = hash_pin("2580", b"salt")  # once: it costs some 50 ms
TIMEDATECTL = "NTPSynchronized=yes\nNTP=yes\nLocalRTC=no"


class Machine:
    """A healthy machine in a folder: its files, its commands, its daemon."""

    def __init__(self, root: Path, daemon: ContractDaemon, commands: Path) -> None:
        self.root, self.daemon, self._commands = root, daemon, commands
        self.user = grp.getgrgid(os.getgid()).gr_name
        self.file("/etc/shoed/table.toml", EXAMPLE).chmod(0o640)
        self.file(f"/usr/lib/udev/rules.d/{devices.RULES}")
        for name in ("shuffler", "shoe"):
            self.file(f"/dev/shoed/{name}").chmod(0o660)
        self.file("/sys/class/rtc/rtc0/name")
        people = self.path("/etc/shoed/people.toml")
        roles = [Role.DEALER, Role.FLOOR]
        write_people(people, PeopleFile([Person("Flo", roles, HASHED, six_digits=True)]))
        self.journal = self.path("/var/lib/shoed/journal.db")
        self.journal.parent.mkdir(parents=True, mode=0o750)
        with Journal(self.journal, create=True) as journal:
            journal.append([NewEvent("2026-01-31T23:59:59.123456Z", "table.opened")])
        self.command("systemctl", SYSTEMCTL)
        self.command("timedatectl", TIMEDATECTL)
        daemon.answers |= {
            "/api/v1/devices": {"devices": [DEVICE | {"name": "shuffler"}, dict(DEVICE)]},
            "/api/v1/openapi.json": {"info": {"version": VERSION}},
            "/api/v1/session": {"people": [{"name": "tess", "role": "technician"}]},
            "/api/v1/journal": {"path": str(self.journal)},
        }

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def file(self, path: str, text: str = "") -> Path:
        found = self.path(path)
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_text(text)
        return found

    def command(self, name: str, text: str, code: int = 0, script: bool = False) -> None:
        """A system command that prints this text, or is this script."""
        path = self._commands / name
        path.write_text(f"#!/bin/sh\n{text}\n" if script else f"#!/bin/sh\ncat <<'EOF'\n{text}\nEOF\nexit {code}\n")
        path.chmod(0o755)

    def findings(self) -> list[Finding]:
        return list(examine(self.examination()))

    def examination(self) -> Examination:
        return Examination(Client(self.daemon.path), "", root=self.root, user=self.user)

    def wrong(self) -> dict[str, Finding]:
        """The problems by topic; at most one per topic."""
        found = [finding for finding in self.findings() if finding.verdict == "wrong"]
        assert all(finding.fix for finding in found)
        assert len({finding.topic for finding in found}) == len(found), found
        return {finding.topic: finding for finding in found}


@pytest.fixture
def machine(shared_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A healthy machine. What only root could set up on a real one is patched."""
    commands = shared_path / "commands"
    commands.mkdir()
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    me = pwd.getpwuid(os.getuid())
    group = grp.getgrgid(os.getgid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    monkeypatch.setattr(grp, "getgrnam", lambda name: group)
    monkeypatch.setattr(stat, "S_ISCHR", lambda mode: True)
    monkeypatch.setattr(machine_checks, "MEMORY_FILE_SYSTEMS", set())
    monkeypatch.setattr(devices, "holder_of", lambda node: "")
    monkeypatch.setattr(ports_here, "serial_ports", list)
    monkeypatch.setattr(ports_here, "usb_devices", list)
    with ContractDaemon(shared_path / "control.sock") as daemon:
        yield Machine(shared_path / "root", daemon, commands)


def test_a_healthy_machine(machine: Machine) -> None:
    findings = machine.findings()
    assert {finding.verdict for finding in findings} == {"ok"}, findings
    assert {finding.topic for finding in findings} == set(TOPICS)


def tear(journal: Path) -> None:
    with by_hand(journal) as connection:
        connection.execute("UPDATE events SET kind = 'x.y'")


# One thing is broken; the topic that finds it; words of the finding; words of its fix.
ILLNESSES: list[tuple[str, Callable[[Machine], object], str, str, str]] = [
    ("no config", lambda m: m.path("/etc/shoed/table.toml").unlink(), "config", "is missing", "config example"),
    ("bad config", lambda m: m.file("/etc/shoed/table.toml", "nmae = 1"), "config", "nmae", "sudoedit"),
    ("nobody", lambda m: write_people(m.path("/etc/shoed/people.toml"),
        PeopleFile([Person("D", [Role.DEALER], HASHED)])), "config", "as floor", "person add"),
    ("bad people", lambda m: m.file("/etc/shoed/people.toml", "x"), "config", "people.toml", "person list"),
    ("people seen", lambda m: m.path("/etc/shoed/people.toml").chmod(0o644), "permissions", "0644", "chmod 0640"),
    ("config hidden", lambda m: m.path("/etc/shoed/table.toml").chmod(0o200), "permissions", "cannot read", "chmod"),
    ("journal shut", lambda m: m.journal.chmod(0o400), "permissions", "cannot read and write", "chmod u+rw "),
    ("folder shut", lambda m: m.journal.parent.chmod(0o550), "permissions", "cannot use", "chmod u+rwx "),
    ("no audit", lambda m: m.journal.chmod(0o600), "permissions", "cannot be read by auditors", "chmod g+r "),
    ("journal seen", lambda m: m.journal.chmod(0o666), "permissions", "0666", "chmod 0640"),
    ("rules gone", lambda m: m.path(f"/usr/lib/udev/rules.d/{devices.RULES}").unlink(), "udev", "missing", "udevadm"),
    ("slow FTDI", lambda m: m.file("/sys/class/tty/shoe/device/latency_timer", "16\n"), "udev", "16 ms", "echo 1 |"),
    ("unplugged", lambda m: m.path("/dev/shoed/shoe").unlink(), "ports", "shoe: /dev/shoed/shoe", "shoectl ports"),
    ("closed port", lambda m: m.path("/dev/shoed/shoe").chmod(0o600), "ports", "mode 0600", "udevadm trigger"),
    ("no unit", lambda m: m.command("systemctl", "LoadState=not-found"), "unit", "not installed", "install"),
    ("unit masked", lambda m: m.command("systemctl", SYSTEMCTL.replace("LoadState=loaded", "LoadState=masked")), "unit",
        "masked", "systemctl unmask "),
    ("unit failed", lambda m: m.command("systemctl", SYSTEMCTL.replace("=active", "=failed")), "unit", "failed",
        "systemctl restart"),
    ("unit off", lambda m: m.command("systemctl", SYSTEMCTL.replace("enabled", "disabled")), "unit", "start with",
        "systemctl enable"),
    ("unit old", lambda m: m.command("systemctl", SYSTEMCTL.replace("Reload=no", "Reload=yes")), "unit", "changed",
        "daemon-reload"),
    ("no door", lambda m: m.command("systemctl", 'case "$2" in *.socket) echo LoadState=loaded; echo ActiveState=dead;;'
        f" *) echo '{SYSTEMCTL}';; esac", script=True), "unit", "cannot be reached", "start"),
    ("cannot NTP", lambda m: m.command("timedatectl", "NTPSynchronized=no\nNTP=no\nCanNTP=no"), "clock", "no program",
        "apt install systemd-timesyncd"),
    ("no NTP", lambda m: m.command("timedatectl", "NTPSynchronized=no\nNTP=no"), "clock", "switched off", "set-ntp"),
    ("no sync", lambda m: m.command("timedatectl", "NTPSynchronized=no\nNTP=yes"), "clock", "not sync", "timesync"),
    ("local RTC", lambda m: m.command("timedatectl", TIMEDATECTL.replace("RTC=no", "RTC=yes")), "clock", "summer",
        "set-local-rtc 0"),
    ("torn journal", lambda m: tear(m.journal), "journal", "event 1", "journal verify"),
    ("no journal", lambda m: m.journal.unlink(), "journal", "journal.db", "systemctl start"),
    ("old daemon", lambda m: m.daemon.answers["/api/v1/openapi.json"]["info"].update(version="0.0"), "daemon", "0.0",
        "systemctl restart"),
    ("offline", lambda m: m.daemon.answers["/api/v1/devices"]["devices"][1].update(online=False, trouble="no cable"),
        "devices", "shoe: not connected: no cable", "shoectl ports"),
    ("jam", lambda m: m.daemon.answers["/api/v1/devices"]["devices"][1].update(state="jammed"), "devices",
        "shoe: jammed", "shoectl status"),
    ("noise", lambda m: m.daemon.answers["/api/v1/devices"]["devices"][1].update(
        counters=DEVICE["counters"] | {"crc_errors": 900}), "devices", "900 of 50900", "shoectl counters shoe"),  # type: ignore[operator]
]  # fmt: skip


@pytest.mark.parametrize(
    ("make_ill", "topic", "text", "fix"), [i[1:] for i in ILLNESSES], ids=[i[0] for i in ILLNESSES]
)
def test_an_illness(machine: Machine, make_ill: Callable[[Machine], object], topic: str, text: str, fix: str) -> None:
    make_ill(machine)
    (found,) = machine.wrong().values()
    assert found.topic == topic
    assert text in found.text
    assert fix in found.fix


def test_a_clock_that_was_set_back(machine: Machine) -> None:
    with Journal(machine.journal) as journal:
        journal.append([NewEvent("2999-01-01T00:00:00.000000Z", "table.idled")])
    assert "2999-01-01" in machine.wrong()["clock"].text


@pytest.mark.parametrize(
    ("kind", "flag", "blocks", "files", "text"),
    [
        ("ext4", 0, 10, 10**6, "only"),
        ("ext4", 0, 10**9, 10, "inodes"),
        ("ext4", os.ST_RDONLY, 10**9, 10**6, "read-only"),
        ("nfs4", 0, 10**9, 10**6, "network"),
        ("tmpfs", 0, 10**9, 10**6, "in memory"),
    ],
)
def test_disks(machine: Machine, mocker: Any, kind: str, flag: int, blocks: int, files: int, text: str) -> None:
    mocker.patch.object(machine_checks, "MEMORY_FILE_SYSTEMS", {"tmpfs"})
    mocker.patch.object(machine_checks, "_file_system", return_value=(kind, "/var"))
    disk = mocker.Mock(f_flag=flag, f_bavail=blocks, f_frsize=4096, f_files=10**7, f_favail=files)
    mocker.patch.object(os, "statvfs", return_value=disk)
    assert text in machine.wrong()["disk"].text


def test_the_file_system_of_a_folder(tmp_path: Path) -> None:
    if shutil.which("findmnt") is None:
        pytest.skip("no findmnt here")
    for folder in (tmp_path, Path("/proc"), Path("/dev/shm")):
        words = ["findmnt", "-nT", str(folder), "-o", "FSTYPE,TARGET"]
        output = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()
        assert list(machine_checks._file_system(folder)) == output


def test_a_port_that_another_program_holds(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "holder_of", lambda node: " by ModemManager (pid 77)" if "shoe" in node[-4:] else "")
    found = machine.wrong()["ports"]
    assert "ModemManager" in found.text
    assert found.fix == "sudo kill 77"


def test_a_link_that_was_not_good_lately(machine: Machine) -> None:
    samples = [{"state": "ok"}] * 900 + [{"state": "degraded"}, {"state": "ok"}] * 30
    machine.daemon.answers["/api/v1/devices"]["devices"][1]["history"] = samples
    (note,) = [finding for finding in machine.findings() if finding.verdict != "ok"]
    assert (note.topic, note.verdict) == ("devices", "note")
    assert "shoe: the link was not ok for 300 s" in note.text


def test_groups(machine: Machine, mocker: Any) -> None:
    mocker.patch.object(grp, "getgrnam", side_effect=KeyError)
    assert "systemd-sysusers" in machine.wrong()["groups"].fix
    mocker.stopall()
    mocker.patch.object(os, "geteuid", return_value=1000)
    mine = grp.getgrgid(os.getegid()).gr_name
    machine.file("/etc/shoed/table.toml", EXAMPLE.replace("shoed-floor", mine))
    assert machine.wrong() == {}
    mocker.patch.object(os, "getgrouplist", return_value=[2**30])
    assert "usermod -aG shoed-technician" in machine.wrong()["groups"].fix


def test_without_systemd(machine: Machine) -> None:
    machine.command("systemctl", "", 1)
    machine.command("timedatectl", "", 1)
    assert machine.wrong() == {}
    notes = {finding.topic for finding in machine.findings() if finding.verdict == "note"}
    assert notes == {"unit", "clock"}


def test_without_a_daemon(machine: Machine) -> None:
    examination = Examination(None, "nobody is there", root=machine.root, user=machine.user)
    found = {finding.topic: finding for finding in examine(examination) if finding.verdict == "wrong"}
    assert set(found) == {"daemon"}
    assert found["daemon"].fix.startswith("sudo systemctl start ")


def test_a_stopped_table(machine: Machine) -> None:
    machine.daemon.answers["/healthz"] = {"status": "stopped", "why": "the disk is full"}
    machine.daemon.status["/healthz"] = 503
    assert "the disk is full" in machine.wrong()["daemon"].text


def test_in_simulation_the_installation_is_not_looked_at(machine: Machine) -> None:
    machine.daemon.answers["/api/v1/table"]["simulated"] = True
    machine.path("/etc/shoed/table.toml").unlink()
    machine.command("systemctl", "LoadState=not-found")
    assert machine.wrong() == {}
    assert machine.findings()[-1].topic == "simulation"


def test_a_daemon_that_gives_no_role(machine: Machine) -> None:
    error = {"error": {"code": "not_your_part", "message": "tess has no role at this table", "hint": "a group"}}
    for path in ("table", "devices", "session", "journal", "openapi.json"):
        machine.daemon.answers[f"/api/v1/{path}"], machine.daemon.status[f"/api/v1/{path}"] = error, 403
    assert machine.wrong() == {}
    (note,) = [finding for finding in machine.findings() if finding.verdict == "note"]
    assert (note.topic, "tess has no role" in note.text) == ("devices", True)


def test_as_a_user_without_rights(machine: Machine, shared_path: Path) -> None:
    for folder in (machine.path("/etc/shoed"), machine.journal.parent):
        folder.chmod(0o700)
    (shared_path / "control.sock").chmod(0o666)
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    found = as_nobody(machine.findings)
    notes = {finding.topic for finding in found if finding.verdict == "note"}
    assert {"config", "journal"} <= notes
    assert not [finding for finding in found if finding.verdict == "wrong" and finding.topic != "groups"]


# --- the verb ---------------------------------------------------------------------------------------------------------


def test_the_verb(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.daemon.answers["/api/v1/table"]["simulated"] = True
    monkeypatch.setenv(client.VARIABLE, str(machine.daemon.path))
    good = shoectl("doctor")
    assert good.exit_code == 0, good.output
    assert good.stdout.splitlines()[-1].endswith("findings: nothing is wrong")
    machine.daemon.answers["/api/v1/devices"]["devices"][0]["online"] = False
    bad = shoectl("doctor", "--socket", str(machine.daemon.path))
    assert bad.exit_code == 1
    lines = bad.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("wrong  devices"))
    assert lines[at + 1].strip() == "$ shoectl ports"
    assert lines[-1].endswith("1 problem")
    found = json.loads(shoectl("doctor", "--json").stdout)
    assert [one["topic"] for one in found if one["verdict"] == "wrong"] == ["devices"]

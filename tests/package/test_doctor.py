"""`shoectl doctor` on an installed machine with a real systemd.

It reports what a new machine lacks and nothing once it is set up. Whatever is broken then, it reports the problem and
the command that fixes it, and nothing after that command.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from debian.releases import DebianRelease
from tests.package.machine import Machine, make_root, until
from tests.package.test_package import HERE

# Without devices, because a container has none.
TABLE = """name = "Table 1"
[table]
method = "manual_shoe"
backs = ["red"]
[screen]
"""
KEEPER = """[Unit]
Description=Stands in for systemd-timesyncd, which a container does not run
[Service]
ExecStart=/bin/sh -c 'touch /run/heard; exec sleep infinity'
ExecStopPost=/bin/rm -f /run/heard
[Install]
WantedBy=multi-user.target
"""
# Commands that only show more, or that need a kernel of their own.
NOT_HERE = re.compile(r"(; )?journalctl .*|( && )?udevadm trigger")
Findings = list[dict[str, str]]


@pytest.fixture(scope="module")
def machine(release: DebianRelease, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with the package just installed. Its /var/lib is on a disk, as a journal requires."""
    folder = tmp_path_factory.mktemp("doctor")
    root, disk = folder / "root", folder / "disk"
    make_root(release, root)
    try:
        subprocess.run(["cp", "-a", str(root / "var/lib"), str(disk)], check=True)
        shutil.copy(package, root)
        clock = root / "usr/local/lib/clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-o", str(clock), str(HERE / "clock.c")], check=True)
        drop_in = root / "etc/systemd/system/systemd-timedated.service.d/clock.conf"
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text("[Service]\nEnvironment=LD_PRELOAD=/usr/local/lib/clock.so\n")
        with contextlib.closing(Machine(root, f"--bind={disk}:/var/lib")) as machine:
            machine.wait_for_boot()
            machine.run(f"dpkg -i /{package.name}")
            yield machine
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)


def examine(machine: Machine, user: str = "") -> Findings:
    """All findings, for root or another user; the exit code must match them."""
    as_user = f"setpriv --reuid {user} --regid {user} --init-groups " if user else ""
    said = machine.run(f"{as_user}shoectl doctor --json; echo $?", check=False)
    text, _, code = said.rpartition("\n")
    findings: Findings = json.loads(text)
    assert code == str(int(any(finding["verdict"] == "wrong" for finding in findings))), said
    return findings


def wrong(machine: Machine, user: str = "") -> Findings:
    """The problems, each of which must have a command."""
    found = [finding for finding in examine(machine, user) if finding["verdict"] == "wrong"]
    assert all(finding["mend"] for finding in found), found
    return found


def content(machine: Machine) -> bool:
    return not wrong(machine)


def named(findings: Findings, topic: str, words: str) -> str:
    """The command that fixes the one problem with these words."""
    (mend,) = [one["mend"] for one in findings if one["topic"] == topic and words in one["text"]]
    return mend


def is_named(findings: Findings, expected: list[tuple[str, str, str]]) -> bool:
    """Whether the problems are exactly the expected ones, each with its command."""
    return [one["topic"] for one in findings] == [topic for topic, _, _ in expected] and all(
        words in one["text"] and mend in one["mend"] for one, (_, words, mend) in zip(findings, expected, strict=True)
    )


def do(machine: Machine, mend: str, *, check: bool = True) -> None:
    """Do what the doctor says; root needs no sudo."""
    command = NOT_HERE.sub("", mend.replace("sudo ", ""))
    if command:
        machine.run(f"cd / && timeout 60 sh -c '{command}'", check)


def is_content_after(machine: Machine, findings: Findings) -> bool:
    """Whether the doctor is content once this was done."""
    for one in findings:
        do(machine, one["mend"], check=False)
    with contextlib.suppress(AssertionError):
        until("content", lambda: content(machine), within_s=120)
        return True
    return False


def test_a_new_machine_lacks_people_devices_and_the_time(machine: Machine) -> None:
    found = wrong(machine)
    assert "/dev/shoed/shuffler is missing" in str(found)
    lacks = [(one["topic"], one["mend"]) for one in found]
    assert lacks == [
        ("config", "sudo shoectl person add NAME --role dealer"),
        ("config", "sudo shoectl person add NAME --role floor"),
        ("ports", "shoectl ports"),
        ("ports", "shoectl ports"),
        ("devices", "shoectl ports"),
        ("devices", "shoectl ports"),
        ("clock", "sudo apt install systemd-timesyncd"),
    ]


def test_set_up_as_it_says_it_is_content(machine: Machine) -> None:
    for name, role in (("Dana", "dealer"), ("Flo", "floor")):
        mend = named(wrong(machine), "config", f"as {role}").replace("NAME", name)
        machine.run(f"echo {471100 + len(role)} | {mend.removeprefix('sudo ')}")
    write(machine, "/etc/shoed/table.toml", TABLE)
    machine.run("systemctl restart shoed.service")
    write(
        machine, "/etc/systemd/system/keeper.service", KEEPER
    )  # in place of systemd-timesyncd, which apt cannot download here
    write(machine, "/etc/systemd/ntp-units.d/keeper.list", "keeper.service\n")
    machine.run("systemctl daemon-reload && systemctl restart systemd-timedated")
    (clock,) = wrong(machine)
    assert (clock["topic"], clock["text"]) == ("clock", "synchronisation of the clock is switched off")
    do(machine, clock["mend"])
    until("content", lambda: content(machine))
    assert machine.run("shoectl doctor").endswith("nothing is wrong")


def write(machine: Machine, path: str, text: str) -> None:
    """Write a file; an existing one keeps its owner and mode."""
    target = machine.root / path[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


# What is done to the machine, and what the doctor must report: topic, part of the text, part of the command.
BROKEN: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "stopped": (
        "systemctl stop shoed",
        [("daemon", "no daemon is running", "systemctl start shoed"), ("unit", "inactive", "systemctl restart shoed")],
    ),
    "masked": (
        "systemctl mask --now shoed",
        [
            ("daemon", "no daemon is running", "systemctl unmask shoed && "),
            ("unit", "is masked", "systemctl unmask shoed && "),
        ],
    ),
    "masked until the next boot": (
        "systemctl mask --runtime --now shoed",
        [
            ("daemon", "no daemon is running", "unmask --runtime shoed && "),
            ("unit", "is masked", "unmask --runtime shoed && "),
        ],
    ),
    "switched off": ("systemctl disable shoed", [("unit", "does not start with", "systemctl enable shoed")]),
    "page without a door": (
        "systemctl stop shoed.socket",
        [("daemon", "no daemon is running", "systemctl start shoed"), ("unit", "inactive", "systemctl restart shoed")],
    ),
    "unit edited": ("echo >> /lib/systemd/system/shoed.service", [("unit", "was changed", "systemctl daemon-reload")]),
    "journal for all": ("chmod 0777 /var/lib/shoed", [("permissions", "0777", "chmod 0750 /var/lib/shoed")]),
    "journal's folder of root": (
        "chown root /var/lib/shoed",
        [("permissions", "/var/lib/shoed belongs to root", "chown shoed /var/lib/shoed")],
    ),
    "journal's folder shut": (
        "chmod 0550 /var/lib/shoed",
        [("permissions", "cannot use it", "chmod u+rwx /var/lib/shoed")],
    ),
    "journal of root": (
        "systemctl stop shoed; chown root /var/lib/shoed/journal.db; systemctl start --no-block shoed",
        [
            ("daemon", "has stopped the table", "journalctl"),
            ("permissions", "journal.db belongs to root", "chown shoed /var/lib/shoed/journal.db"),
            ("unit", "activating", "journalctl"),  # a restart would wait forever
        ],
    ),
    "configuration hidden": (
        "chown root:root /etc/shoed/table.toml; chmod 0600 /etc/shoed/table.toml; systemctl restart --no-block shoed",
        [
            ("daemon", "", "journalctl"),
            ("permissions", "the service cannot read it", "chgrp shoed /etc/shoed/table.toml"),
            ("unit", "", "journalctl"),
        ],
    ),
    "rules gone": ("rm /lib/udev/rules.d/70-shoed.rules", [("udev", "is missing", "apt install --reinstall")]),
    "clock": ("timedatectl set-ntp false", [("clock", "is switched off", "timedatectl set-ntp true")]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_named_and_mended(machine: Machine, what: str) -> None:
    command, expected = BROKEN[what]
    machine.run(command, check=False)
    found: Findings = []

    def is_reported() -> bool:
        found[:] = wrong(machine)
        return is_named(found, expected)

    # A unit on its way from one state to another passes through a third, so the doctor is asked until it settles.
    until(f"{expected} are named", is_reported, within_s=300)
    # A machine that is very busy may need the same advice once more, as a person would follow it.
    assert is_content_after(machine, found) or is_content_after(machine, wrong(machine)), wrong(machine)


def test_a_mistake_in_the_configuration_is_named_with_its_line(machine: Machine) -> None:
    write(machine, "/etc/shoed/table.toml", TABLE.replace("backs", "seats = 9\nbacks"))
    machine.run("systemctl restart shoed.service", check=False)
    until("the unit fails", lambda: int(machine.unit("shoed.service", "NRestarts")) > 0)
    mend = named(wrong(machine), "config", "9 player positions")
    assert mend == "sudoedit /etc/shoed/table.toml"
    write(machine, "/etc/shoed/table.toml", TABLE)  # there is no editor here
    until("content, by itself", lambda: content(machine))


def test_somebody_without_a_role_gets_one(machine: Machine) -> None:
    machine.run("useradd --no-create-home tess")
    (lacks,) = wrong(machine, "tess")
    assert (lacks["topic"], lacks["text"]) == ("groups", "tess has no role at the table")
    do(machine, lacks["mend"])
    assert wrong(machine, "tess") == []
    reported = [one["text"] for one in examine(machine, "tess")]
    assert "it knows you as tess: technician" in reported, "the daemon knows the new role without a new login"

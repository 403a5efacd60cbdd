"""Install, run, break, upgrade, remove and purge the Debian package, in this order, on one machine of each release."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from debian.releases import RELEASES, DebianRelease
from tests.package.machine import Machine, make_root, until

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
JOURNAL = "/var/lib/shoed/journal.db"
STAND_IN = "/etc/systemd/system/shoed.service.d/stand-in.conf"
PEER = """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("/run/shoed/control.sock")
s.sendall(b"%s")
print(s.recv(16).decode())
"""


@pytest.fixture(scope="module")
def machine(release: DebianRelease, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A bare machine with the stand-in, so that the sandbox is tested before the daemon."""
    folder = tmp_path_factory.mktemp("machine")
    root = folder / "root"
    make_root(release, root)
    try:
        shutil.copy(package, root / "first.deb")
        for other in RELEASES.values():
            if other != release and other.package.exists():
                shutil.copy(other.package, root / "other.deb")
        upgraded(package, folder, root / "second.deb")
        program = root / "usr/local/bin/stand-in"
        program.write_text(f"#!/usr/lib/dragonshoe/bin/python3 -I\n{(HERE / 'stand_in.py').read_text()}")
        program.chmod(0o755)
        drop_in = root / STAND_IN[1:]
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text(
            "[Service]\nExecStart=\nExecStart=/usr/local/bin/stand-in\nExecPaths=/usr/local/bin/stand-in\n"
        )
        with contextlib.closing(Machine(root)) as machine:
            machine.wait_for_boot()
            yield machine
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)


def upgraded(package: Path, folder: Path, target: Path) -> None:
    """Write the same package with a higher version and a changed configuration."""
    tree = folder / "second"
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", r"\g<0>+next", control.read_text(), flags=re.M))
    with (tree / "etc/shoed/table.toml").open("a") as config:
        config.write("# A line of the new version.\n")
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", str(tree), str(target)], check=True)
    shutil.rmtree(tree)


def test_lintian_finds_no_error(package: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian is missing; run `apt install lintian`")
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error", str(package)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def active(machine: Machine) -> bool:
    return machine.unit("shoed.service", "ActiveState") == "active"


def test_the_package_for_another_release_is_refused(machine: Machine) -> None:
    if not (machine.root / "other.deb").exists():
        pytest.skip("only one package is built")
    refused = machine.run("apt-get install --simulate /other.deb", check=False)
    assert "dragonshoe : Depends: python3 (<" in refused or "dragonshoe : Depends: python3 (>" in refused, refused
    machine.run("rm /other.deb")


def test_install(machine: Machine) -> None:
    said = machine.run("dpkg -i /first.deb")
    assert not re.search(r"warn|error|fail", said, re.I), said
    assert active(machine), machine.run("systemctl status shoed.service", check=False)
    assert machine.run("systemctl is-enabled shoed.service") == "enabled"
    assert machine.run("stat -c '%U:%G %a' /etc/shoed /etc/shoed/table.toml /var/lib/shoed /run/shoed").split("\n") == [
        "root:shoed 751",
        "root:shoed 640",
        "shoed:shoed-auditor 750",
        "shoed:shoed-auditor 755",
    ]
    for role in ("dealer", "floor", "technician", "auditor"):
        machine.run(f"getent group shoed-{role}")
    assert machine.run("dpkg --verify dragonshoe") == ""


@pytest.mark.parametrize("command", ["shoed", "shoectl", "shoesim"])
def test_the_commands_run(machine: Machine, command: str) -> None:
    assert "Usage:" in machine.run(f"cd /tmp && {command} --help")
    machine.run(f"{command} --version")
    page = "man8/shoed.8" if command == "shoed" else f"man1/{command}.1"
    assert ".SH NAME" in machine.run(f"zcat /usr/share/man/{page}.gz")


def test_the_shipped_scenarios_play(machine: Machine) -> None:
    machine.run("shoesim play /usr/share/doc/dragonshoe/examples/scenarios/shoe_jams_in_the_deal.toml")


def test_what_the_sandbox_allows_and_refuses(machine: Machine) -> None:
    found = json.loads(machine.run("cat /var/lib/shoed/probe.json"))
    # By a system call filter, or since systemd 254 by the kernel's own means.
    assert found.pop("make code") in ("Operation not permitted", "Permission denied")
    assert found == {
        "commit": "yes",
        "call back": "yes",
        "find usb": "yes",
        "hear udev": "yes",
        "use a terminal": "yes",
        "read the configuration": "yes",
        "see no other's processes": "yes",
        "know the boot": "yes",
        "import everything": "yes",
        "open a network socket": "Address family not supported by protocol",
        "write the configuration": "Permission denied",
        "write the program": "Permission denied",
        "run another program": "Permission denied",
        "become root": "Operation not permitted",
        "list homes": "Permission denied",
        "handed over": "http ('127.0.0.1', 8053)",
    }


def ask(machine: Machine, user: str, word: str = "who") -> str:
    return machine.run(f"setpriv --reuid {user} --regid {user} --clear-groups python3 -c '{PEER % word}'")


def test_the_daemon_is_told_who_speaks(machine: Machine) -> None:
    machine.run("useradd --no-create-home dealer")
    assert ask(machine, "dealer") == machine.run("id -u dealer")


def restarted(machine: Machine, number: str) -> str:
    """Wait until another process than this one is active; returns its number."""
    until("active again", lambda: machine.unit("shoed.service", "MainPID") not in ("0", number) and active(machine))
    return machine.unit("shoed.service", "MainPID")


def test_it_comes_back_when_it_is_killed_and_when_it_hangs(machine: Machine) -> None:
    number = machine.unit("shoed.service", "MainPID")
    machine.run("systemctl kill --signal=KILL shoed.service")
    number = restarted(machine, number)
    machine.run(f"timeout 1 python3 -c '{PEER % 'hang'}'", check=False)
    restarted(machine, number)
    assert "Watchdog timeout" in machine.run("journalctl -u shoed.service --no-pager")


def events(machine: Machine) -> list[tuple[int, str]]:
    """Number and hash of every event in the journal, which must verify."""
    machine.run("shoectl journal verify")
    lines = machine.run("shoectl journal tail -n 1000 --json").splitlines()
    return [(event["seq"], event["hash"]) for event in map(json.loads, lines)]


def page(machine: Machine) -> str:
    """The status that the screen's port answers with, or the error."""
    get = 'from urllib.request import urlopen; print(urlopen("http://127.0.0.1:8053/").status)'
    return machine.run(f"python3 -c '{get}'", check=False).splitlines()[-1]


def test_the_real_daemon_runs_under_the_unit(machine: Machine) -> None:
    machine.run(
        f"systemctl stop shoed.service && rm -r $(dirname {STAND_IN}) /var/lib/shoed && systemctl daemon-reload"
    )
    machine.run("systemctl start shoed.service")
    assert active(machine)
    assert machine.unit("shoed.service", "StatusText") == "the table is up"
    assert page(machine) == "200"
    assert machine.run(f"stat -c '%U:%G %a' {JOURNAL} /run/shoed/control.sock").split("\n") == [
        "shoed:shoed-auditor 640",
        "shoed:shoed-auditor 666",
    ]
    assert len(events(machine)) > 0
    said = machine.run("journalctl --unit shoed.service --output cat --no-pager _COMM=shoed")
    assert "Traceback" not in said, said


def test_it_comes_back_however_often_it_is_restarted(machine: Machine) -> None:
    """Systemd starts a unit five times in ten seconds unless it is told otherwise; the screen's socket counts too."""
    machine.run("for again in 1 2 3 4 5 6 7 8; do systemctl restart shoed.service || exit 1; done")
    assert active(machine)
    assert page(machine) == "200"


def as_auditor(machine: Machine, command: str, *, check: bool = True) -> str:
    """What a command prints for a user whose only group besides their own is that of the auditors."""
    return machine.run(f"runuser -u auditor -- {command}", check=check)


def test_an_auditor_reads_verifies_and_exports_without_root(machine: Machine) -> None:
    machine.run("useradd --create-home --groups shoed-auditor auditor")
    assert machine.run(f"stat -c '%G %a' {JOURNAL}-wal {JOURNAL}-shm").split("\n") == ["shoed-auditor 640"] * 2

    def read() -> None:
        assert "chain intact" in as_auditor(machine, "shoectl journal verify")
        as_auditor(machine, "shoectl journal export --proof /home/auditor/night.jsonl --force")
        assert "chain intact" in as_auditor(machine, "shoectl journal verify /home/auditor/night.jsonl")
        as_auditor(machine, "shoectl journal copy /home/auditor/copy.db --force")
        assert "host.started" in as_auditor(machine, f"shoectl events --journal {JOURNAL}")

    read()  # while the daemon runs
    machine.run("systemctl kill --signal=KILL shoed.service && systemctl stop shoed.service")
    read()  # with the log that a killed daemon leaves behind
    machine.run("systemctl start shoed.service && systemctl stop shoed.service")
    read()  # after it ended properly
    machine.run("systemctl start shoed.service")
    assert "denied" in as_auditor(machine, f"dd of={JOURNAL} if=/dev/null conv=notrunc 2>&1", check=False)
    assert "may not read" in machine.run(f"runuser -u nobody -- shoectl journal verify {JOURNAL} 2>&1", check=False)


def test_the_real_daemon_comes_back_with_its_page(machine: Machine) -> None:
    before, number = events(machine), machine.unit("shoed.service", "MainPID")
    machine.run("systemctl kill --signal=KILL shoed.service")
    restarted(machine, number)
    assert page(machine) == "200"
    assert events(machine)[: len(before)] == before


def test_an_open_page_does_not_start_a_stopped_daemon(machine: Machine) -> None:
    machine.run("systemctl stop shoed.service")
    assert "Connection refused" in page(machine)
    assert not active(machine)
    machine.run("systemctl start shoed.service")


def test_a_backup_is_restored_as_the_page_says(machine: Machine) -> None:
    text = (DOCS / "deployment.md").read_text().split("## Back up and restore")[1].split("\n##")[0]
    backup, restore = (
        part.replace("sudo ", "").replace("/media/backup", "/backup")
        for part in text.split("To restore onto a new machine")
    )
    before = events(machine)
    machine.run("mkdir /backup; " + " && ".join(re.findall(r"^    (.+)$", backup, re.M)))
    machine.run(
        "systemctl stop shoed && rm -r /var/lib/shoed && echo >> /etc/shoed/table.toml && systemctl start shoed"
    )
    assert events(machine)[: len(before)] != before
    machine.run(" && ".join(line.split("  #")[0] for line in re.findall(r"^    (.+)$", restore, re.M)))
    assert active(machine)
    assert events(machine)[: len(before)] == before
    assert machine.run("stat -c '%U:%G %a' /etc/shoed/table.toml") == "root:shoed 640"
    machine.run("rm -r /backup")


def test_upgrade_keeps_configuration_and_journal(machine: Machine) -> None:
    machine.run("echo '# Ours.' >> /etc/shoed/table.toml")
    before, number = events(machine), machine.unit("shoed.service", "MainPID")
    machine.run("dpkg --force-confold -i /second.deb")
    assert machine.run("tail -1 /etc/shoed/table.toml") == "# Ours."
    assert machine.run("stat -c '%U:%G %a' /etc/shoed/table.toml") == "root:shoed 640"
    assert active(machine)
    assert machine.unit("shoed.service", "MainPID") != number
    assert events(machine)[: len(before)] == before


def test_upgrade_opens_a_journal_of_version_0_1_to_auditors(machine: Machine) -> None:
    machine.run(f"systemctl stop shoed && chown -R shoed:shoed /var/lib/shoed && chmod 600 {JOURNAL}")
    assert "may not read" in as_auditor(machine, "shoectl journal verify", check=False)
    machine.run("dpkg --force-confold -i /second.deb && systemctl start shoed")
    assert machine.run(f"stat -c '%U:%G %a' /var/lib/shoed {JOURNAL}").split("\n") == [
        "shoed:shoed-auditor 750",
        "shoed:shoed-auditor 640",
    ]
    assert "chain intact" in as_auditor(machine, "shoectl journal verify")


def test_upgrade_leaves_a_switched_off_daemon_off(machine: Machine) -> None:
    machine.run("systemctl disable --now shoed.service")
    machine.run("dpkg --force-confold -i /second.deb")
    assert machine.run("systemctl is-enabled shoed.service", check=False) == "disabled"
    assert not active(machine)
    machine.run("systemctl enable --now shoed.service")


def test_remove_keeps_configuration_and_journal(machine: Machine) -> None:
    before = events(machine)
    machine.run("dpkg -r dragonshoe")
    assert not active(machine)
    assert machine.run("ls /usr/lib | grep -c dragonshoe; ls /usr/bin | grep -c '^shoe'", check=False) == "0\n0"
    machine.run("dpkg --force-confold -i /first.deb")
    assert machine.run("tail -1 /etc/shoed/table.toml") == "# Ours."
    assert active(machine)
    assert events(machine)[: len(before)] == before


def test_purge_removes_all_but_the_journal(machine: Machine) -> None:
    machine.run("touch /etc/shoed/people.toml")
    assert "the journal stays in /var/lib/shoed" in machine.run("dpkg -P dragonshoe")
    machine.run(f"test -s {JOURNAL}")
    assert machine.run("find / -xdev -name '*shoe*' -not -path '/var/lib/shoed*'") == ""
    machine.run("dpkg -i /first.deb; rm /var/lib/shoed/journal.db; dpkg -P dragonshoe; test ! -e /var/lib/shoed")

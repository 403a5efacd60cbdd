"""The units and related files, checked by systemd's own tools; systemd itself need not run."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from debian.releases import RELEASES

SYSTEMD = Path(__file__).parents[2] / "systemd"
UNITS = ("shoed.service", "shoed.socket")
EXPOSURE_TENTHS = 10  # the most that `systemd-analyze security` may find, of 100


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one of systemd's tools; skips the test if it is not installed."""
    tool = shutil.which(command[0])
    if tool is None:
        pytest.skip(f"{command[0]} is missing; run `apt install systemd`")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run(
        [tool, *command[1:]], capture_output=True, text=True, timeout=60, env=environment, check=False
    )


def verify(folder: Path) -> str:
    """systemd's complaints about the units in a folder; its exit code is 0 even for unknown keys."""
    done = run(
        "systemd-analyze", "verify", "--man=no", *(str(folder / name) for name in UNITS), SYSTEMD_UNIT_PATH=f"{folder}:"
    )
    return done.stdout + done.stderr


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units as shipped, except for the program, which is not installed here."""
    for name in UNITS:
        (tmp_path / name).write_text((SYSTEMD / name).read_text().replace("=/usr/bin/shoed ", "=/bin/true "))
    return tmp_path


def test_systemd_has_nothing_to_say_about_the_units(units: Path) -> None:
    assert verify(units) == ""


@pytest.mark.parametrize("wrong", ["Nonsense=yes", "WatchdogSec=soon", "SystemCallFilter=@nonsense"])
def test_the_check_of_the_units_can_fail(units: Path, wrong: str) -> None:
    lines = (units / "shoed.service").read_text().splitlines()
    place = lines.index("[Service]") + 1
    (units / "shoed.service").write_text("\n".join([*lines[:place], wrong, *lines[place:]]))
    assert f"shoed.service:{place + 1}: " in verify(units)


def test_the_sandbox_is_tight() -> None:
    service = str(SYSTEMD / "shoed.service")
    done = run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_TENTHS}", service)
    assert done.returncode == 0, done.stdout + done.stderr


def settings(unit: str) -> configparser.RawConfigParser:
    """A unit as keys and values; the last value if a key occurs twice."""
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep capitals
    parser.read(SYSTEMD / unit)
    return parser


def test_what_would_blind_the_daemon_stays_off() -> None:
    service = settings("shoed.service")["Service"]
    assert "PrivateDevices" not in service  # would hide the shuffler and the shoe
    assert "PrivateUsers" not in service  # would make everyone on the control socket `nobody`
    assert "ProcSubset" not in service  # would hide the boot ID from the table's clock
    assert "PrivateNetwork" not in service  # udev could not announce new devices


def test_the_daemon_binds_no_port_and_runs_no_program_except_its_own() -> None:
    service = settings("shoed.service")["Service"]
    assert service["SocketBindDeny"] == "any"
    assert service["NoExecPaths"] == "/"
    allowed = set(service["ExecPaths"].split())
    pythons = {f"-/usr/bin/python{release.python_version}" for release in RELEASES.values()}
    assert allowed == {"/usr/lib", "-/usr/lib64", "/usr/sbin/ldconfig", *pythons}


def test_auditors_may_read_the_journal_and_nobody_else() -> None:
    service = settings("shoed.service")["Service"]
    assert (service["Group"], service["UMask"], service["StateDirectoryMode"]) == ("shoed-auditor", "0027", "0750")
    assert service["SupplementaryGroups"] == "shoed"  # which opens the devices and reads the configuration


def test_the_table_always_comes_back() -> None:
    unit = settings("shoed.service")
    assert unit["Service"]["Restart"] == "always"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert int(unit["Service"]["TimeoutStartSec"]) > 10 * int(unit["Service"]["WatchdogSec"])
    socket = settings("shoed.socket")
    assert socket["Unit"]["StartLimitIntervalSec"] == "0"
    assert socket["Socket"]["ReusePort"] == "yes", "a daemon that is ending may still have the port"


def test_the_page_is_for_this_machine_alone() -> None:
    socket = settings("shoed.socket")["Socket"]
    assert socket["ListenStream"].startswith("127.0.0.1:")
    assert socket["FileDescriptorName"] == "http"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root of a bare machine with the users and groups of the package."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    done = run("systemd-sysusers", f"--root={root}", str(SYSTEMD / "shoed.sysusers"))
    assert done.returncode == 0, done.stderr
    return root


def test_the_users_and_groups(machine: Path) -> None:
    users = [line.split(":") for line in (machine / "etc/passwd").read_text().splitlines()]
    groups = {line.split(":")[0]: line.split(":")[2] for line in (machine / "etc/group").read_text().splitlines()}
    (user,) = users
    assert (user[0], user[3], user[5]) == ("shoed", groups["shoed"], "/var/lib/shoed")
    assert user[6].endswith("nologin")
    assert set(groups) == {"shoed", "shoed-dealer", "shoed-floor", "shoed-technician", "shoed-auditor", "shoed-screen"}


def test_the_configuration_is_closed_to_others(machine: Path) -> None:
    folder = machine / "etc/shoed"
    folder.mkdir()
    for name in ("table.toml", "people.toml", "screen.token"):
        (folder / name).touch(0o644)
    done = run("systemd-tmpfiles", "--create", f"--root={machine}", str(SYSTEMD / "shoed.tmpfiles"))
    if "Operation not permitted" in done.stderr:
        pytest.skip("only root can give files away")
    assert (done.returncode, done.stderr) == (0, "")
    groups = {line.split(":")[0]: int(line.split(":")[2]) for line in (machine / "etc/group").read_text().splitlines()}
    users = {line.split(":")[0]: int(line.split(":")[2]) for line in (machine / "etc/passwd").read_text().splitlines()}
    for path, mode in ((folder, 0o751), (folder / "table.toml", 0o640), (folder / "people.toml", 0o640)):
        status = path.stat()
        assert (status.st_mode & 0o777, status.st_uid, status.st_gid) == (mode, 0, groups["shoed"]), path
    status = (folder / "screen.token").stat()
    found = (status.st_mode & 0o777, status.st_uid, status.st_gid)
    assert found == (0o440, users["shoed"], groups["shoed-screen"]), "the daemon and the screen's user read it"


def test_every_kind_of_device_that_is_allowed_has_its_driver_loaded_before() -> None:
    service = (SYSTEMD / "shoed.service").read_text()
    allowed = set(re.findall(r"^DeviceAllow=char-(\S+) rw$", service, re.M))
    lines = (SYSTEMD / "shoed.modules-load").read_text().splitlines()
    drivers = {line for line in lines if line and not line.startswith("#")}
    brings = {"ttyUSB": {"ftdi_sio", "cp210x", "pl2303", "ch341"}, "ttyACM": {"cdc_acm"}, "usb_device": set()}
    assert allowed == set(brings)
    assert drivers == set().union(*brings.values())

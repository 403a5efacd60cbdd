"""What `shoectl doctor` looks at on a machine, topic by topic. Every finding that is wrong names the command that mends
it. It only looks: nothing is changed, no port is opened, no device is disturbed.
"""

from __future__ import annotations

import contextlib
import functools
import grp
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from controller.cli.client import INSTALLED, Answered, Client, ClientError
from controller.cli.progress import Progress
from controller.daemon.config import CONFIG_FILE, Config, ConfigError, read_config
from controller.daemon.version import VERSION
from controller.journal import (
    JournalAbsent,
    JournalDamaged,
    JournalError,
    JournalForbidden,
    JournalReader,
)
from firmware_bridge.ports import discovery as ports_here
from firmware_bridge.ports.transport import SerialAddress, UsbAddress, holder_of, parse_address

COMMAND_WITHIN_S = 10.0
ROOM_BYTES = 500 * 2**20  # below this a table is near its end
ROOM_INODES = 1000
ELSEWHERE = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"}
IN_MEMORY = {"tmpfs", "ramfs"}
RULES = "70-shoed.rules"
RULES_FOLDERS = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
SERVICE = "shoed"
TELLS = f"journalctl -u {SERVICE} -n 50"
INSTALL = f"sudo apt install --reinstall ./dragonshoe_{VERSION}+deb*_amd64.deb"
BAD_FRAMES = 1e-3  # more than one in a thousand: the cable, or what lies beside it

NOT_OK_S = 120  # of the last ten minutes
TROUBLED = ("jammed", "failed", "lost", "unknown")

Verdict = Literal["ok", "note", "wrong"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. `mend` is a command for a shell."""

    topic: str
    verdict: Verdict
    text: str
    mend: str = ""


@dataclass
class Patient:
    """The machine that is looked at, and what is known of it so far."""

    daemon: Client | None
    no_daemon: str  # why there is none
    config_file: Path = CONFIG_FILE
    root: Path = Path("/")  # the doctor also looks at a disk that is mounted elsewhere
    simulated: bool = False
    config: Config | None = None
    journal: Path | None = None
    stopped: bool = False  # the daemon runs, and its table does not
    asked: dict[str, Any] = field(default_factory=dict)

    def at(self, path: str | Path) -> Path:
        """A path of that machine."""
        return self.root / str(path).lstrip("/")

    def ask(self, path: str) -> Any:
        """What the daemon says, asked once; ClientError if it does not."""
        if self.daemon is None:
            raise ClientError(self.no_daemon)
        if path not in self.asked:
            self.asked[path] = self.daemon.get(path)
        return self.asked[path]

    @functools.cached_property
    def unit(self) -> dict[str, str] | None:
        """What systemd says of the service; None where it does not run."""
        told = run("systemctl", "show", f"{SERVICE}.service", "-p",
                   "LoadState,ActiveState,SubState,Result,NRestarts,UnitFileState,NeedDaemonReload")  # fmt: skip
        return None if told is None else _properties(told)


def run(*words: str) -> str | None:
    """What a command of the system says; None if it is not there or fails."""
    if shutil.which(words[0]) is None:
        return None
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_WITHIN_S, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _properties(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


Told = Iterator[tuple[Verdict, str, str]]
OK: Verdict = "ok"
NOTE: Verdict = "note"
WRONG: Verdict = "wrong"


# --- the daemon -----------------------------------------------------------------------------------------------------


def daemon(patient: Patient) -> Told:
    """Whether it is there, well, and of our version; and who it takes us for."""
    try:
        patient.ask("/healthz")
    except Answered as error:
        patient.stopped = True
        yield WRONG, f"the daemon has stopped the table: {error}", TELLS
    except ClientError as error:
        tried = (patient.unit or {}).get("ActiveState") == "activating"  # again and again: there must be a reason
        yield WRONG, str(error), TELLS if tried else f"{_unmask(patient)}sudo systemctl start {SERVICE}"
        return
    assert patient.daemon is not None
    yield OK, f"the daemon answers at {patient.daemon.path}", ""
    with contextlib.suppress(ClientError, KeyError, TypeError):
        running = patient.ask("openapi.json")["info"]["version"]
        if running != VERSION:
            text = f"the daemon that runs is version {running}, this command is {VERSION}: it was not restarted"
            yield WRONG, text, f"sudo systemctl restart {SERVICE}"
    with contextlib.suppress(ClientError, KeyError, TypeError):
        people = patient.ask("session")["people"]
        roles = ", ".join(dict.fromkeys(person["role"] for person in people))
        yield OK, f"it takes you for {people[0]['name']}: {roles}" if people else "it gives you no role", ""


def _unmask(patient: Patient) -> str:
    """What comes before a start where the unit is masked."""
    unit = patient.unit or {}
    if unit.get("LoadState") != "masked":
        return ""
    return f"sudo systemctl unmask {'--runtime ' * ('runtime' in unit.get('UnitFileState', ''))}{SERVICE} && "


def devices(patient: Patient) -> Told:
    """What the daemon says of its devices and of their links."""
    if patient.stopped:
        yield NOTE, "the table has stopped, so nobody asks the devices", ""
        return
    try:
        found = patient.ask("devices")["devices"]
    except Answered as error:
        yield NOTE, f"the daemon does not tell how the devices are: {error}", ""
        return
    except ClientError:
        yield NOTE, "without the daemon nobody knows how the devices are; `shoectl probe PORT` asks one", ""
        return
    for device in found:
        name = device["name"]
        if not device["online"]:
            yield WRONG, f"{name}: not connected: {device['trouble'] or 'it does not answer'}", "shoectl ports"
            continue
        counters = device["counters"]
        bad = sum(counters[kind] for kind in ("crc_errors", "cobs_errors", "length_errors"))
        seen = counters["frames_in"] + bad
        if bad > max(3, seen * BAD_FRAMES):
            text = f"{name}: {bad} of {seen} frames came broken: replace the cable, lead it elsewhere"
            yield WRONG, text, f"shoectl counters {name}"
        elif device["state"] in TROUBLED:
            yield WRONG, f"{name}: {device['state']}", "shoectl status"
        elif (bad_s := _seconds_not_ok(device["history"])) >= NOT_OK_S:
            yield (
                NOTE,
                f"{name}: the link was not good for {bad_s} s of the last ten minutes",
                f"shoectl counters {name}",
            )
        else:
            yield OK, f"{name}: {device['state'].replace('_', ' ')}, {seen} frames, {bad} of them broken", ""


def _seconds_not_ok(history: list[dict[str, Any]]) -> int:
    """Of the last ten minutes; a sample is taken every ten seconds."""
    return 10 * len([sample for sample in history[-60:] if sample["state"] != "ok"])


# --- configuration and people ---------------------------------------------------------------------------------------


def config(patient: Patient) -> Told:
    """The configuration file as a whole."""
    path = patient.at(patient.config_file)
    try:
        path.stat()
        if not os.access(path, os.R_OK):
            raise PermissionError
        patient.config = read_config(path)
    except FileNotFoundError:
        mend = f"sudo mkdir -p {path.parent} && shoectl config example | sudo tee {path}"
        yield WRONG, f"{path} is not there", mend
        return
    except OSError:
        yield NOTE, f"{path}: this user may not read it; look again with `sudo shoectl doctor`", ""
        return
    except ConfigError as error:
        for line in str(error).splitlines():
            yield WRONG, line, f"sudoedit {path}"
        return
    yield OK, f"{path}: {patient.config.name}, {patient.config.table.method.replace('_', ' ')}", ""
    if patient.config.screen:
        yield from _people(patient.at(patient.config.screen.people))


def _people(path: Path) -> Told:
    from controller.daemon.people import read_people  # costs time that only this needs

    if not os.access(path.parent, os.X_OK) or (os.path.exists(path) and not os.access(path, os.R_OK)):
        yield NOTE, f"{path}: this user may not read it", ""
        return
    try:
        people = read_people(path).person
    except ConfigError as error:
        yield WRONG, str(error), "sudo shoectl person list"
        return
    for role in ("dealer", "floor"):
        if not any(role in person.roles for person in people):
            text = f"nobody can sign in at the screen as {role}"
            yield WRONG, text, f"sudo shoectl person add NAME --role {role}"


# --- users, groups, permissions -------------------------------------------------------------------------------------


def groups(patient: Patient) -> Told:
    """The service's user, the groups of the roles, and in which of them this user is."""
    wanted = patient.config.control if patient.config else Config().control
    names = [name for role in ("dealer", "floor", "technician", "auditor") for name in getattr(wanted, role)]
    missing = [name for name in names if not _exists(grp.getgrnam, name)]
    if not _exists(pwd.getpwnam, SERVICE):
        missing.append(f"the user {SERVICE}")
    if missing:
        yield WRONG, f"missing: {', '.join(missing)}", "sudo systemd-sysusers"
    me = pwd.getpwuid(os.getuid()).pw_name if _exists(pwd.getpwuid, os.getuid()) else str(os.getuid())
    if os.geteuid() == 0:
        yield OK, "root is technician and auditor", ""
        return
    # As the daemon looks: a new membership counts at once, without a new login.
    mine = {grp.getgrgid(gid).gr_name for gid in os.getgrouplist(me, os.getegid()) if _exists(grp.getgrgid, gid)}
    if mine & set(names):
        yield OK, f"{me} is in {', '.join(sorted(mine & set(names)))}", ""
    else:
        yield WRONG, f"{me} has no role at the table", f"sudo usermod -aG shoed-technician {me}"


def _exists(look: Callable[[Any], Any], name: Any) -> bool:
    try:
        look(name)
    except KeyError:
        return False
    return True


def permissions(patient: Patient) -> Told:
    """Who can read and write the files of the service."""
    looked = 0
    screen = patient.config.screen if patient.config else None
    people = patient.at(screen.people if screen else "/etc/shoed/people.toml")
    for path, forbidden, whose, wanted in (
        (patient.at(patient.config_file), 0o022, "root", "r"),
        (people, 0o027, "root", "r"),
        (patient.at("/var/lib/shoed"), 0o027, SERVICE, "rwx"),
        (patient.journal, 0o027, SERVICE, "rw"),
        (patient.at(INSTALLED.parent), 0o022, SERVICE, "rwx"),
    ):
        try:
            found = path.stat() if path else None
        except OSError:
            continue  # not there, or not to be seen: other topics tell
        if path is None or found is None:
            continue
        looked += 1
        if found.st_mode & forbidden:
            spoken = stat.S_IMODE(found.st_mode)
            good = spoken & ~forbidden
            yield WRONG, f"{path} has mode {spoken:04o}, and others reach it", f"sudo chmod {good:04o} {path}"
        if _exists(pwd.getpwnam, whose) and found.st_uid != pwd.getpwnam(whose).pw_uid:
            owner = pwd.getpwuid(found.st_uid).pw_name if _exists(pwd.getpwuid, found.st_uid) else str(found.st_uid)
            yield WRONG, f"{path} belongs to {owner}, not to {whose}", f"sudo chown {whose} {path}"
        elif not _lets(found, wanted):
            words = {"r": "read", "rw": "read and write", "rwx": "use"}[wanted]
            mend = f"sudo chmod u+{wanted} {path}"
            if whose != SERVICE:
                mend = f"sudo chgrp {SERVICE} {path} && sudo chmod g+{wanted} {path}"
            yield WRONG, f"{path} has mode {stat.S_IMODE(found.st_mode):04o}: the service cannot {words} it", mend
    if looked:
        yield OK, f"{looked} files and folders of the service were looked at", ""


def _lets(found: os.stat_result, wanted: str) -> bool:
    """Whether the service may do this with a file, by its owner, its group, or as anybody."""
    if not _exists(pwd.getpwnam, SERVICE):
        return True  # another topic tells
    user = pwd.getpwnam(SERVICE)
    bits = sum({"r": 4, "w": 2, "x": 1}[letter] for letter in wanted)
    if found.st_uid == user.pw_uid:
        return found.st_mode >> 6 & bits == bits
    if found.st_gid in os.getgrouplist(SERVICE, user.pw_gid):
        return found.st_mode >> 3 & bits == bits
    return found.st_mode & bits == bits


# --- udev and ports -------------------------------------------------------------------------------------------------


def udev(patient: Patient) -> Told:
    """The rules that give the devices their names, their group, and peace from ModemManager."""
    found = [folder for folder in RULES_FOLDERS if patient.at(f"{folder}/{RULES}").exists()]
    if found:
        yield OK, f"{found[0]}/{RULES} is there", ""
    else:
        text = f"{RULES} is not there: devices get no stable name, and ModemManager may talk to them"
        mend = f"sudo install -m 644 udev/{RULES} /etc/udev/rules.d/ && sudo udevadm control --reload"
        if patient.at("/usr/lib/dragonshoe").exists():
            mend = INSTALL
        yield WRONG, text, f"{mend} && sudo udevadm trigger"
    for name, address in _ports(patient):
        timer = _latency(patient, address)
        if timer is not None and _number(timer) not in (0, 1):
            text = f"{name}: its FTDI chip holds bytes back for {_number(timer)} ms"
            yield WRONG, text, f"echo 1 | sudo tee {timer}"


def _latency(patient: Patient, address: SerialAddress | UsbAddress) -> Path | None:
    if not isinstance(address, SerialAddress) or address.scheme != "path":
        return None
    tty = Path(os.path.realpath(patient.at(address.target))).name
    timer = patient.at(f"/sys/class/tty/{tty}/device/latency_timer")
    return timer if timer.exists() else None


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def _ports(patient: Patient) -> Iterator[tuple[str, SerialAddress | UsbAddress]]:
    sections = (("shuffler", patient.config.shuffler), ("shoe", patient.config.shoe)) if patient.config else ()
    for name, section in sections:
        if section:
            yield name, parse_address(section.port)


def ports(patient: Patient) -> Told:
    """Whether each configured port is there, may be opened by the service, and is held by nobody else."""
    for name, address in _ports(patient):
        if isinstance(address, UsbAddress):
            here = [one for one in ports_here.usb_devices() if one.address.startswith(str(address))]
            yield from _port(patient, name, str(address), Path(here[0].node) if here else None)
        elif address.scheme == "path":
            path = patient.at(address.target)
            yield from _port(patient, name, address.target, path if os.path.exists(path) else None)
        else:
            yield NOTE, f"{name}: {address} is not on this machine's own ports; `shoectl probe {address}` asks it", ""


def _port(patient: Patient, name: str, address: str, node: Path | None) -> Told:
    if node is None:
        free = [one.address for one in ports_here.serial_ports() if not one.holder]
        others = f"; free ports here: {', '.join(free)}" if free else ""
        yield WRONG, f"{name}: {address} is not there: plug it in, switch it on{others}", "shoectl ports"
        return
    found = node.stat()
    group = grp.getgrgid(found.st_gid).gr_name if _exists(grp.getgrgid, found.st_gid) else str(found.st_gid)
    if not stat.S_ISCHR(found.st_mode):
        yield WRONG, f"{name}: {address} is no device", f"sudoedit {patient.config_file}"
    elif group != SERVICE or found.st_mode & 0o060 != 0o060:
        text = f"{name}: {address} is for the group {group} (mode {stat.S_IMODE(found.st_mode):04o}), not for {SERVICE}"
        yield WRONG, text, "sudo udevadm control --reload && sudo udevadm trigger"
    else:
        holder = holder_of(str(node)).removeprefix(" by ")
        process = re.search(r"pid (\d+)", holder)
        if process and not holder.startswith(f"{SERVICE} "):
            yield WRONG, f"{name}: {address} is held by {holder}", f"sudo kill {process[1]}"
        else:
            yield OK, f"{name}: {address} is there", ""


# --- unit, clock, disk ----------------------------------------------------------------------------------------------


def unit(patient: Patient) -> Told:
    """What systemd says of the service."""
    state = patient.unit
    if state is None:
        yield NOTE, "systemd does not run here, or cannot be asked", ""
        return
    if state.get("LoadState") == "masked":
        mend = f"{_unmask(patient)}sudo systemctl enable --now {SERVICE}"
        yield WRONG, f"{SERVICE}.service is masked: nobody can start it", mend
        return
    if state.get("LoadState") != "loaded":
        yield WRONG, f"{SERVICE}.service is not installed ({state.get('LoadState')})", INSTALL
        return
    if state.get("NeedDaemonReload") == "yes":
        yield (
            WRONG,
            f"{SERVICE}.service was changed on the disk, systemd has the old one",
            "sudo systemctl daemon-reload",
        )
    if state.get("UnitFileState") not in ("enabled", "static", "generated", "alias"):
        yield WRONG, f"{SERVICE}.service does not start with the machine", f"sudo systemctl enable {SERVICE}"
    if state.get("ActiveState") != "active":
        text = f"{SERVICE}.service is {state.get('ActiveState')} ({state.get('SubState')}, {state.get('Result')})"
        tried = state.get("ActiveState") == "activating"
        yield WRONG, text, TELLS if tried else f"sudo systemctl restart {SERVICE}; {TELLS}"
        return
    page = _properties(run("systemctl", "show", f"{SERVICE}.socket", "-p", "LoadState,ActiveState") or "")
    if page.get("LoadState") == "loaded" and page.get("ActiveState") != "active":
        yield (
            WRONG,
            f"{SERVICE}.socket is {page.get('ActiveState')}: the page has no door",
            f"sudo systemctl start {SERVICE}.socket",
        )
    again = int(state.get("NRestarts") or 0)
    if again:
        text = f"{SERVICE}.service runs, after {again} restarts since the boot"
        yield NOTE, text, f"journalctl -u {SERVICE} -b -p warning"
    else:
        yield OK, f"{SERVICE}.service runs", ""


def clock(patient: Patient) -> Told:
    """Whether the time in the journal can be relied on."""
    told = run("timedatectl", "show", "-p", "NTPSynchronized", "-p", "NTP", "-p", "CanNTP", "-p", "LocalRTC")
    if told is None:
        yield NOTE, "systemd does not run here: nobody knows whether the clock is synchronised", ""
    else:
        state = _properties(told)
        if state.get("NTPSynchronized") == "yes":
            yield OK, "the clock is synchronised", ""
        elif state.get("CanNTP") == "no":
            yield WRONG, "nothing here can keep the clock right", "sudo apt install systemd-timesyncd"
        elif state.get("NTP") != "yes":
            yield WRONG, "nothing keeps the clock right", "sudo timedatectl set-ntp true"
        else:
            yield WRONG, "the clock is not synchronised (yet)", "timedatectl timesync-status"
        if state.get("LocalRTC") == "yes":
            yield (
                WRONG,
                "the battery clock keeps local time, and jumps with summer time",
                "sudo timedatectl set-local-rtc 0",
            )
        if not any(patient.at("/sys/class/rtc").glob("rtc*")):
            yield NOTE, "no battery clock: after a power cut the time is wrong until the network tells it", ""
    newest = _newest(patient.journal)
    now = datetime.now(UTC)
    if newest and (newest - now).total_seconds() > 60:
        text = f"the clock says {now:%Y-%m-%d %H:%M} UTC, but the journal has an event of {newest:%Y-%m-%d %H:%M}"
        yield WRONG, text, "sudo timedatectl set-ntp true"


def _newest(journal: Path | None) -> datetime | None:
    if journal is None:
        return None
    try:
        with JournalReader(journal) as reader:
            return datetime.fromisoformat(next(iter(reader.last(1))).ts)
    except (JournalError, StopIteration, ValueError):
        return None


def disk(patient: Patient) -> Told:
    """Room, and what kind of disk it is, where the journal lies."""
    path = patient.journal or patient.at("/var/lib/shoed/journal.db")
    folder = next(parent for parent in path.absolute().parents if os.access(parent, os.X_OK))
    found = os.statvfs(folder)
    kind, mount = _file_system(folder)
    if found.f_flag & os.ST_RDONLY:
        yield (
            WRONG,
            f"{mount} is mounted read-only: nothing can be written",
            f"dmesg | tail; sudo mount -o remount,rw {mount}",
        )
    if kind in ELSEWHERE:
        yield (
            WRONG,
            f"the journal lies on {kind}, over a network: it needs a local disk",
            f"sudoedit {patient.config_file}",
        )
    if kind in IN_MEMORY:
        text = f"{folder} is in memory ({kind}): the journal is gone when the power is"
        yield NOTE if patient.simulated else WRONG, text, f"sudoedit {patient.config_file}"
    free = found.f_bavail * found.f_frsize
    if free < ROOM_BYTES:
        text = f"{mount}: only {free / 2**20:.0f} MB are left"
        yield WRONG, text, "sudo journalctl --vacuum-size=100M; sudo apt clean"
    elif found.f_files and found.f_favail < ROOM_INODES:
        yield (
            WRONG,
            f"{mount}: no room for more files ({found.f_favail} inodes)",
            f"sudo du --inodes -xd2 {mount} | sort -n",
        )
    else:
        yield OK, f"{free / 2**30:.1f} GB are left on {mount} ({kind})", ""


def _file_system(folder: Path) -> tuple[str, str]:
    """Its kind, and where it is mounted."""
    device = folder.stat().st_dev
    with contextlib.suppress(OSError):
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            left, right = line.split(" - ")
            numbers, _, mount = left.split()[2:5]
            if numbers == f"{os.major(device)}:{os.minor(device)}" and folder.is_relative_to(mount):
                return right.split()[0], mount
    return "unknown", str(folder)


# --- the journal ----------------------------------------------------------------------------------------------------


def journal(patient: Patient) -> Told:
    """Whether it is there and whole, since it was last verified."""
    path = patient.journal
    if path is None:
        yield NOTE, "nobody knows where the journal is: neither configuration nor daemon tells", ""
        return
    try:
        with JournalReader(path) as reader, Progress("verified {} events") as progress:
            known = reader.verified()
            progress.length = reader.head.seq - known.seq
            head = reader.verify(known, lambda event: progress.step())
    except JournalForbidden:
        yield NOTE, f"{path}: this user may not read it; look again with `sudo shoectl doctor`", ""
    except JournalDamaged as error:
        yield WRONG, f"{path}: {error}", f"shoectl journal verify {path}"
    except JournalAbsent as error:
        yield WRONG, str(error), f"sudo systemctl start {SERVICE}"
    except JournalError as error:
        yield WRONG, str(error), "dmesg | tail"
    else:
        part = f", those after {known.seq} just now" if known.seq else " just now"
        yield OK, f"{path}: {head.seq} events, chain whole{part}", ""


# --- all of it ------------------------------------------------------------------------------------------------------

# In this order: the later ones use what the earlier ones learned.
TOPICS: dict[str, Callable[[Patient], Told]] = {
    check.__name__: check
    for check in (daemon, config, groups, permissions, udev, ports, devices, unit, clock, disk, journal)
}
INSTALLED_ONLY = ("config", "groups", "permissions", "udev", "ports", "unit")


def examine(patient: Patient, begin: Callable[[str], None] = lambda topic: None) -> Iterator[Finding]:
    """All findings; `begin` is told which topic comes."""
    with contextlib.suppress(ClientError):
        patient.simulated = bool(patient.ask("table")["simulated"])
    for topic, check in TOPICS.items():
        if patient.simulated and topic in INSTALLED_ONLY:
            continue
        begin(topic)
        if topic == "permissions" or patient.journal is None:
            patient.journal = _journal(patient)
        for verdict, text, mend in check(patient):
            yield Finding(topic, verdict, text, mend if verdict != OK else "")
    if patient.simulated:
        yield Finding("simulation", "ok", f"the table is simulated: no {', '.join(INSTALLED_ONLY)} to look at")


def _journal(patient: Patient) -> Path | None:
    with contextlib.suppress(ClientError, KeyError, TypeError):
        return Path(patient.ask("journal")["path"])
    if patient.config:
        return patient.at(patient.config.journal.file)
    usual = patient.at("/var/lib/shoed/journal.db")
    return usual if os.path.exists(usual) else None

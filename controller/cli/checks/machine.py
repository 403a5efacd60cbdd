"""Checks the machine's clock and the disk that holds the journal."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

from controller.cli.checks.examination import NOTE, OK, WRONG, Examination, Results, properties, run
from controller.journal import JournalError, JournalReader

FREE_BYTES = 500 * 2**20  # with less than this, the disk is almost full
FREE_INODES = 1000
NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"}
MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


# --- clock ----------------------------------------------------------------------------------------------------------


def check_clock(examination: Examination) -> Results:
    """Whether the times in the journal can be relied on."""
    output = run("timedatectl", "show", "-p", "NTPSynchronized", "-p", "NTP", "-p", "CanNTP", "-p", "LocalRTC")
    if output is None:
        yield NOTE, "systemd does not run here: it is unknown whether the clock is synchronised", ""
    else:
        yield from _synchronisation(properties(output))
        if not any(examination.path("/sys/class/rtc").glob("rtc*")):
            yield NOTE, "no battery-backed clock: after a power cut the time is wrong until the network sets it", ""
    newest = _newest_event(examination.journal)
    now = datetime.now(UTC)
    if newest and (newest - now).total_seconds() > 60:
        text = f"the clock says {now:%Y-%m-%d %H:%M} UTC, but the journal has an event of {newest:%Y-%m-%d %H:%M}"
        yield WRONG, text, "sudo timedatectl set-ntp true"


def _synchronisation(state: dict[str, str]) -> Results:
    if state.get("NTPSynchronized") == "yes":
        yield OK, "the clock is synchronised", ""
    elif state.get("CanNTP") == "no":
        yield WRONG, "no program to synchronise the clock is installed", "sudo apt install systemd-timesyncd"
    elif state.get("NTP") != "yes":
        yield WRONG, "synchronisation of the clock is switched off", "sudo timedatectl set-ntp true"
    else:
        yield WRONG, "the clock is not synchronised (yet)", "timedatectl timesync-status"
    if state.get("LocalRTC") == "yes":
        text = "the battery-backed clock is set to local time, which jumps with summer time"
        yield WRONG, text, "sudo timedatectl set-local-rtc 0"


def _newest_event(journal: Path | None) -> datetime | None:
    if journal is None:
        return None
    try:
        with JournalReader(journal) as reader:
            return datetime.fromisoformat(next(iter(reader.last(1))).ts)
    except (JournalError, StopIteration, ValueError):
        return None


# --- disk -----------------------------------------------------------------------------------------------------------


def check_disk(examination: Examination) -> Results:
    """Whether the journal is on a local, writable disk with enough space."""
    path = examination.journal or examination.path("/var/lib/shoed/journal.db")
    folder = next(parent for parent in path.absolute().parents if os.access(parent, os.X_OK))
    found = os.statvfs(folder)
    kind, mount = _file_system(folder)
    change_journal = f"sudoedit {examination.config_file}"
    if found.f_flag & os.ST_RDONLY:
        text = f"{mount} is mounted read-only: nothing can be written"
        yield WRONG, text, f"dmesg | tail; sudo mount -o remount,rw {mount}"
    if kind in NETWORK_FILE_SYSTEMS:
        yield WRONG, f"the journal is on a network file system ({kind}): it needs a local disk", change_journal
    if kind in MEMORY_FILE_SYSTEMS:
        text = f"{folder} is in memory ({kind}): the journal is lost when the power is"
        yield NOTE if examination.simulated else WRONG, text, change_journal
    free = found.f_bavail * found.f_frsize
    if free < FREE_BYTES:
        text = f"{mount}: only {free / 2**20:.0f} MB free"
        yield WRONG, text, "sudo journalctl --vacuum-size=100M; sudo apt clean"
    elif found.f_files and found.f_favail < FREE_INODES:
        text = f"{mount}: no space for more files ({found.f_favail} inodes)"
        yield WRONG, text, f"sudo du --inodes -xd2 {mount} | sort -n"
    else:
        yield OK, f"{free / 2**30:.1f} GB free on {mount} ({kind})", ""


def _file_system(folder: Path) -> tuple[str, str]:
    """The kind of the file system, and where it is mounted."""
    device = folder.stat().st_dev
    with contextlib.suppress(OSError):
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            left, right = line.split(" - ")
            numbers, _, mount = left.split()[2:5]
            if numbers == f"{os.major(device)}:{os.minor(device)}" and folder.is_relative_to(mount):
                return right.split()[0], mount
    return "unknown", str(folder)

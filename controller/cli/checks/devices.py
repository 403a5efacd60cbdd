"""Checks the udev rules, the configured ports, and the devices as the daemon sees them."""

from __future__ import annotations

import grp
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controller.cli.checks.examination import (
    INSTALL,
    NOTE,
    OK,
    SERVICE,
    WRONG,
    CheckResult,
    Examination,
    Results,
    exists,
)
from controller.cli.client import ClientError, RequestRefused
from controller.cli.devices import SAMPLE_S, bad_frames
from firmware_bridge.ports import discovery
from firmware_bridge.ports.transport import SerialAddress, UsbAddress, holder_of, parse_address

RULES = "70-shoed.rules"
RULES_FOLDERS = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
BAD_SHARE = 1e-3  # more damaged frames than this: the cable, or something next to it
RECENT_S = 600
NOT_OK_S = 120  # of RECENT_S
BAD_STATES = ("jammed", "failed", "lost", "unknown")


# --- udev -----------------------------------------------------------------------------------------------------------


def check_udev(examination: Examination) -> Results:
    """Whether the rules are installed that name the devices, set their group and keep ModemManager away."""
    found = [folder for folder in RULES_FOLDERS if examination.path(f"{folder}/{RULES}").exists()]
    if found:
        yield OK, f"{found[0]}/{RULES} is installed", ""
    else:
        fix = f"sudo install -m 644 udev/{RULES} /etc/udev/rules.d/ && sudo udevadm control --reload"
        if examination.path("/usr/lib/dragonshoe").exists():
            fix = INSTALL
        text = f"{RULES} is missing: devices have no stable names, and ModemManager may talk to them"
        yield WRONG, text, f"{fix} && sudo udevadm trigger"
    for name, address in _configured_ports(examination):
        timer = _latency_timer(examination, address)
        if timer is not None and _number_in(timer) not in (0, 1):
            text = f"{name}: its FTDI chip delays bytes by up to {_number_in(timer)} ms"
            yield WRONG, text, f"echo 1 | sudo tee {timer}"


def _latency_timer(examination: Examination, address: SerialAddress | UsbAddress) -> Path | None:
    if not isinstance(address, SerialAddress) or address.scheme != "path":
        return None
    tty = Path(os.path.realpath(examination.path(address.target))).name
    timer = examination.path(f"/sys/class/tty/{tty}/device/latency_timer")
    return timer if timer.exists() else None


def _number_in(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


# --- ports ----------------------------------------------------------------------------------------------------------


def _configured_ports(examination: Examination) -> Iterator[tuple[str, SerialAddress | UsbAddress]]:
    config = examination.config
    for name, section in (("shuffler", config.shuffler), ("shoe", config.shoe)) if config else ():
        if section:
            yield name, parse_address(section.port)


def check_ports(examination: Examination) -> Results:
    """Whether each configured port exists, the service may open it, and no other program uses it."""
    for name, address in _configured_ports(examination):
        if isinstance(address, UsbAddress):
            found = [port for port in discovery.usb_devices() if port.address.startswith(str(address))]
            yield from _port(examination, name, str(address), Path(found[0].node) if found else None)
        elif address.scheme == "path":
            path = examination.path(address.target)
            yield from _port(examination, name, address.target, path if os.path.exists(path) else None)
        else:
            yield NOTE, f"{name}: {address} is not a port of this machine; `shoectl probe {address}` tests it", ""


def _port(examination: Examination, name: str, address: str, node: Path | None) -> Results:
    if node is None:
        free = [port.address for port in discovery.serial_ports() if not port.holder]
        others = f"; free ports: {', '.join(free)}" if free else ""
        yield WRONG, f"{name}: {address} is missing: plug the device in and switch it on{others}", "shoectl ports"
        return
    found = node.stat()
    user = examination.user
    group = grp.getgrgid(found.st_gid).gr_name if exists(grp.getgrgid, found.st_gid) else str(found.st_gid)
    if not stat.S_ISCHR(found.st_mode):
        yield WRONG, f"{name}: {address} is not a device", f"sudoedit {examination.config_file}"
    elif group != user or found.st_mode & 0o060 != 0o060:
        text = f"{name}: {address} has group {group} and mode {stat.S_IMODE(found.st_mode):04o}: {user} cannot use it"
        yield WRONG, text, "sudo udevadm control --reload && sudo udevadm trigger"
    else:
        holder = holder_of(str(node)).removeprefix(" by ")
        process = re.search(r"pid (\d+)", holder)
        if process and not holder.startswith(f"{SERVICE} "):
            yield WRONG, f"{name}: {address} is in use by {holder}", f"sudo kill {process[1]}"
        else:
            yield OK, f"{name}: {address} is present", ""


# --- devices --------------------------------------------------------------------------------------------------------


def check_devices(examination: Examination) -> Results:
    """Whether each device is connected and works, and the quality of its link."""
    if examination.table_stopped:
        yield NOTE, "the table has stopped, so the daemon does not use the devices", ""
        return
    try:
        found = examination.get("devices")["devices"]
    except RequestRefused as error:
        yield NOTE, f"the daemon does not give this user the state of the devices: {error}", ""
        return
    except ClientError:
        yield NOTE, "the state of the devices is unknown without the daemon; `shoectl probe PORT` asks a device", ""
        return
    for device in found:
        yield _device(device)


def _device(device: dict[str, Any]) -> CheckResult:
    name, state = device["name"], device["state"].replace("_", " ")
    if not device["online"]:
        return WRONG, f"{name}: not connected: {device['trouble'] or 'it does not answer'}", "shoectl ports"
    bad = bad_frames(device["counters"])
    frames = device["counters"]["frames_in"] + bad
    if bad > max(3, frames * BAD_SHARE):
        text = f"{name}: {bad} of {frames} frames arrived damaged: replace the cable, or route it differently"
        return WRONG, text, f"shoectl counters {name}"
    if device["state"] in BAD_STATES:
        return WRONG, f"{name}: {state}", "shoectl status"
    recent = device["history"][-RECENT_S // SAMPLE_S :]
    not_ok_s = SAMPLE_S * sum(sample["state"] != "ok" for sample in recent)
    if not_ok_s >= NOT_OK_S:
        text = f"{name}: the link was not ok for {not_ok_s} s of the last {RECENT_S // 60} minutes"
        return NOTE, text, f"shoectl counters {name}"
    return OK, f"{name}: {state}, {frames} frames, {bad} of them damaged", ""

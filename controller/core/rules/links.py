"""Devices connecting, disconnecting and coming back (is it still the same one?), and the start of the daemon."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.events.devices import (
    CycleLost,
    DeviceConnected,
    DeviceIdentified,
    DeviceLost,
    DeviceRefused,
    DeviceResumed,
    DeviceSeen,
)
from controller.core.events.table import HostStarted, SnapshotTaken
from controller.core.machines import DeviceState
from controller.core.names import spoken
from controller.core.reports import (
    DeviceAhead,
    DeviceFlooding,
    DeviceReady,
    DeviceUnusable,
    HostBoot,
    LinkLost,
    StateSaved,
)
from controller.core.rules.guards import STOPS, inside
from controller.core.rules.stopping import stopped
from controller.core.rules.warnings import cause_gone, restore_fault, warn
from controller.core.setup import missing_capabilities
from controller.core.state import Device
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Capability

# What a device can do besides its cycles.
_SIDE: Final = {"lock": Capability.LOCKS, "show": Capability.INDICATES, "recognise": Capability.RECOGNISES}


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def ready(d: Decision, report: DeviceReady) -> None:
    """A device has connected: for the first time, after a short interruption, or restarted without its memory."""
    name = report.device
    device = d.state.devices.get(name)
    if device is None:
        return
    wrong, other = _unsuitable(d, report), _not_the_same(device, report)
    if device.state is DeviceState.OUT_OF_SERVICE:
        restarted = device.boot != report.boot
        d.emit(DeviceSeen(device=name, boot=report.boot, online=not wrong, reason=wrong))
        _identified(d, report, "" if wrong else other)
        if restarted:
            cause_gone(d, f"{name}.fail")
        return
    restarted = device.boot not in (0, report.boot)
    what = "has restarted" if report.serial in ("", device.serial) or not device.serial else "was replaced"
    doing = device.doing
    if wrong:
        refuse(d, name, report.boot, wrong)
        _identified(d, report, "")
        return
    can = [word for word, able in _SIDE.items() if able in report.capabilities]
    longest_ms = list(report.longest_ms)
    d.emit(DeviceConnected(device=name, boot=report.boot, restarted=restarted, can=can, longest_ms=longest_ms))
    _identified(d, report, other)
    for warning in ("lost", "gap", "refused"):
        cause_gone(d, f"{name}.{warning}")
    if restarted or other:
        cause_gone(d, f"{name}.fail")
        if doing:
            d.emit(CycleLost(device=name, id=doing.id, reason=f"the device {what}"), STOPS[name])
        if doing or inside(d.state, name):
            warn(d, "restart", STOPS[name], device=name, text=f"the {name} {what}")
            stopped(d, name, doing, what, cards_inside=True)
    elif doing:
        until_ms = max(doing.until_ms, d.now_ms + d.state.setup.limits.grace_ms)
        d.emit(DeviceResumed(device=name, id=doing.id, until_ms=until_ms))
        return
    restore_fault(d, name)


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def refuse(d: Decision, name: str, boot: int, why: str) -> None:
    """A device answers that cannot be used here. It counts as stopped at once, without a grace period.

    A link may come back within its grace period if the same device is at the other end, with what it remembers. This
    one is another device, or has served another journal since: what is in it is not known to this journal.
    """
    doing, rule = d.state.devices[name].doing, STOPS[name]
    if doing:
        d.emit(CycleLost(device=name, id=doing.id, reason="the device cannot be used here"), rule)
    d.emit(DeviceRefused(device=name, boot=boot, reason=why), rule)
    standing = d.state.warnings.get(f"{name}.refused")
    if standing is None or standing.gone:  # raised once, although the device may connect again and again
        warn(d, "refused", rule, Rule.OUT_OF_SERVICE, device=name, text=f"the {name} cannot be used here: {why}")
    stopped(d, name, doing, "cannot be used here", cards_inside=True)


def _not_the_same(device: Device, report: DeviceReady) -> str:
    """How this device differs from the one that was last used here; empty if it is the same."""
    if not device.serial or not report.serial:
        return ""
    if report.serial != device.serial:
        return f"another {report.device} is connected: serial number {report.serial} instead of {device.serial}"
    if report.firmware != device.firmware:
        return f"the firmware of the {report.device} is {report.firmware}, and was {device.firmware}"
    if report.firmware_digest != device.firmware_digest:
        return f"the firmware of the {report.device} has changed, although its version is still {report.firmware}"
    return ""


def _identified(d: Decision, report: DeviceReady, other: str) -> None:
    """Record which device has connected. If it is not the same as before, a person must confirm that this is right."""
    if not report.serial:
        return
    d.emit(
        DeviceIdentified(
            device=report.device,
            maker=report.maker,
            model=report.model,
            serial=report.serial,
            firmware=report.firmware,
            firmware_digest=report.firmware_digest,
        )
    )
    if other:
        warn(d, "replaced", device=report.device, text=other)


def _unsuitable(d: Decision, report: DeviceReady) -> str:
    """Why this device cannot be used at this table; empty if it can."""
    lacks = missing_capabilities(d.state.setup, report.device, list(report.capabilities))
    if lacks:
        return f"it lacks what this table needs ({', '.join(map(spoken, lacks))})"
    return _used_by_another_journal(d, report)


def _used_by_another_journal(d: Decision, report: DeviceReady) -> str:
    """Why a device would ignore our commands; empty if it would not. It ignores ids up to the last one it was given."""
    if report.last_command <= d.state.seq:
        return ""
    keeps = Capability.KEEPS_MEMORY in report.capabilities
    how = "reset it as its manufacturer describes" if keeps else "switch it off and on to reset it"
    return (
        f"its last command was {report.last_command}, from another journal, and this journal is at {d.state.seq}: {how}"
    )


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def ahead(d: Decision, report: DeviceAhead) -> None:
    """The journal is missing events of a device, as after a disk that lost data, so the ledger cannot be trusted.

    The device is not used until it is shown to be empty and a person accepts it, or until it has been switched off and
    on and has forgotten those events too.
    """
    name = report.device
    device = d.state.devices.get(name)
    if device is None or device.told == report.told or not d.may(DeviceRefused, device=name):
        return
    doing, rule = device.doing, STOPS[name]
    missing = (
        f"event {report.told}"
        if report.told == device.last_event + 1
        else f"events {device.last_event + 1} to {report.told}"
    )
    if doing:
        d.emit(CycleLost(device=name, id=doing.id, reason="its outcome is missing from the journal"), rule)
    reason = f"the journal is missing its {missing}"
    d.emit(DeviceRefused(device=name, boot=report.boot, reason=reason, told=report.told), rule)
    warn(d, "gap", rule, device=name, text=f"the journal is missing {missing} of the {name}")
    stopped(d, name, doing, "did something that is not in the journal", cards_inside=True, stuck=True)


def unusable(d: Decision, report: DeviceUnusable) -> None:
    """A device answers, but refuses a session, is another kind of device, or keeps violating the protocol."""
    name = report.device
    device = d.state.devices.get(name)
    if device is None or (device.refused and not device.online):
        return  # recorded once, although it is tried again and again, and may fail in another way each time
    if device.state is DeviceState.OUT_OF_SERVICE:
        d.emit(DeviceSeen(device=name, boot=device.boot, online=False, reason=report.reason))
    else:
        refuse(d, name, device.boot, report.reason)


def flooding(d: Decision, report: DeviceFlooding) -> None:
    """A device sends more events than a working one would. If that continues, its link ends: see `unusable`."""
    if report.device in d.state.devices:
        warn(d, "flood", device=report.device, text=f"the {report.device} may be faulty: {report.detail}")


def lost(d: Decision, report: LinkLost) -> None:
    """The link to a device is gone. It may come back within the grace period."""
    device = d.state.devices.get(report.device)
    if device is None:
        return
    if device.state is DeviceState.OUT_OF_SERVICE:
        if device.online:  # recorded once, although every attempt to reach it fails
            d.emit(DeviceSeen(device=report.device, boot=device.boot, online=False))
    elif d.may(DeviceLost, device=report.device):
        d.emit(DeviceLost(device=report.device, detail=report.detail))


def host_started(d: Decision, report: HostBoot) -> None:
    """The daemon has started: all links are down, and the grace periods begin."""
    started = HostStarted(
        boot_id=report.boot_id,
        up_ms=report.up_ms,
        away_ms=report.away_ms,
        software=report.software,
        wall_ms=report.wall_ms,
        replaces=report.replaces,
    )
    d.emit(started)
    for name in d.state.devices:
        lost(d, LinkLost(name, "the controller was restarted"))


def state_saved(d: Decision, report: StateSaved) -> None:
    """The daemon saves the state: its digest is recorded, so that nobody can replace what was saved."""
    d.emit(SnapshotTaken(of_event=report.of_event, digest=report.digest))

"""How events of the table as a whole, and of its people, change the state."""

# mypyc
from __future__ import annotations

import msgspec

from controller.core.changes.change import changes
from controller.core.changes.play import forget_bets
from controller.core.events.table import (
    AccessConfirmed,
    AccessDenied,
    AccessGranted,
    AccessUnlocked,
    BettingOpened,
    BettingWithdrawn,
    HostStarted,
    MethodChanged,
    TableClosed,
    TableConfigured,
    TableIdled,
    TableOpened,
    TableResumed,
    TableSuspended,
    WarningCauseGone,
    WarningCleared,
    WarningRaised,
)
from controller.core.machines import DeviceState
from controller.core.setup import Setup, devices_of
from controller.core.state import Device, Host, State, Warned, WrongPins
from controller.games.game import Method


@changes(TableConfigured)
def _configured(state: State, event: TableConfigured) -> None:
    state.setup = msgspec.convert(event.setup, Setup)
    state.configured = True
    state.method = state.setup.method
    state.due = state.setup.backs[0]
    kept = state.devices
    state.devices = {name: kept.get(name, Device()) for name in devices_of(state.setup)}


@changes(MethodChanged)
def _method(state: State, event: MethodChanged) -> None:
    state.method = Method(event.method)
    for deck in state.decks.values():
        deck.change_due = False  # the age limit depends on the method


@changes(TableOpened)
def _opened(state: State, event: TableOpened) -> None:
    state.due = state.setup.backs[0]


@changes(TableSuspended, BettingWithdrawn)
def _because(state: State, event: TableSuspended | BettingWithdrawn) -> None:
    state.why = event.reason


@changes(TableResumed, BettingOpened)
def _no_cause(state: State, event: TableResumed | BettingOpened) -> None:
    state.why = ""


@changes(WarningRaised)
def _warned(state: State, event: WarningRaised) -> None:
    state.warnings[event.warning] = Warned(
        event.text, list(event.why), event.needs, event.by_device, event.of_deck, event.gone, event.at_ms
    )
    if event.by_device:
        state.devices[event.by_device].opened_by = ""


@changes(WarningCauseGone)
def _cause_gone(state: State, event: WarningCauseGone) -> None:
    state.warnings[event.warning].gone = True


@changes(WarningCleared)
def _cleared(state: State, event: WarningCleared) -> None:
    del state.warnings[event.warning]


@changes(TableIdled, TableClosed)
def _no_wagers(state: State, event: TableIdled | TableClosed) -> None:
    if event.wagers:
        state.seats = []
    forget_bets(state)
    if isinstance(event, TableClosed):
        state.why = ""


@changes(HostStarted)
def _host_started(state: State, event: HostStarted) -> None:
    wall_ms, before = event.wall_ms, state.host
    if before and before.wall_ms >= 0:  # if the wall clock has gained on the table's clock since, it may be ahead
        wall_ms = min(wall_ms, before.wall_ms + event.at_ms - before.at_ms)
    state.host = Host(event.boot_id, event.up_ms, event.at_ms, wall_ms)
    for device in state.devices.values():
        if device.state is DeviceState.LOST:
            device.lost_ms = event.at_ms  # the grace period starts now: the host itself was down


@changes(AccessDenied)
def _denied(state: State, event: AccessDenied) -> None:
    places = state.wrong_pins.setdefault(event.who, {})
    places[event.via] = WrongPins(event.count, event.until_ms, event.forgotten_ms)


@changes(AccessGranted, AccessConfirmed)
def _granted(state: State, event: AccessGranted | AccessConfirmed) -> None:
    places = state.wrong_pins.get(event.who, {})
    for via in [via for via, wrong in places.items() if wrong.forgotten_ms <= state.now_ms]:
        del places[via]
    if not places:
        state.wrong_pins.pop(event.who, None)


@changes(AccessUnlocked)
def _unlocked(state: State, event: AccessUnlocked) -> None:
    state.wrong_pins.pop(event.person, None)

"""How the events of devices change the state."""
# mypyc

from __future__ import annotations

from copy import copy

from controller.core import ledger
from controller.core.changes.change import changes
from controller.core.changes.decks import remember_count
from controller.core.commands import command_of
from controller.core.events.decks import CardsGathered, PileCounted
from controller.core.events.devices import (
    CardsPresented,
    CommandAnswered,
    CommandGiven,
    CycleCompleted,
    CycleFailed,
    CycleLost,
    DeviceAccepted,
    DeviceCleared,
    DeviceConnected,
    DeviceCounted,
    DeviceFailed,
    DeviceFreed,
    DeviceHindered,
    DeviceIdentified,
    DeviceInService,
    DeviceJammed,
    DeviceLost,
    DeviceOpened,
    DeviceOutOfService,
    DevicePoweredUp,
    DeviceRefused,
    DeviceReported,
    DeviceResumed,
    DeviceSeen,
    ExitEmptied,
)
from controller.core.events.rounds import StackDispensed
from controller.core.state import Device, Given, State
from firmware_bridge.wire.messages import Deliver, Eject, Indicate, Lock


@changes(DeviceConnected)
def _connected(state: State, event: DeviceConnected) -> None:
    device = state.devices[event.device]
    _boot(device, event.boot)
    if event.can is not None:
        device.can_lock, device.can_show = "lock" in event.can, "show" in event.can
        device.can_recognise = "recognise" in event.can
    if event.longest_ms is not None:
        device.longest_ms = event.longest_ms
    device.online = True
    device.lost_ms = -1
    device.hindered = device.refused = ""


@changes(DeviceSeen)
def _seen(state: State, event: DeviceSeen) -> None:
    """A device that is out of service has connected or disconnected."""
    device = state.devices[event.device]
    device.online = event.online
    if event.reason:
        device.refused = event.reason
    _boot(device, event.boot)


@changes(DeviceIdentified)
def _identified(state: State, event: DeviceIdentified) -> None:
    """Remember the device, unless it was refused: then the one before is still the table's own."""
    device = state.devices[event.device]
    if device.online:
        device.serial, device.firmware, device.firmware_digest = event.serial, event.firmware, event.firmware_digest


def _boot(device: Device, boot: int) -> None:
    """After a restart without its memory, the device has forgotten everything it was sent."""
    if device.boot != boot:
        device.boot, device.last_event, device.at_exit, device.late = boot, 0, None, None
        device.busy_ms, device.told, device.sensed = -1, 0, {}
        device.locked, device.shown, device.beside, device.dealt = False, "", [], []


@changes(DevicePoweredUp)
def _powered_up(state: State, event: DevicePoweredUp) -> None:
    """The device has kept its memory, but it starts unlocked and without a light, and does not know what was taken from
    its exit meanwhile.
    """
    device = state.devices[event.device]
    device.locked, device.shown, device.at_exit = False, "", None


@changes(DeviceReported)
def _reported(state: State, event: DeviceReported) -> None:
    if event.present is None:
        return
    device = state.devices[event.device]
    if event.present and device.sensed.get(event.place) is False and device.doing:
        delivered = event.place == ledger.OUTPUT and isinstance(device.doing.command, Deliver)
        device.doing.refilled = device.doing.refilled or delivered
    device.sensed[event.place] = event.present
    if event.present and event.place == ledger.SHOE and state.round:
        state.round.stock_outside = False


@changes(DeviceOpened)
def _device_opened(state: State, event: DeviceOpened) -> None:
    state.devices[event.device].opened_by = event.who


@changes(DeviceLost)
def _lost(state: State, event: DeviceLost) -> None:
    device = state.devices[event.device]
    device.online = False
    device.lost_ms = event.at_ms


@changes(DeviceRefused)
def _refused(state: State, event: DeviceRefused) -> None:
    device = state.devices[event.device]
    device.online = False
    device.doing = None
    device.refused, device.told = event.reason, event.told


@changes(DeviceAccepted)
def _accepted(state: State, event: DeviceAccepted) -> None:
    device = state.devices[event.device]
    device.last_event, device.told, device.refused = event.told, 0, ""
    device.at_exit = device.late = None


@changes(DeviceOutOfService)
def _out(state: State, event: DeviceOutOfService) -> None:
    device = state.devices[event.device]
    device.out_how = event.how
    device.doing = device.at_exit = None
    device.hindered, device.busy_ms = "", -1


@changes(DeviceInService)
def _in(state: State, event: DeviceInService) -> None:
    state.devices[event.device].out_how = ""


@changes(CommandGiven)
def _given(state: State, event: CommandGiven) -> None:
    device = state.devices[event.device]
    command = command_of(state.seq, event.boot, event.command)
    if event.stays:  # not a cycle
        device.beside.append(Given(command))
        if isinstance(command, Indicate):
            device.shown = f"{int(command.light)} {command.text}"
        else:
            device.locked = isinstance(command, Lock)
        return
    device.opened_by, device.sensed = "", {}
    device.doing = Given(command, event.until_ms or 0, event.deck or "", event.target or "")
    device.hindered = ""


@changes(DeviceResumed)
def _resumed(state: State, event: DeviceResumed) -> None:
    doing = state.devices[event.device].doing
    if doing:
        doing.until_ms = event.until_ms


@changes(CommandAnswered)
def _answered(state: State, event: CommandAnswered) -> None:
    device = state.devices[event.device]
    if device.doing and device.doing.id == event.id:
        device.doing.answered = True
        if event.answer == "done":
            device.busy_ms = -1
    for given in [given for given in device.beside if given.id == event.id]:
        device.beside.remove(given)
        if event.answer != "done":  # it cannot do this after all: not asked again until it restarts
            device.can_lock &= isinstance(given.command, Indicate)
            device.can_show &= not isinstance(given.command, Indicate)


@changes(DeviceHindered)
def _hindered(state: State, event: DeviceHindered) -> None:
    device = state.devices[event.device]
    device.hindered = event.reason
    device.locked = device.locked or event.locked
    if not event.busy:
        device.busy_ms = -1
    elif device.busy_ms < 0:
        device.busy_ms = event.at_ms


@changes(DeviceFreed)
def _freed(state: State, event: DeviceFreed) -> None:
    state.devices[event.device].hindered = ""


@changes(DeviceCounted)
def _counted(state: State, event: DeviceCounted) -> None:
    """The first wrong count of a cycle stays. A right one counts only after the shuffle, not on the way in."""
    doing = state.devices[event.device].doing
    if not doing or event.cards < 0:
        return
    size = state.setup.game.deck_size
    after = event.place not in (ledger.INFEED, ledger.SHELVES)
    if doing.counted in (-1, size) and (after or event.cards != size):
        doing.counted, doing.counted_at = event.cards, event.place
    doing.fits = doing.fits and event.fits
    doing.recognised = doing.recognised or (after and event.recognised)


@changes(StackDispensed, CardsPresented)
def _presented(state: State, event: StackDispensed | CardsPresented) -> None:
    device = state.devices[event.device]
    late = isinstance(event, CardsPresented) and event.late
    given = device.late if late else device.doing
    if given:
        given.presented = -1 if isinstance(event, CardsPresented) and event.assumed else event.cards
        if isinstance(given.command, Eject):
            device.freed = False
        if event.cards:  # otherwise there is nothing to be taken
            device.at_exit = copy(given)  # the two change independently from here on
            device.at_exit.deck = event.deck or given.deck


@changes(CardsGathered)
def _gathered(state: State, event: CardsGathered) -> None:
    nothing_at_exit(state, ledger.DEVICE_OF.get(event.place, ""))
    remember_count(state, event, event.place)


@changes(PileCounted)
def _pile(state: State, event: PileCounted) -> None:
    for place in event.places:
        nothing_at_exit(state, ledger.DEVICE_OF.get(place, ""))
    remember_count(state, event, ledger.TABLE)


def nothing_at_exit(state: State, name: str) -> None:
    """A person has emptied the device: ignore what it reports about those cards later."""
    device = state.devices.get(name)
    if device:
        device.at_exit = device.late = None
        device.freed = False


@changes(ExitEmptied)
def _exit_empty(state: State, event: ExitEmptied) -> None:
    device = state.devices[event.device]
    device.at_exit = None
    device.hindered = ""


@changes(CycleLost)
def _cycle_lost(state: State, event: CycleLost) -> None:
    device = state.devices[event.device]
    device.late = device.doing
    device.doing = None


@changes(CycleCompleted, CycleFailed, DeviceJammed, DeviceFailed, DeviceCleared)
def _cycle_over(
    state: State, event: CycleCompleted | CycleFailed | DeviceJammed | DeviceFailed | DeviceCleared
) -> None:
    device = state.devices[event.device]
    device.doing = None
    device.freed = device.freed or isinstance(event, DeviceCleared)

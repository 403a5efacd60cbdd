"""The house of a scenario: its devices may differ from the set-up, its host dies on request, its clock can be set."""

# mypyc
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from controller.core.reports import HostBoot
from controller.core.step import Step
from controller.daemon.table_clock import TableClock, time_away_ms
from controller.journal import Journal, MemoryJournal, NewEvent, timestamp
from firmware_bridge.wire.messages import AnyCommand, Capability, StackCommand
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Nameplate
from simulators.table.house import BEGINNING, HostDied, House
from simulators.table.scenario_format import DECK_SETS, DeviceTraits, Scenario

OTHER_JOURNAL_AHEAD = 1_000_000  # how far the command ids of another journal are ahead of this one's
SWAP_S = 1.0  # how long the cable is out while a device is replaced


class Death:
    """Where the host dies: with an event of this kind, at this moment of its way to journal and devices."""

    def __init__(self, kind: str, moment: str, down_s: float) -> None:
        self.kind = kind
        self.moment = moment
        self.down_s = down_s
        self.decided = False  # the event is part of the decision that is being carried out


class MortalJournal(Journal):
    """The real journal of a host that can die before or after a commit."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.death: Death | None = None
        super().__init__(path, create=create)

    def append(self, new: Sequence[NewEvent]) -> int:
        """Append, unless the host dies."""
        death = self.death
        if death is None:
            return super().append(new)
        death.decided = any(event.kind == death.kind for event in new)
        if death.decided and death.moment == "unstored":
            raise HostDied
        last = super().append(new)
        if death.decided and death.moment == "stored":
            raise HostDied
        return last


class ScenarioHouse(House):
    """The house in which a scenario is played."""

    def __init__(self, journal_file: Path, scenario: Scenario) -> None:
        self.traits: Mapping[str, DeviceTraits] = scenario.devices
        self.death: Death | None = None
        self._replaced = 0  # how many devices have been replaced
        self.wall_s = 0.0  # how far the wall clock is ahead
        self.before_deal: Callable[[str, int], None] | None = None  # brings planned cards to the top of the shoe
        super().__init__(journal_file, scenario.table, seed=scenario.seed, sets=DECK_SETS)
        self._come_up()

    def capabilities_of(self, device: str) -> frozenset[Capability]:
        """What a device can do, according to the scenario."""
        return self._with(device, self.traits.get(device, DeviceTraits()))

    def _with(self, device: str, traits: DeviceTraits) -> frozenset[Capability]:
        has = {Capability[word.upper()] for word in traits.has}
        return (super().capabilities_of(device) | has) - {Capability[word.upper()] for word in traits.lacks}

    # --- the host ---------------------------------------------------------------------------------------------------

    def _open_journal(self) -> Journal | MemoryJournal:
        assert self._file is not None
        return MortalJournal(self._file, create=not self._file.exists())

    def kill(self, down_s: float, kind: str = "", moment: str = "") -> None:
        """The host dies now, or with the next event of a kind, and is down for some time."""
        death = Death(kind, moment, down_s)
        self.death = death
        if kind:
            assert isinstance(self.journal, MortalJournal)
            self.journal.death = death
        else:
            self.restart_host()

    def restart_host(self) -> None:
        """The host is down as long as it should be; the devices go on meanwhile, and nobody reads what they send."""
        death, self.death = self.death, None
        if death and death.moment == "sent":
            self._deliver_sent()
        self._go_on_without_host(death.down_s if death else 0.0)
        super().restart_host()

    def _deliver_sent(self) -> None:
        for wired in self.wired.values():
            wired.stirred = True
            wired.look(self.now)
            for _, _, to_host, piece in sorted(wired.line.flying):
                if not to_host:
                    wired.device.receive(piece, self.now)

    def _go_on_without_host(self, down_s: float) -> None:
        end = self.now + down_s
        devices = [wired.device for wired in self.wired.values()]
        while devices and min(device.deadline for device in devices) <= end:
            self.now = max(self.now, min(device.deadline for device in devices))
            for device in devices:
                if device.deadline <= self.now:
                    device.tick(self.now)
                device.take_output()
        self.now = end

    def _come_up(self) -> None:
        """The computer has booted: how long it was off is known from its wall clock, as in the daemon."""
        newest = self.journal.last(1)
        boot = f"boot {self.deaths + 1}"
        wall_ms = round((BEGINNING.timestamp() + self.now + self.wall_s) * 1000)
        away_ms = time_away_ms(self.state, boot, 0, wall_ms, newest[0].ts if newest else "")
        clock = TableClock(self.state.now_ms + away_ms, lambda: self.now)
        self.ahead_s = clock.now() - self.now
        self._take(HostBoot(boot, 0, away_ms, "house", wall_ms))

    def _send(self, device: str, command: AnyCommand) -> None:
        doing = self.state.devices[device].doing
        if self.before_deal and device == "shoe" and doing and isinstance(command, StackCommand):
            self.before_deal(doing.target, command.cards)
        super()._send(device, command)
        if self.death and self.death.decided and self.death.moment == "sent":
            raise HostDied

    # --- clock and devices ------------------------------------------------------------------------------------------

    def _stamp(self) -> str:
        return timestamp(BEGINNING + timedelta(seconds=self.now + self.wall_s))

    def replace(self, device: str, traits: DeviceTraits, serial: str, out_s: float, *, other_journal: bool) -> None:
        """Another device is connected in the place of this one; the cable is out for some time."""
        box = self.wired[device].device
        self._replaced += 1
        serial = serial or f"{device[:2].upper()}-{self._replaced + 1:04d}"
        new = Nameplate(box.plate.role, serial, box.plate.model, self._with(device, traits))
        box.replace(new, self.now, self.state.seq + OTHER_JOURNAL_AHEAD if other_journal else 0)
        box.inject(FaultName.UNPLUG, self.now, for_s=out_s)
        self.look()

    def guide(self) -> Step:
        """What the table says now."""
        return self.live.table.next_step(self.now + self.ahead_s)

    def headline(self) -> str:
        """The headline of what the table says now."""
        return self.guide().text

"""Defects in what a device does with cards, and in when it refuses to."""

from __future__ import annotations

from firmware_bridge.wire.messages import AnyCommand, Dispense, EventMessage, PowerUp, Reason, SelfTest
from simulators.devices.firmware import Firmware
from simulators.devices.mechanics import Mechanics
from simulators.faulty_firmware.commands import ActsAgain, harmless
from simulators.faulty_firmware.defect_lists import done_instead, fails


@fails("cards.busy")
class SaysDoneWhenBusy(Firmware):
    """Answers Done to a second cycle, and does nothing."""

    def _send(self, message: bytes) -> None:
        super()._send(done_instead(message, Reason.BUSY))


@fails("cards.once")
class MovesAgain(ActsAgain):
    """Runs a cycle again when its command comes again."""

    def _repeats(self, command: AnyCommand, data: bytes) -> bool:
        moves = not harmless(command) and not isinstance(command, SelfTest)
        return moves and self._remembers(command, data) and self.mechanics.doing is None


@fails("cards.replay")
class TellsOnlyListeners(Firmware):
    """Drops what happens while no host is connected."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if self._greeted or what is PowerUp:
            super().report(what, **fields)


@fails("cards.locked")
class LocksInNameOnly(Firmware):
    """Starts cycles while it is locked."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        mechanics: Mechanics = self.mechanics
        locked, mechanics.locked = mechanics.locked, False
        hindrance = super()._hindrance(command)
        mechanics.locked = locked
        return hindrance


@fails("cards.lock_while_busy")
class LooksAtTheLockFirst(Firmware):
    """Says LOCKED before it checks whether a cycle is running."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return Reason.LOCKED if hindrance is Reason.BUSY and self.mechanics.locked else hindrance


@fails("cards.bad_count")
class DispensesNothing(Firmware):
    """Accepts a Dispense of no cards."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        nothing = isinstance(command, Dispense) and command.cards == 0
        return None if nothing and hindrance is Reason.BAD_ARGUMENT else hindrance


@fails("cards.no_cards")
class SaysDoneWithoutCards(Firmware):
    """Answers Done where there are too few cards, and does nothing."""

    def _send(self, message: bytes) -> None:
        super()._send(done_instead(message, Reason.NO_CARDS))


@fails("cards.occupied")
class DealsOntoCards(Firmware):
    """Does not check whether cards are at the exit."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return None if hindrance is Reason.EXIT_OCCUPIED else hindrance


@fails("cards.not_jammed")
class ClearsAnything(Firmware):
    """Checks the card path although there was no jam."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return None if hindrance is Reason.NOT_JAMMED else hindrance


@fails("cards.events_full")
class MovesWithoutRoom(Firmware):
    """Starts a cycle although there is no room for its events."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return None if hindrance is Reason.EVENTS_FULL else hindrance

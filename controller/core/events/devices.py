"""Events of devices: their links, their cycles, jams and failures, service, and the commands they were given."""

from __future__ import annotations

from typing import Final

import msgspec

from controller.core.events.event import DeviceFact, StackFormed
from controller.core.ledger import Move
from controller.core.names import cards, command_name, doing_name, is_refusal, out_name, refusal_name, spoken

# --- connecting and disconnecting -----------------------------------------------------------------------------------


class DeviceConnected(DeviceFact):
    """A device answers and can be used; `can` says whether it can lock, show a light and recognise cards, `longest_ms`
    how long each of its cycles may take.
    """

    kind = "device.connected"
    boot: int
    restarted: bool
    can: list[str] | None = None
    longest_ms: list[int] | None = None

    def sentence(self) -> str:
        return f"The {self.device} is connected{' after a restart' if self.restarted else ''}."


class DeviceLost(DeviceFact):
    """The link to a device is gone."""

    kind = "device.lost"
    detail: str

    def sentence(self) -> str:
        return f"The {self.device} is offline."


class DeviceIdentified(DeviceFact):
    """Which device has connected, by its own account."""

    kind = "device.identified"
    maker: str
    model: str
    serial: str
    firmware: str
    firmware_digest: str

    def sentence(self) -> str:
        name = " ".join(filter(None, (self.maker, self.model)))
        return f"The {self.device} is {name}, serial number {self.serial}, firmware {self.firmware}."


class DeviceSeen(DeviceFact):
    """A device that is out of service connected or disconnected; `reason` is why it cannot be used at this table."""

    kind = "device.seen"
    boot: int
    online: bool
    reason: str = ""

    def sentence(self) -> str:
        if self.reason:
            return f"The {self.device}, which is out of service, is connected but cannot be used here: {self.reason}."
        return f"The {self.device}, which is out of service, is {'connected' if self.online else 'disconnected'}."


class DeviceRefused(DeviceFact):
    """A device answers but cannot be used at this table; `told` is its last event missing from the journal."""

    kind = "device.refused"
    boot: int
    reason: str
    told: int = 0

    def sentence(self) -> str:
        return f"The {self.device} cannot be used here: {self.reason}."


class DeviceAccepted(DeviceFact):
    """A person accepted a device again, after emptying it, although its last events are not in the journal."""

    kind = "device.accepted"
    told: int
    who: str
    role: str

    def sentence(self) -> str:
        return f"{self.who} found the {self.device} empty and accepted it again."


class DeviceResumed(DeviceFact):
    """A device is back and continues its cycle."""

    kind = "device.resumed"
    id: int
    until_ms: int

    def sentence(self) -> str:
        return f"The {self.device} continues what it was doing."


class DevicePoweredUp(DeviceFact):
    """A device lost its power and kept its memory."""

    kind = "device.powered_up"

    def sentence(self) -> str:
        return f"The {self.device} was switched on."


_WHERE: Final = {
    "infeed": "in its infeed",
    "shelves": "on its shelves",
    "output": "in its output",
    "shoe": "inside",
    "held": "in its holder",
    "exit": "at its exit",
}
_STARTED: Final = {"power": " after a loss of power", "reset": " after a reset", "watchdog": " after a hang"}
_DOOR: Final = {"open": "opened", "closed": "closed", "locked": "locked", "unlocked": "unlocked"}


class DeviceReported(DeviceFact):
    """What a device reported, in full: everything about doors, buttons, sensors, power and faults, and any other event
    from which nothing follows. `content` is what the device sent, in hex, if it could not be read: an event of a later
    version or of a maker, or one with a `problem`. Journals of version 0.1 contain only the name of the `event`.
    """

    kind = "device.reported"
    event: str
    command: int = 0
    place: str = ""
    present: bool | None = None
    cards: int | None = None
    cycle: str = ""
    outcome: str = ""
    door: str = ""
    button: str = ""
    code: str = ""
    text: str = ""
    cause: str = ""
    memory_kept: bool | None = None
    message_number: int = 0
    content: str = ""
    problem: str = ""

    def sentence(self) -> str:
        if self.problem:
            return (
                f"The {self.device} sent an event that cannot be read (message {self.message_number}: {self.problem})."
            )
        if self.message_number:
            return f"The {self.device} sent an event of an unknown kind (message {self.message_number})."
        if self.present is not None:
            place = _WHERE.get(self.place, "at an unknown place")
            return f"The {self.device} reported {'cards' if self.present else 'no cards'} {place}."
        if self.door:
            return f"The door of the {self.device} was {_DOOR.get(self.door, 'moved')}."
        if self.button:
            button = "A" if self.button == "unknown" else f"The {spoken(self.button)}"
            return f"{button} button of the {self.device} was pressed."
        if self.code:
            return f"The {self.device} reported a fault ({spoken(self.code)}{': ' * bool(self.text)}{self.text})."
        if self.cause:
            memory = "with" if self.memory_kept else "without"
            return f"The {self.device} started{_STARTED.get(self.cause, '')}, {memory} its memory."
        if self.outcome:
            return f"The {self.device} ended a cycle ({spoken(self.cycle)}): {spoken(self.outcome)}."
        return f"The {self.device} reported: {command_name(self.event)}."


# --- trouble and service --------------------------------------------------------------------------------------------


class DeviceJammed(DeviceFact):
    """Cards are stuck in a device."""

    kind = "device.jammed"
    reason: str = ""

    def sentence(self) -> str:
        return f"The {self.device} is jammed."


class DeviceCleared(DeviceFact):
    """A jam is gone."""

    kind = "device.cleared"

    def sentence(self) -> str:
        return f"The {self.device} is clear again."


class DeviceFailed(DeviceFact):
    """A device does not work; `reason` is a predicate such as `reports a fault`, or a whole sentence."""

    kind = "device.failed"
    reason: str

    def sentence(self) -> str:
        subject = f"the {self.device} "
        return f"The {self.device} {self.reason.removeprefix(subject)}."


class DeviceRecovered(DeviceFact):
    """A device that had failed can be used again: it was switched off and on."""

    kind = "device.recovered"

    def sentence(self) -> str:
        return f"The {self.device} works again."


class DeviceHindered(DeviceFact):
    """A device refused a command, and a person can remedy that."""

    kind = "device.hindered"
    reason: str
    locked: bool
    busy: bool

    def sentence(self) -> str:
        return f"The {self.device} refused a command: {self.reason}."


class DeviceFreed(DeviceFact):
    """The reason for a refusal is gone: a person reported it, the door was closed, or an old cycle ended."""

    kind = "device.freed"
    who: str = ""
    door: str = ""
    ended: int = 0

    def sentence(self) -> str:
        if self.who:
            return f"{self.who} attended to the {self.device}."
        return f"The door of the {self.device} was closed." if self.door else f"The {self.device} finished."


class DeviceOpened(DeviceFact):
    """A person reported that they are reaching into a device, so it is unlocked."""

    kind = "device.opened"
    who: str

    def sentence(self) -> str:
        return f"{self.who} opened the {self.device}."


class DeviceOutOfService(DeviceFact):
    """A device was covered, removed or marked out of order."""

    kind = "device.out_of_service"
    how: str
    who: str

    def sentence(self) -> str:
        return f"{self.who} took the {self.device} out of service ({out_name(self.how)})."


class DeviceInService(DeviceFact):
    """A device is back in service."""

    kind = "device.in_service"
    who: str

    def sentence(self) -> str:
        return f"{self.who} put the {self.device} back in service."


# --- commands and cycles --------------------------------------------------------------------------------------------


class RecordedCommand(msgspec.Struct, omit_defaults=True):
    """A command as stored in the journal: its name in the protocol and its arguments."""

    name: str
    cards: int | None = None
    hold: bool | None = None
    light: int | None = None
    sound: int | None = None
    text: str | None = None


class CommandGiven(DeviceFact):
    """A command to a device. The number of this event is the command's id. `stays`: it is not a cycle."""

    kind = "command.given"
    command: RecordedCommand
    boot: int
    deck: str | None = None
    target: str | None = None
    until_ms: int | None = None
    stays: bool = False
    who: str = ""

    def sentence(self) -> str:
        return f"Command to the {self.device}: {command_name(self.command.name)}."


class CommandAnswered(DeviceFact):
    """How a device answered a command: `done` (accepted), `refused`, or `unknown`."""

    kind = "command.answered"
    id: int
    answer: str
    reason: str = ""

    def sentence(self) -> str:
        if self.answer == "done":
            return f"The {self.device} accepted the command."
        if self.answer == "unknown":
            return f"The {self.device} does not know what became of the command."
        return f"The {self.device} refused the command: {refusal_name(self.reason)}."


class CycleCompleted(DeviceFact):
    """A cycle ended normally."""

    kind = "cycle.completed"
    id: int
    command: str

    def sentence(self) -> str:
        return f"The {self.device} completed the command: {command_name(self.command)}."


class CycleFailed(DeviceFact):
    """A cycle ended without its result; `reason` is a predicate, or the device's reason for refusing."""

    kind = "cycle.failed"
    id: int
    command: str
    reason: str

    def sentence(self) -> str:
        if is_refusal(self.reason):
            return f"The {self.device} refused to {doing_name(self.command)}: {refusal_name(self.reason)}."
        return f"The {self.device} {self.reason}."


class CycleLost(DeviceFact):
    """A device's cycle is given up: its outcome is unknown."""

    kind = "cycle.lost"
    id: int
    reason: str

    def sentence(self) -> str:
        return f"The {self.device}'s cycle is given up: {self.reason}."


# --- cards in and out of devices ------------------------------------------------------------------------------------


class DeviceCounted(DeviceFact):
    """A device counted cards; `fits` is False if it recognises cards and found the wrong kinds.

    `recognised`: it reported how many cards of each kind there are.
    """

    kind = "cards.counted"
    place: str
    cards: int
    fits: bool
    recognised: bool = False

    def sentence(self) -> str:
        if self.cards < 0:
            return f"The {self.device} did not count the cards."
        kinds = "" if self.fits else ", but not of the right kinds"
        return f"The {self.device} counted {cards(self.cards)}{kinds}."


class CardTurned(DeviceFact):
    """A device saw a card face up, outside a deal."""

    kind = "card.turned"

    def sentence(self) -> str:
        return f"The {self.device} found a card face up."


class CardsPresented(DeviceFact):
    """Cards came out that are not part of a deal: the stub, or a deck being gathered. `late`: of a cycle given up.

    `assumed`: the device did not count them; `cards` is the number that should have been inside.
    """

    kind = "cards.presented"
    deck: str
    cards: int
    moves: list[Move]
    round: int = 0
    target: str = ""
    late: bool = False
    assumed: bool = False

    def sentence(self) -> str:
        return f"The {self.device} put out {cards(self.cards)}."


class CardsHeld(StackFormed):
    """A stack of a round that became void stays in the shoe."""

    kind = "cards.held"

    def sentence(self) -> str:
        return f"The {self.device} holds back {cards(self.cards)}."


class CardsUnexpected(DeviceFact):
    """Somebody put cards in, and it is not certain which deck they belong to."""

    kind = "cards.unexpected"
    place: str
    decks: list[str]

    def sentence(self) -> str:
        if self.decks:  # a deck was due there, and version 0.1 recorded it anyway
            return f"Cards were put into the {self.device}; a person reports which deck they are."
        return f"Unexpected cards in the {self.device}."


class ExitEmptied(DeviceFact):
    """The cards at a device's exit were taken."""

    kind = "exit.emptied"
    cards: int
    deck: str = ""
    moves: list[Move] | None = None

    def sentence(self) -> str:
        return f"The exit of the {self.device} was emptied."

"""The enumerations used in messages. docs/protocol.md lists them, with the comments as their meanings."""

from __future__ import annotations

import enum
from typing import Any


class _OpenEnum(enum.IntEnum):
    """An enumeration that later versions may extend: an unknown value is read as UNKNOWN and is not an error."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls(255) if isinstance(value, int) and value != 255 else None


class DeviceRole(_OpenEnum):
    """What a device is."""

    SHUFFLER = 1
    SHOE = 2
    UNKNOWN = 255


class Capability(enum.IntEnum):
    """What a device can do beyond the minimum; numbers not listed here are ignored."""

    COUNTS = 1  # counts the cards of every cycle
    RECOGNISES = 2  # knows the kind of each card
    FEEDS_SHOE = 3  # a shuffler that delivers into the shoe
    RESHUFFLES = 4  # reshuffles and counts by itself
    HOLDS_STACK = 5  # a shoe that can hold the dealer's stack inside
    LOCKS = 6  # doors and card paths can be locked
    INDICATES = 7  # has a light, a text line or a sound
    KEEPS_MEMORY = 8  # its memory, and so its boot id, can survive a loss of power


class Place(_OpenEnum):
    """Where cards are in a device."""

    INFEED = 1
    SHELVES = 2
    OUTPUT = 3
    SHOE = 4
    EXIT = 5
    HELD = 6
    UNKNOWN = 255


class Cycle(_OpenEnum):
    """What a device does in response to a command that needs its mechanics, from the command to its end."""

    SHUFFLE = 1
    DELIVER = 2
    DISPENSE = 3
    RELEASE = 4
    EJECT = 5
    CLEAR_JAM = 6
    SELF_TEST = 7
    UNKNOWN = 255


class Outcome(_OpenEnum):
    """How a cycle ended."""

    COMPLETE = 0
    INCOMPLETE = 1  # ended by itself, but not all cards arrived where they should
    JAMMED = 2
    STOPPED = 3  # by an opened door or a person
    FAILED = 4  # a part of the device is broken
    UNKNOWN = 255


class Mode(_OpenEnum):
    """What a device is doing."""

    READY = 0
    WORKING = 1
    JAMMED = 2
    FAILED = 3
    UNKNOWN = 255


class DoorState(_OpenEnum):
    """The new state of a door or its lock."""

    CLOSED = 0
    OPEN = 1
    LOCKED = 2
    UNLOCKED = 3
    UNKNOWN = 255


class ButtonName(_OpenEnum):
    """A button on a device."""

    GREEN = 1
    RED = 2
    UNKNOWN = 255


class FaultCode(_OpenEnum):
    """Which part is broken."""

    MOTOR = 1
    SENSOR = 2
    MEMORY = 3
    POWER = 4
    SELF_TEST = 5
    UNKNOWN = 255


class PowerCause(_OpenEnum):
    """Why a device started."""

    POWER = 0
    RESET = 1
    WATCHDOG = 2
    UNKNOWN = 255


class Light(enum.IntEnum):
    """The indicator's light."""

    OFF = 0
    GREEN = 1
    YELLOW = 2
    RED = 3


class Sound(enum.IntEnum):
    """The indicator's sound."""

    NONE = 0
    CHIME = 1
    ALARM = 2


class Reason(_OpenEnum):
    """Why a device did not do what it was asked. The first four concern the command itself, the others the device."""

    UNKNOWN_COMMAND = 1  # this device does not know the message number
    OTHER_BOOT = 2  # the command was meant for another boot: the device does not know its outcome
    FORGOTTEN = 3  # the id is older than what the device remembers: it does not know the outcome, or the cards
    ID_REUSED = 4  # the id was used for another command
    BAD_ARGUMENT = 16
    NOT_ABLE = 17  # lacks the capability
    BUSY = 18
    JAMMED = 19
    FAILED = 20
    LOCKED = 21
    DOOR_OPEN = 22
    NO_CARDS = 23
    EXIT_OCCUPIED = 24
    NOTHING_HELD = 25
    NOT_JAMMED = 26
    EVENTS_FULL = 27  # too many events are not stored yet: the device moves nothing that it could not report
    OUTPUT_OCCUPIED = 28
    NOT_TAKEN = 29  # the cards have not been taken yet: the device does not say which they are
    UNKNOWN = 255

"""Commands and their answers. A command has an effect, and carries an id and the boot it is meant for."""

from __future__ import annotations

from typing import ClassVar

from firmware_bridge.wire.messages.base import Message
from firmware_bridge.wire.messages.enums import Light, Reason, Sound
from firmware_bridge.wire.messages.fields import LARGEST_PACK, MOST_KINDS, Boot, CardCount, Id, Text


class Command(Message):
    """Base of the commands. `id` grows with every command to a device and is never used twice."""

    moves_cards: ClassVar[bool] = True

    id: Id
    boot: Boot


class Shuffle(Command, tag=16):
    """Shuffle the deck in the infeed."""


class Deliver(Command, tag=17):
    """Move the shuffled deck from the output into the shoe, or out to the dealer."""


class StackCommand(Command):
    """Base of the commands that form a stack of cards from the shoe, of at least one card."""

    most_cards: ClassVar[int] = LARGEST_PACK

    cards: CardCount


class Dispense(StackCommand, tag=18):
    """Form a stack of this many cards and present it at the exit, or hold it inside."""

    hold: bool = False


class Release(Command, tag=19):
    """Present the stack that is held inside."""


class Lock(Command, tag=20):
    """Lock doors and card paths: no cycle starts until Unlock."""

    moves_cards = False


class Unlock(Command, tag=21):
    """Undo a lock."""

    moves_cards = False


class Eject(Command, tag=22):
    """Move every card inside the device to the exit."""


class ClearJam(Command, tag=23):
    """A person has removed the jam: check the card path and become ready again."""


class SelfTest(Command, tag=24):
    """Test motors and sensors without moving any card of a deck."""

    moves_cards = False


class Indicate(Command, tag=25):
    """Show a light and a text, and make a sound."""

    moves_cards = False

    light: Light
    text: Text = ""
    sound: Sound = Sound.NONE


# Not a field of Dispense: a device that does not know the field would ignore it and deal without saying what it dealt.
# One that does not know this command refuses it.
class DispenseFaceUp(StackCommand, tag=26):
    """Form a stack that is dealt face up, present it at the exit, and report its cards by `CardsShown`."""

    most_cards = MOST_KINDS


class Done(Message, tag=5):
    """Device: the command is accepted. Its results are reported by events that carry its id."""

    id: Id


class Refused(Message, tag=6):
    """Device: the command was not and will not be carried out, or the device cannot know its outcome."""

    id: Id
    reason: Reason
    text: Text = ""


AnyCommand = (
    Shuffle | Deliver | Dispense | Release | Lock | Unlock | Eject | ClearJam | SelfTest | Indicate | DispenseFaceUp
)
COMMAND_ANSWERS = (Done, Refused)

"""Messages: what host and device say to each other, typed. One message is one msgpack array, its number first.

The numbers, fields and meanings are the protocol: docs/protocol.md has the same tables, and a test compares them.
A new field goes to the end of a message with a default; a number is never given a second meaning. Extra fields are
passed over when reading. Units are in the field names.
"""

from __future__ import annotations

import enum
from typing import Annotated, Any, ClassVar

import msgspec

VERSION = 1  # of the messages; negotiated in Hello and Welcome
MAX_ID = 2**63 - 1  # command ids and event numbers

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
Boot = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
CardCount = Annotated[int, msgspec.Meta(ge=-1, le=255)]  # -1: not counted
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
Version = Annotated[int, msgspec.Meta(ge=0, le=255)]
Name = Annotated[str, msgspec.Meta(max_length=24)]
Text = Annotated[str, msgspec.Meta(max_length=64)]
Digest = Annotated[bytes, msgspec.Meta(max_length=32)]  # SHA-256 of the firmware image, or empty
Numbers = Annotated[list[int], msgspec.Meta(max_length=16)]
Kinds = Annotated[list[int], msgspec.Meta(max_length=53)]  # kinds of cards
Total = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]

# Ranges of message numbers: also a message of a later version can be put into its class.
COMMANDS = range(16, 48)
QUESTIONS = range(48, 64)
EVENTS = range(64, 96)


class _Growing(enum.IntEnum):
    """A list that later versions may extend: a value we do not know is read as UNKNOWN, never an error."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls(255) if isinstance(value, int) and value != 255 else None


class DeviceRole(_Growing):
    """What a device is."""

    SHUFFLER = 1
    SHOE = 2
    UNKNOWN = 255


class Capability(enum.IntEnum):
    """What a device can do beyond the least; numbers not listed here are passed over."""

    COUNTS = 1  # counts the cards of every cycle
    RECOGNISES = 2  # knows the kind of each card
    FEEDS_SHOE = 3  # a shuffler that delivers into the shoe
    RESHUFFLES = 4  # reshuffles and counts by itself (5.I)
    HOLDS_STACK = 5  # a shoe that can keep the dealer's stack inside
    LOCKS = 6  # doors and card ways can be locked
    INDICATES = 7  # has a light, a text line or a sound
    KEEPS_MEMORY = 8  # its memory, and so its boot id, can survive a loss of power


class Place(_Growing):
    """Where in a device cards are."""

    INFEED = 1
    SHELVES = 2
    OUTPUT = 3
    SHOE = 4
    EXIT = 5
    HELD = 6
    UNKNOWN = 255


class Cycle(_Growing):
    """A movement of the device from its command to its end."""

    SHUFFLE = 1
    DELIVER = 2
    DISPENSE = 3
    RELEASE = 4
    EJECT = 5
    CLEAR_JAM = 6
    SELF_TEST = 7
    UNKNOWN = 255


class Outcome(_Growing):
    """How a cycle ended."""

    COMPLETE = 0
    INCOMPLETE = 1  # ended by itself, but not all cards went where they should
    JAMMED = 2
    STOPPED = 3  # by an opened door or a person
    FAILED = 4  # a part of the device does not work
    UNKNOWN = 255


class Mode(_Growing):
    """What a device is doing."""

    READY = 0
    WORKING = 1
    JAMMED = 2
    FAILED = 3
    UNKNOWN = 255


class DoorState(_Growing):
    """What a door or its lock did."""

    CLOSED = 0
    OPEN = 1
    LOCKED = 2
    UNLOCKED = 3
    UNKNOWN = 255


class ButtonName(_Growing):
    """A button on a device."""

    GREEN = 1
    RED = 2
    UNKNOWN = 255


class FaultCode(_Growing):
    """A part that does not work."""

    MOTOR = 1
    SENSOR = 2
    MEMORY = 3
    POWER = 4
    SELF_TEST = 5
    UNKNOWN = 255


class PowerCause(_Growing):
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


class Reason(_Growing):
    """Why a device did not do what it was asked. The first four say what it knows, the others what hinders it."""

    UNKNOWN_COMMAND = 1  # the message's number is not known to this device
    OTHER_BOOT = 2  # the command was meant for another power-up: the device does not know what became of it
    FORGOTTEN = 3  # the id is older than the answers the device keeps: it does not know what became of it
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
    EVENTS_FULL = 27  # too many events unacknowledged: the device moves nothing it could not report
    OUTPUT_OCCUPIED = 28
    UNKNOWN = 255


class Message(msgspec.Struct, array_like=True, gc=False):
    """Base of all messages."""

    def encode(self) -> bytes:
        """The bytes of this message."""
        return encode(self)


encode = msgspec.msgpack.Encoder().encode  # the same, for those who send many


# --- handshake ------------------------------------------------------------------------------------------------------


class Hello(Message, tag=1):
    """Host: the first message of a link session. The host says which events it has stored, and of which boot."""

    version_min: Version
    version_max: Version
    events_boot: Boot = 0
    events_stored: Id = 0
    software: Name = ""


class Welcome(Message, tag=2):
    """Device: the version that both know, the identity, and what it remembers."""

    version: Version
    boot: Boot
    role: DeviceRole
    maker: Name
    model: Name
    serial: Name
    firmware: Name
    firmware_digest: Digest
    capabilities: Numbers
    first_event: Id = 1  # the oldest event still kept is this one, or the next to come has this number
    last_command: Id = 0  # the highest command id seen since this boot, 0 for none


class Unwelcome(Message, tag=3):
    """Device: no session. Either no common version, or the host claims events that never were."""

    version_min: Version
    version_max: Version
    text: Text = ""


class EventsStored(Message, tag=4):
    """Host: all events up to this number are stored; the device may forget them."""

    number: Id


class Done(Message, tag=5):
    """Device: the command was taken on. What it leads to comes as events that carry the command's id."""

    id: Id


class Refused(Message, tag=6):
    """Device: the command was not and will not be carried out, or the device cannot know."""

    id: Id
    reason: Reason
    text: Text = ""


class NoAnswer(Message, tag=7):
    """Device: it cannot answer this question."""

    ref: Id
    reason: Reason
    text: Text = ""


# --- commands: they have an effect, and carry an id and the boot they are meant for ---------------------------------


class Command(Message):
    """Base of the commands. `id` grows with every command to a device and is never used twice."""

    moves_cards: ClassVar[bool] = True

    id: Id
    boot: Boot


class Shuffle(Command, tag=16):
    """Shuffle the deck that lies in the infeed."""


class Deliver(Command, tag=17):
    """Bring the shuffled deck from the output into the shoe, or out to the dealer."""


class Dispense(Command, tag=18):
    """Form a stack of this many cards and present it at the exit, or keep it inside."""

    cards: CardCount
    hold: bool = False


class Release(Command, tag=19):
    """Present the stack that was kept inside."""


class Lock(Command, tag=20):
    """Lock doors and card ways: no cycle starts until unlocked."""

    moves_cards = False


class Unlock(Command, tag=21):
    """Undo a lock."""

    moves_cards = False


class Eject(Command, tag=22):
    """Bring out every card that is inside."""


class ClearJam(Command, tag=23):
    """A person has taken the jam away: check the card way, and be ready again."""


class SelfTest(Command, tag=24):
    """Test motors and sensors without moving a card of a deck."""

    moves_cards = False


class Indicate(Command, tag=25):
    """Show a light and a text, and make a sound."""

    moves_cards = False

    light: Light
    text: Text = ""
    sound: Sound = Sound.NONE


# --- questions: they change nothing and may be asked at any time ----------------------------------------------------


class Question(Message):
    """Base of the questions. `ref` comes back in the answer and has no other meaning."""

    ref: Id


class Identify(Question, tag=48):
    """Who are you? Answered by `Identity`."""


class AskStatus(Question, tag=49):
    """What are you doing? Answered by `Status`."""


class AskCounters(Question, tag=50):
    """What have you done? Answered by `Counters`."""


class Identity(Message, tag=8):
    """Device: the same identity as in Welcome."""

    ref: Id
    role: DeviceRole
    maker: Name
    model: Name
    serial: Name
    firmware: Name
    firmware_digest: Digest
    capabilities: Numbers


class Status(Message, tag=9):
    """Device: what it is doing. Counts of cards are -1 where the device has no sensor for them."""

    ref: Id
    mode: Mode
    doing: Id  # id of the command whose cycle runs, 0 for none
    last_command: Id  # highest command id seen since this boot, 0 for none
    last_cycle: Id  # id of the command whose cycle ended last, 0 for none
    last_outcome: Outcome
    infeed_cards: CardCount
    inside_cards: CardCount
    output_cards: CardCount
    exit_cards: CardCount
    held_cards: CardCount
    door_open: bool
    locked: bool
    events_kept: Total
    uptime_ms: Milliseconds


class Counters(Message, tag=10):
    """Device: totals since its boot."""

    ref: Id
    uptime_ms: Milliseconds
    effects: Total  # commands carried out; a repeated id does not count
    cycles: Total
    cards_moved: Total
    stacks: Total
    jams: Total
    faults: Total
    frames_in: Total
    frames_bad: Total
    resends: Total


# --- events: numbered by the device, kept until stored by the host --------------------------------------------------


class EventMessage(Message):
    """Base of the events. `number` counts from 1 in each boot without a gap; `at_ms` is the device's uptime."""

    number: Id
    at_ms: Milliseconds


class PowerUp(EventMessage, tag=64):
    """The device started. Event 1 of every boot; once more, with memory_kept, where the memory survived."""

    cause: PowerCause
    memory_kept: bool


class CardsCounted(EventMessage, tag=65):
    """The device counted cards. `kinds` are counts by kind of card, from a device that recognises them."""

    command: Id
    place: Place
    cards: CardCount
    kinds: Kinds = []


class CycleDone(EventMessage, tag=66):
    """A cycle has ended."""

    command: Id
    cycle: Cycle
    outcome: Outcome
    cards: CardCount  # moved by the cycle, -1 where the device does not count
    duration_ms: Milliseconds


class StackPresented(EventMessage, tag=67):
    """A stack lies at the place, ready to be taken; at HELD it is kept inside."""

    command: Id
    place: Place
    cards: CardCount


class StackTaken(EventMessage, tag=68):
    """The cards at the place were taken. `kinds` are the cards themselves, from a device that recognises them."""

    command: Id
    place: Place
    cards: CardCount
    kinds: Kinds = []


class CardFaceUp(EventMessage, tag=69):
    """A card was seen face up."""

    command: Id
    place: Place
    kind: int = -1


class Jam(EventMessage, tag=70):
    """Cards are stuck. The device stands still until a person clears it and ClearJam is given."""

    command: Id
    place: Place


class Door(EventMessage, tag=71):
    """A door was opened or closed, or its lock changed."""

    state: DoorState


class Button(EventMessage, tag=72):
    """A button was pressed."""

    button: ButtonName


class Fault(EventMessage, tag=73):
    """A part does not work."""

    code: FaultCode
    text: Text = ""


class CardsPresent(EventMessage, tag=74):
    """Cards were put in, or all were taken out, at a place."""

    place: Place
    present: bool


class UnknownEvent(EventMessage, tag=95):
    """An event of a later version: its number counts, its content is passed on unread. Not on the wire itself."""

    message_number: int = 0
    content: bytes = b""


AnyCommand = Shuffle | Deliver | Dispense | Release | Lock | Unlock | Eject | ClearJam | SelfTest | Indicate
AnyQuestion = Identify | AskStatus | AskCounters
AnyAnswer = Done | Refused | NoAnswer | Identity | Status | Counters
KnownEvent = (
    PowerUp
    | CardsCounted
    | CycleDone
    | StackPresented
    | StackTaken
    | CardFaceUp
    | Jam
    | Door
    | Button
    | Fault
    | CardsPresent
)
AnyEvent = KnownEvent | UnknownEvent
# As tuples too: `isinstance` with a union builds the union anew each time, which shows in the hot path.
COMMAND_ANSWERS = (Done, Refused)
QUESTION_ANSWERS = (Status, Counters, Identity, NoAnswer)
FromHost = Hello | EventsStored | AnyCommand | AnyQuestion
FromDevice = Welcome | Unwelcome | AnyAnswer | AnyEvent

_from_host: msgspec.msgpack.Decoder[FromHost] = msgspec.msgpack.Decoder(FromHost)
_from_device: msgspec.msgpack.Decoder[FromDevice] = msgspec.msgpack.Decoder(
    Welcome | Unwelcome | AnyAnswer | KnownEvent
)
_elements = msgspec.msgpack.Decoder(list[msgspec.Raw])  # cut apart, without looking into the elements
_integer = msgspec.msgpack.Decoder(int)

# What the decoders raise for bytes that are no message: text that is no UTF-8 and arrays nested without end too.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class BadMessage(Exception):
    """Bytes that are no message. `number` and `id` are what could still be read of it, 0 where nothing could;
    `has_id` tells an id that is 0 from none."""

    def __init__(self, text: str, number: int | None = None, id: int | None = None) -> None:
        super().__init__(text)
        self.number = number or 0
        self.id = id or 0
        self.has_id = id is not None


def decode_from_host(data: bytes) -> FromHost:
    """Read a message as a device does; BadMessage tells what could still be understood."""
    try:
        return _from_host.decode(data)
    except _UNREADABLE as error:
        raise _bad_message(data, error) from None


def decode_from_device(data: bytes) -> FromDevice:
    """Read a message as the host does. An event of a later version comes as `UnknownEvent`."""
    try:
        return _from_device.decode(data)
    except _UNREADABLE as error:
        bad = _bad_message(data, error)
        if bad.number in EVENTS and bad.number not in _KNOWN_NUMBERS and bad.id > 0:
            at_ms = _small_int(data, 2) or 0
            return UnknownEvent(number=bad.id, at_ms=at_ms, message_number=bad.number, content=data)
        raise bad from None


def _bad_message(data: bytes, error: Exception) -> BadMessage:
    return BadMessage(str(error), number=_small_int(data, 0), id=_small_int(data, 1))


def _small_int(data: bytes, index: int) -> int | None:
    """The integer at this place of the array, None where there is none."""
    try:
        value = _integer.decode(_elements.decode(data)[index])
    except (*_UNREADABLE, IndexError):
        return None
    return value if 0 <= value <= MAX_ID else None


def message_number(kind: type[Message]) -> int:
    """The number that stands first in messages of this type."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int)
    return tag


ALL_MESSAGES: tuple[type[Message], ...] = (
    Hello, Welcome, Unwelcome, EventsStored, Done, Refused, NoAnswer, Identity, Status, Counters,
    Shuffle, Deliver, Dispense, Release, Lock, Unlock, Eject, ClearJam, SelfTest, Indicate,
    Identify, AskStatus, AskCounters,
    PowerUp, CardsCounted, CycleDone, StackPresented, StackTaken, CardFaceUp, Jam, Door, Button, Fault, CardsPresent,
)  # fmt: skip
_KNOWN_NUMBERS = frozenset(message_number(kind) for kind in ALL_MESSAGES)


def describe_message(message: Message) -> str:
    """A message in one line for a technician: name and fields, small lists by name."""
    parts = []
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, enum.Enum):
            value = value.name.lower()
        elif isinstance(value, bytes):
            value = value.hex()[:16] + ("…" if len(value) > 8 else "")
        elif isinstance(value, str):
            value = repr(value)
        elif name in ("boot", "events_boot"):  # as packets and logs show it
            value = f"{value:08x}"
        parts.append(f"{name}={value}")
    return f"{type(message).__name__} {' '.join(parts)}".rstrip()

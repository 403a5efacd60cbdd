"""The points about greeting and messages. None of them moves a card."""

from __future__ import annotations

import msgspec

from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import (
    DONE,
    IDENTITY,
    NO_ANSWER,
    REFUSED,
    UNWELCOME,
    WELCOME,
    Failed,
    in_words,
    kind_of,
    longer,
    number_of,
    read,
)
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import (
    MAX_ID,
    VERSION,
    Capability,
    DeviceRole,
    Hello,
    Identify,
    Indicate,
    Light,
    Sound,
    Unwelcome,
    Welcome,
    message_number,
)
from firmware_bridge.wire.packet import MAX_MESSAGE

HELLO, IDENTIFY, INDICATE = (message_number(kind) for kind in (Hello, Identify, Indicate))
UNKNOWN_COMMAND, UNKNOWN_QUESTION = 47, 63  # the last of their ranges
LATER = 200  # a version in the far future
INTEGER_FORMS = ((0xCC, 1), (0xCD, 2), (0xCE, 4), (0xCF, 8), (0xD0, 1), (0xD1, 2), (0xD2, 4), (0xD3, 8))  # head, bytes
WIDEST = INTEGER_FORMS[-1]


@point("session.welcome", "Greeting", "Hello is answered by Welcome with all fields in their bounds.")
def session_welcome(talk: Talk) -> Steps[None]:
    """Other points read Welcome without checking it."""
    greeting = yield from talk.greet()
    if len(greeting.message) > MAX_MESSAGE:
        raise Failed(f"Welcome has {len(greeting.message)} bytes, a message has at most {MAX_MESSAGE}")
    welcome = read(greeting.message)
    assert isinstance(welcome, Welcome), "the number is that of Welcome"
    if welcome.version != VERSION:
        raise Failed(f"version {VERSION} was offered, version {welcome.version} was chosen")
    if welcome.boot != greeting.boot:
        raise Failed(f"boot {welcome.boot:08x} in Welcome, {greeting.boot:08x} in OPENED")
    if welcome.role is DeviceRole.UNKNOWN:
        raise Failed(f"role {greeting.role} does not exist in version {VERSION}")


@point("session.bad_hello", "Greeting", "A Hello that cannot be read is dropped.")
def session_bad_hello(talk: Talk) -> Steps[None]:
    """A field is missing, has another type, or is out of bounds; then a correct greeting succeeds."""
    yield from talk.open()
    for fields in ([HELLO, VERSION], [HELLO, "1", VERSION], [HELLO, VERSION, VERSION, -1]):
        talk.say(msgspec.msgpack.encode(fields))
        answer = yield from talk.message((WELCOME, UNWELCOME), None, QUIET_S)
        if answer:
            raise Failed(f"Hello with the fields {fields[1:]} was answered by {in_words(answer)}")
    yield from talk.hello()


@point("session.version", "Greeting", "Without a common version Hello is answered by Unwelcome.")
def session_version(talk: Talk) -> Steps[None]:
    """Versions in the far future."""
    yield from talk.open()
    yield from _greeted(
        talk, Hello(LATER, LATER + 10), Unwelcome, f"only versions {LATER} to {LATER + 10} were offered"
    )


@point("session.later_host", "Greeting", "A host that speaks later versions too is welcome.")
def session_later_host(talk: Talk) -> Steps[None]:
    """session.welcome checks which version the device chooses."""
    yield from talk.open()
    yield from _greeted(talk, Hello(VERSION, LATER), Welcome, f"versions {VERSION} to {LATER} were offered")


@point("session.future_events", "Greeting", "A host that claims events that never existed gets Unwelcome.")
def session_future_events(talk: Talk) -> Steps[None]:
    """The boot is right, the number is not."""
    yield from talk.open()
    yield from _greeted(talk, Hello(VERSION, VERSION, talk.boot, MAX_ID), Unwelcome, f"event {MAX_ID} was claimed")


@point("session.other_events", "Greeting", "A host that has stored events of another boot is welcome.")
def session_other_events(talk: Talk) -> Steps[None]:
    """Their number has no meaning here: this device has restarted since, or is another one."""
    yield from talk.open()
    hello = Hello(VERSION, VERSION, talk.boot ^ 1, MAX_ID)
    yield from _greeted(talk, hello, Welcome, f"event {MAX_ID} of another boot was claimed")


def _greeted(talk: Talk, hello: Hello, expected: type[Welcome | Unwelcome], why: str) -> Steps[None]:
    talk.say(hello.encode())
    answer = yield from talk.message((WELCOME, UNWELCOME), None)
    if answer is None or kind_of(answer) != message_number(expected):
        got = in_words(answer) + " was received" if answer else talk.received()
        raise Failed(f"{why}: expected {expected.__name__}, but {got}")
    if expected is Unwelcome:
        read(answer)  # session.welcome checks the fields of Welcome


@point("session.greeting_first", "Greeting", "Before the greeting nothing is answered or done, and no event is sent.")
def session_greeting_first(talk: Talk) -> Steps[None]:
    """The first greeting only finds out which command could be given."""
    greeting = yield from talk.greet()
    before = yield from talk.effects()
    talk.leave()
    yield from talk.open()
    early = [talk.probe()]
    if greeting.can(Capability.INDICATES):
        early.append(talk.harmless(greeting, talk.next_id()))
    for message in early:
        talk.say(message)
        answer = yield from talk.message(range(256), None, QUIET_S)
        if answer:
            raise Failed(f"before the greeting the device sent {in_words(answer)}")
    yield from talk.hello()
    after = yield from talk.effects()
    if after != before:
        raise Failed("a command that was given before the greeting was carried out")


@point("session.unwelcome", "Greeting", "After Unwelcome the device is in the same state as before the greeting.")
def session_unwelcome(talk: Talk) -> Steps[None]:
    """A question after it is not answered; then a correct greeting succeeds."""
    yield from talk.open()
    if (yield from _answered_before_welcome(talk)):
        return  # session.greeting_first fails
    for hello in (Hello(LATER, LATER), Hello(VERSION, VERSION, talk.boot, MAX_ID)):
        talk.say(hello.encode())
        answer = yield from talk.message((WELCOME, UNWELCOME), None)
        if answer is None or kind_of(answer) != UNWELCOME:
            continue  # session.version or session.future_events fails
        early = yield from _answered_before_welcome(talk)
        if early:
            raise Failed(f"after Unwelcome a question was answered by {in_words(early)}")


def _answered_before_welcome(talk: Talk) -> Steps[bytes | None]:
    """Ask, then greet: the answer to the question, if there was one."""
    probe = talk.probe()
    came = yield from talk.said(probe)
    yield from talk.hello()
    came += talk.messages
    return next(
        (message for message in came if kind_of(message) == IDENTITY and number_of(message) == number_of(probe)), None
    )


@point("session.unknown_field", "Messages", "Elements beyond the known ones are ignored.")
def session_unknown_field(talk: Talk) -> Steps[None]:
    """As a host of a later version would send them, in Hello, a question and a command."""
    later = (7, "later", [1, 2])
    greeting = yield from talk.greet(extra=later)
    probe = longer(Identify(talk.next_ref()), later)
    talk.say(probe)
    yield from talk.answer_to(probe, "a question with elements of a later version")
    if greeting.can(Capability.INDICATES):
        command = Indicate(talk.next_id(), greeting.boot, Light.YELLOW, "conform")
        talk.indicated = True
        yield from talk.done(longer(command, later))


@point("session.optional", "Messages", "Optional fields may be missing at the end of a message.")
def session_optional(talk: Talk) -> Steps[None]:
    """The shortest Hello, and the shortest Indicate."""
    yield from talk.open()
    talk.say(msgspec.msgpack.encode([HELLO, VERSION, VERSION]))
    if not (yield from talk.message((WELCOME,), None)):
        raise Failed(f"Hello without its optional fields: expected Welcome, but {talk.received()}")
    greeting = yield from talk.hello()
    if greeting.can(Capability.INDICATES):
        talk.indicated = True
        yield from talk.done(msgspec.msgpack.encode([INDICATE, talk.next_id(), greeting.boot, Light.YELLOW]))


@point("session.integers", "Messages", "An integer is read in every MessagePack integer format.")
def session_integers(talk: Talk) -> Steps[None]:
    """A question in all formats, Hello and a command in the longest."""
    yield from talk.open()
    talk.say(_in_form(WIDEST, HELLO, VERSION, VERSION, 0, 0, ""))
    if not (yield from talk.message((WELCOME,), None)):
        raise Failed(f"Hello in 64-bit integers: expected Welcome, but {talk.received()}")
    for form in INTEGER_FORMS:
        question = _in_form(form, IDENTIFY, 100)
        talk.say(question)
        yield from talk.answer_to(question, f"a question with its integers in the form {form[0]:02x}")
    greeting = yield from talk.hello()
    if greeting.can(Capability.INDICATES):
        talk.indicated = True
        yield from talk.done(_in_form(WIDEST, INDICATE, talk.next_id(), greeting.boot, Light.YELLOW, "", Sound.NONE))


def _in_form(form: tuple[int, int], *values: int | str) -> bytes:
    head, size = form
    parts = [
        bytes([head]) + value.to_bytes(size, "big") if isinstance(value, int) else msgspec.msgpack.encode(value)
        for value in values
    ]
    return bytes([0x90 + len(parts)]) + b"".join(parts)


@point("session.malformed", "Messages", "A message that is not well formed, or has an unknown number, is dropped.")
def session_malformed(talk: Talk) -> Steps[None]:
    """Cut off, followed by a byte, not an array, and with numbers that are not commands or questions."""
    yield from talk.greet()
    question = talk.probe()
    not_an_array = msgspec.msgpack.encode({IDENTIFY: talk.next_ref()})
    unknown = [msgspec.msgpack.encode([number, talk.next_ref(), 0]) for number in (0, DONE, 15, 64, 255)]
    yield from _dropped(talk, question[:-1], question + b"\xc0", not_an_array, question[1:2], b"\xc1", *unknown)


@point("session.no_id", "Messages", "A command or question whose id or ref cannot be read is dropped.")
def session_no_id(talk: Talk) -> Steps[None]:
    """An answer could not name it. Only with commands that do no harm."""
    greeting = yield from talk.greet()
    refs: list[object] = ["7", -1, MAX_ID + 1, None, [7]]
    bad = [[IDENTIFY], *[[IDENTIFY, ref] for ref in refs], [UNKNOWN_QUESTION], [UNKNOWN_COMMAND]]
    bad += [[INDICATE, id, greeting.boot, Light.YELLOW] for id in refs]
    yield from _dropped(talk, *map(msgspec.msgpack.encode, bad))


def _dropped(talk: Talk, *messages: bytes) -> Steps[None]:
    """Send messages that must be dropped, each followed by a question, which alone is answered."""
    for message in messages:
        came = yield from talk.said(message)
        probe = talk.probe()
        talk.say(probe)
        words = f"an invalid message ({message[:24].hex(' ')})"
        yield from talk.answer_to(probe, f"after {words}")
        for answer in (*came, *talk.messages):
            if kind_of(answer) in (DONE, REFUSED, NO_ANSWER, IDENTITY) and number_of(answer) != number_of(probe):
                raise Failed(f"{words} was answered by {in_words(answer)}")

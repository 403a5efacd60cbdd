"""The points about commands. None of them moves a card."""

from __future__ import annotations

import msgspec

from firmware_bridge.tools.conform.link_talk import SOON_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import REFUSED, Failed, Greeting, in_words, must_be_refused, read
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import (
    Capability,
    ClearJam,
    Command,
    Deliver,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    Indicate,
    Light,
    Lock,
    Reason,
    Refused,
    Release,
    Shuffle,
    Sound,
    Unlock,
    describe_message,
    message_number,
)

REMEMBERED = 16  # answers a device must remember
MANY = 70  # commands after which most devices have forgotten the first
UNKNOWN_COMMAND_NUMBER = 47  # the last of its range
INDICATE, UNLOCK = message_number(Indicate), message_number(Unlock)
TEXT_MAX = 64  # characters
# An invalid first byte, a truncated character, a broken continuation, an overlong encoding, half a surrogate pair.
INVALID_UTF8 = (b"\xff\xff\xff", b"???\xc3", b"??\xc3\x28", b"?\xc0\xaf", b"?\xed\xa0\x80")
NO_INDICATES = ", and no other command has such a field"


@point("command.at_most_once", "Commands", "The same command again gets the same answer and has no second effect.")
def command_at_most_once(talk: Talk) -> Steps[None]:
    """Checked with Counters.effects."""
    greeting = yield from talk.greet_for_commands()
    before = yield from talk.effects()
    command = talk.harmless(greeting, talk.next_id())
    first = yield from talk.carried_out(command)
    for _ in range(2):
        yield from talk.give_again(command, first)
    yield from _one_effect(talk, before)


@point("command.across_links", "Commands", "The same holds after a new link session.")
def command_across_links(talk: Talk) -> Steps[None]:
    """As when a host lost the link before it received the answer."""
    greeting = yield from talk.greet_for_commands()
    before = yield from talk.effects()
    command = talk.harmless(greeting, talk.next_id())
    first = yield from talk.carried_out(command)
    talk.leave()
    yield from talk.greet()
    yield from talk.give_again(command, first)
    yield from _one_effect(talk, before)


def _one_effect(talk: Talk, before: int, others: int = 0) -> Steps[None]:
    after = yield from talk.effects()
    expected = before + talk.effects_of(others + 1)
    if after != expected:
        raise Failed(f"one command given several times: expected effects {expected}, got {after}")


@point("command.remembered", "Commands", "The answers to the last 16 commands are remembered.")
def command_remembered(talk: Talk) -> Steps[None]:
    """The oldest of 16 is given again."""
    greeting = yield from talk.greet_for_commands()
    command = talk.harmless(greeting, talk.next_id())
    first = yield from talk.carried_out(command)
    for _ in range(REMEMBERED - 1):
        yield from talk.carried_out(talk.harmless(greeting, talk.next_id()))
    yield from talk.give_again(command, first)


@point("command.forgotten", "Commands", "A forgotten command is not carried out again.")
def command_forgotten(talk: Talk) -> Steps[None]:
    """A device with a large memory may still know the answer."""
    greeting = yield from talk.greet_for_commands()
    before = yield from talk.effects()
    command = talk.harmless(greeting, talk.next_id())
    first = yield from talk.carried_out(command)
    for _ in range(MANY):
        yield from talk.carried_out(talk.harmless(greeting, talk.next_id()))
    answer = yield from talk.give(command)
    refusal = read(answer)
    if answer != first and not (isinstance(refusal, Refused) and refusal.reason is Reason.FORGOTTEN):
        expected = f"expected {in_words(first)} or Refused FORGOTTEN"
        raise Failed(f"a command repeated after {MANY} others: {expected}, got {in_words(answer)}")
    yield from _one_effect(talk, before, MANY)


@point("command.lower_id", "Commands", "An unused id below the highest one gets FORGOTTEN.")
def command_lower_id(talk: Talk) -> Steps[None]:
    """The device cannot know that it was never used."""
    greeting = yield from talk.greet_for_commands()
    skipped, higher = talk.next_id(), talk.next_id()
    before = yield from talk.effects()
    yield from talk.carried_out(talk.harmless(greeting, higher))
    yield from talk.refused(talk.harmless(greeting, skipped), Reason.FORGOTTEN, "an id below the highest one")
    yield from _one_effect(talk, before)


@point("command.id_reused", "Commands", "Another command with a remembered id gets ID_REUSED.")
def command_id_reused(talk: Talk) -> Steps[None]:
    """Also on a device without INDICATES, because the id is checked first."""
    greeting = yield from talk.greet_for_commands()
    id = talk.next_id()
    before = yield from talk.effects()
    yield from talk.carried_out(talk.harmless(greeting, id))
    other = Indicate(id, greeting.boot, Light.GREEN, "other").encode()
    yield from talk.refused(other, Reason.ID_REUSED, "another command with the same id")
    yield from _one_effect(talk, before)


@point("command.other_boot", "Commands", "A command meant for another boot gets OTHER_BOOT and is not remembered.")
def command_other_boot(talk: Talk) -> Steps[None]:
    """Afterwards the same id with the right boot is carried out."""
    greeting = yield from talk.greet_for_commands()
    id = talk.next_id()
    before = yield from talk.effects()
    stale = talk.harmless(greeting, id, boot=greeting.boot ^ 1)
    yield from talk.refused(stale, Reason.OTHER_BOOT, "a command meant for another boot")
    yield from talk.carried_out(talk.harmless(greeting, id))
    yield from _one_effect(talk, before)


@point("command.unknown", "Commands", "A command with an unknown number gets UNKNOWN_COMMAND, not silence.")
def command_unknown(talk: Talk) -> Steps[None]:
    """A number that no version uses yet."""
    greeting = yield from talk.greet()
    command = msgspec.msgpack.encode([UNKNOWN_COMMAND_NUMBER, talk.next_id(), greeting.boot])
    yield from talk.refused(command, Reason.UNKNOWN_COMMAND, f"command number {UNKNOWN_COMMAND_NUMBER}")


@point("command.bad_argument", "Commands", "A command whose fields cannot be read gets BAD_ARGUMENT.")
def command_bad_argument(talk: Talk) -> Steps[None]:
    """Only commands that do no harm if the device carries them out anyway."""
    greeting = yield from talk.greet_for_commands()
    if greeting.can(Capability.INDICATES):
        why = "Indicate with a text where the light's number should be"
    else:
        why = "Unlock without its boot"
    yield from talk.refused(_unreadable(greeting, talk.next_id()), Reason.BAD_ARGUMENT, why)


def _unreadable(greeting: Greeting, id: int) -> bytes:
    if greeting.can(Capability.INDICATES):
        return msgspec.msgpack.encode([INDICATE, id, greeting.boot, "red"])
    return msgspec.msgpack.encode([UNLOCK, id])


@point("command.bad_light", "Messages", "An unknown Light or Sound is a field that cannot be read.")
def command_bad_light(talk: Talk) -> Steps[None]:
    """The two lists that never grow."""
    greeting = yield from talk.greet()
    greeting.require(Capability.INDICATES, NO_INDICATES)
    talk.indicated = True
    for light, sound in ((len(Light), Sound.NONE), (-1, Sound.NONE), (Light.YELLOW, len(Sound))):
        command = msgspec.msgpack.encode([INDICATE, talk.next_id(), greeting.boot, light, "", sound])
        yield from talk.refused(command, Reason.BAD_ARGUMENT, f"Indicate with light {light} and sound {sound}")


@point("command.bad_text", "Messages", "Text that is not UTF-8 or has too many characters cannot be read.")
def command_bad_text(talk: Talk) -> Steps[None]:
    """Characters are counted, not bytes."""
    greeting = yield from talk.greet()
    greeting.require(Capability.INDICATES, NO_INDICATES)
    talk.indicated = True
    yield from talk.done(Indicate(talk.next_id(), greeting.boot, Light.YELLOW, "ä" * TEXT_MAX).encode())
    longer = msgspec.msgpack.encode([INDICATE, talk.next_id(), greeting.boot, Light.YELLOW, "x" * (TEXT_MAX + 1)])
    yield from talk.refused(longer, Reason.BAD_ARGUMENT, f"Indicate with {TEXT_MAX + 1} characters")
    for text in INVALID_UTF8:
        head = msgspec.msgpack.encode([INDICATE, talk.next_id(), greeting.boot, Light.YELLOW, ""])[:-1]
        invalid = head + bytes([0xA0 + len(text)]) + text
        yield from talk.refused(invalid, Reason.BAD_ARGUMENT, f"Indicate with text that is not UTF-8 ({text.hex(' ')})")


# --- remembered refusals ----------------------------------------------------------------------------------------------


@point("command.not_remembered", "Commands", "A command refused as unreadable is not remembered.")
def command_not_remembered(talk: Talk) -> Steps[None]:
    """Afterwards a valid command with the same id is accepted. Other points check the refusal itself."""
    greeting = yield from talk.greet_for_commands()
    for name in ("UNKNOWN_COMMAND", "BAD_ARGUMENT"):
        id = talk.next_id()
        unknown = msgspec.msgpack.encode([UNKNOWN_COMMAND_NUMBER, id, greeting.boot])
        talk.say(unknown if name == "UNKNOWN_COMMAND" else _unreadable(greeting, id))
        yield from talk.message((REFUSED,), id, SOON_S)
        answer = yield from talk.give(talk.harmless(greeting, id))
        if talk.effects_of(1) == 0:  # refused too, but as a command that could be read
            must_be_refused(answer, Reason.NOT_ABLE, f"a valid command whose id got {name} before")
        elif isinstance(read(answer), Refused):
            raise Failed(f"a valid command whose id got {name} before: expected Done, got {in_words(answer)}")


@point("command.refusal_remembered", "Commands", "The refusal of a readable command is remembered.")
def command_refusal_remembered(talk: Talk) -> Steps[None]:
    """The answer stays the same when the reason is gone, and the id cannot be used for another command."""
    greeting = yield from talk.greet()
    if greeting.can(Capability.LOCKS):
        as_found = yield from talk.lock_as_found()
        yield from talk.turn(greeting, Lock, as_found)
        # Unlocked it would be refused too, because there is no jam: no motor turns in any case.
        command: Command = ClearJam(talk.next_id(), greeting.boot)
        first = yield from _refusal(talk, command)
        yield from talk.turn(greeting, Unlock, as_found)
        yield from talk.give_again(command.encode(), first)
        yield from talk.turn(greeting, as_found, as_found)
    else:
        command = Lock(talk.next_id(), greeting.boot)
        yield from talk.give_again(command.encode(), (yield from _refusal(talk, command)))
    yield from _refusal(talk, Indicate(command.id, greeting.boot, Light.OFF))  # command.id_reused checks the reason


def _refusal(talk: Talk, command: Command) -> Steps[bytes]:
    answer = yield from talk.give(command.encode())
    if not isinstance(read(answer), Refused):
        raise Failed(f"{describe_message(command)}: expected Refused, got {in_words(answer)}")
    return answer


@point("command.not_able", "Commands", "A command the device lacks is refused with NOT_ABLE, before all other reasons.")
def command_not_able(talk: Talk) -> Steps[None]:
    """Commands for the other kind of device are given only while this one is locked."""
    greeting = yield from talk.greet()
    boot = greeting.boot
    if not greeting.can(Capability.INDICATES):
        yield from _not_able(talk, Indicate(talk.next_id(), boot, Light.OFF))
    if not greeting.can(Capability.LOCKS):
        yield from _not_able(talk, Lock(talk.next_id(), boot))
        return
    as_found = yield from talk.lock_as_found()
    yield from talk.turn(greeting, Lock, as_found)
    if greeting.role == DeviceRole.SHUFFLER:
        yield from _not_able(talk, Dispense(talk.next_id(), boot, 1))
    if greeting.role == DeviceRole.SHOE:
        yield from _not_able(talk, Shuffle(talk.next_id(), boot))
        yield from _not_able(talk, Deliver(talk.next_id(), boot))
    if not greeting.can(Capability.HOLDS_STACK):
        yield from _not_able(talk, Release(talk.next_id(), boot))
    if greeting.role != DeviceRole.SHOE or not greeting.can(Capability.RECOGNISES):
        yield from _not_able(talk, DispenseFaceUp(talk.next_id(), boot, 1))
    yield from talk.turn(greeting, as_found, as_found)


def _not_able(talk: Talk, command: Command) -> Steps[None]:
    yield from talk.refused(command.encode(), Reason.NOT_ABLE, describe_message(command))

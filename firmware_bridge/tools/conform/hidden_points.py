"""The points about hidden cards: a device says what a card is only if it is dealt face up, or when it is asked and the
card was taken."""

from __future__ import annotations

from firmware_bridge.tools.conform.cards_points import WITH_HANDS_S, clear_exit, ended, greet_idle, start
from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.person import HandTask
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import (
    CARD_KINDS,
    NO_ANSWER,
    Failed,
    Greeting,
    Skipped,
    fields_of,
    in_words,
    kind_of,
    number_of,
    read,
)
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import (
    ALL_MESSAGES,
    AskCards,
    Capability,
    CardKinds,
    CardsShown,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    Message,
    NoAnswer,
    Outcome,
    Place,
    Reason,
    StackTaken,
    describe_message,
    message_number,
)

FACE_UP = 2  # cards that are dealt face up
UNRECOGNISED = -1
ELEMENTS = {message_number(kind): 1 + len(kind.__struct_fields__) for kind in ALL_MESSAGES}


def recognising_shoe(greeting: Greeting) -> bool:
    """Whether the device can be asked for cards."""
    return greeting.role == DeviceRole.SHOE and greeting.can(Capability.RECOGNISES)


def cards_of(talk: Talk, command: int) -> Steps[Message]:
    """The answer to the question which cards a command put out."""
    question = AskCards(talk.next_ref(), command)
    talk.say(question.encode())
    answer = yield from talk.message((NO_ANSWER, CARD_KINDS), question.ref)
    if answer is None:
        raise Failed(f"{describe_message(question)} was not answered, but {talk.received()}")
    return read(answer)


def _no_answer(answer: Message, reason: Reason, why: str) -> None:
    if not isinstance(answer, NoAnswer) or answer.reason is not reason:
        raise Failed(f"AskCards {why}: expected NoAnswer {reason.name}, got {describe_message(answer)}")


@point("question.cards", "Questions", "AskCards about a command that was never given gets NoAnswer.")
def question_cards(talk: Talk) -> Steps[None]:
    """FORGOTTEN from a shoe that recognises cards, NOT_ABLE from every other device."""
    greeting = yield from talk.greet()
    answer = yield from cards_of(talk, talk.next_id())
    if recognising_shoe(greeting):
        _no_answer(answer, Reason.FORGOTTEN, "about a command that was never given")
    else:
        _no_answer(answer, Reason.NOT_ABLE, "to a device that is not a shoe with RECOGNISES")


@point("cards.hidden", "Questions", "AskCards gets NOT_TAKEN until people have taken the cards, then CardKinds.",
       limit_s=WITH_HANDS_S, with_cards=True)  # fmt: skip
def cards_hidden(talk: Talk) -> Steps[None]:
    """A stack of one card. Whether it is named afterwards can only be checked if somebody takes it."""
    greeting = yield from greet_idle(talk)
    if not recognising_shoe(greeting):
        raise Skipped("the device is not a shoe with RECOGNISES")
    if talk.interactive:
        yield from clear_exit(talk)
    stack = yield from _stack(talk, greeting)
    answer = yield from cards_of(talk, stack)
    if not (yield from _taken(talk, stack, 0)):
        _no_answer(answer, Reason.NOT_TAKEN, "about cards that nobody has taken")
        if talk.interactive:
            yield from talk.by_hand(HandTask.TAKE)
    if not (yield from _taken(talk, stack, QUIET_S)):
        if talk.interactive:
            raise Failed("the cards were taken from the exit, but no StackTaken came")
        talk.note = "nobody took the cards, so CardKinds was not checked"
        return
    answer = yield from cards_of(talk, stack)
    if not isinstance(answer, CardKinds) or answer.command != stack or len(answer.kinds) != 1:
        raise Failed(f"AskCards about one card that was taken: got {describe_message(answer)}")
    talk.note = "with cards that were taken"


def _stack(talk: Talk, greeting: Greeting) -> Steps[int]:
    """The command of a stack that is at the exit or held: a new one if there is room, else one of an earlier point."""
    status = yield from talk.status()
    exit_free, held_free = status.exit_cards <= 0, greeting.can(Capability.HOLDS_STACK) and status.held_cards <= 0
    if status.inside_cards == 0 or not (exit_free or held_free):
        if not talk.stacks or (exit_free and status.held_cards <= 0):
            raise Skipped("the shoe is empty, or its exit is not")
        return talk.stacks[-1]
    command = Dispense(talk.next_id(), greeting.boot, 1, hold=not exit_free)
    yield from start(talk, command)
    answer = yield from cards_of(talk, command.id)
    _no_answer(answer, Reason.NOT_TAKEN, "while the cards move")
    yield from ended(talk, command)
    return command.id


@point("cards.face_up", "Commands", "DispenseFaceUp reports the kinds of its cards, once, by CardsShown.",
       limit_s=WITH_HANDS_S, with_cards=True)  # fmt: skip
def cards_face_up(talk: Talk) -> Steps[None]:
    """Before StackPresented. Whether they are the right kinds can only be checked if somebody takes the cards."""
    greeting = yield from greet_idle(talk)
    if not recognising_shoe(greeting):
        raise Skipped("the device is not a shoe with RECOGNISES")
    if talk.interactive:
        yield from clear_exit(talk)
    status = yield from talk.status()
    if status.exit_cards > 0 or 0 <= status.inside_cards < FACE_UP:
        raise Skipped("the shoe has too few cards, or its exit is not empty")
    command = DispenseFaceUp(talk.next_id(), greeting.boot, FACE_UP)
    yield from start(talk, command)
    done = yield from ended(talk, command)
    if done.outcome is not Outcome.COMPLETE:
        raise Skipped(f"{describe_message(command)} ended with {done.outcome.name}")
    shown = _shown(talk, command)
    if talk.interactive and not (yield from _taken(talk, command.id, 0)):
        yield from talk.by_hand(HandTask.TAKE)
    if not (yield from _taken(talk, command.id, QUIET_S)):
        talk.note = "nobody took the cards, so their kinds were not compared"
        return
    answer = yield from cards_of(talk, command.id)
    same = isinstance(answer, CardKinds) and sorted(answer.kinds) == sorted(shown.kinds)
    if not same and UNRECOGNISED not in shown.kinds:
        raise Failed(f"{describe_message(shown)}, but AskCards got {describe_message(answer)}")
    talk.note = "with cards that were taken"


def _shown(talk: Talk, command: DispenseFaceUp) -> CardsShown:
    """What was shown of a stack that was dealt face up, if all its events are as the protocol has them."""
    events = [event for event in map(read, talk.events) if getattr(event, "command", 0) == command.id]
    names = [type(event).__name__ for event in events if not isinstance(event, StackTaken)]
    if names != ["CardsShown", "StackPresented", "CycleDone"]:
        raise Failed(f"{describe_message(command)}: expected CardsShown, StackPresented, CycleDone; got {names}")
    shown = events[0]
    assert isinstance(shown, CardsShown)
    if shown.place is not Place.EXIT or len(shown.kinds) != command.cards:
        raise Failed(f"{describe_message(shown)}: expected {command.cards} kinds, at EXIT")
    return shown


def _taken(talk: Talk, command: int, within: float) -> Steps[Message | None]:
    def fits(event: Message) -> bool:
        return isinstance(event, StackTaken) and event.command == command

    return (yield from talk.event(fits, within))


@point("event.elements", "Events", "No event has more elements than version 1 defines, such as the kinds of cards.")
def event_elements(talk: Talk) -> Steps[None]:
    """All events of the run so far."""
    yield from talk.greet()
    yield from talk.settle()
    for event in sorted(talk.all_events, key=number_of):
        extra = fields_of(event)[ELEMENTS.get(kind_of(event), len(event)) :]
        if extra:
            raise Failed(f"{in_words(event)} has elements that version 1 does not define: {extra}"[:200])

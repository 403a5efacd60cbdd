"""The points about questions and events. None of them moves a card."""

from __future__ import annotations

import msgspec

from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import (
    DONE,
    DOOR,
    NO_ANSWER,
    NO_EVENTS,
    POWER_UP,
    Failed,
    Greeting,
    fields_of,
    in_words,
    kind_of,
    number_of,
    read,
    time_of,
)
from firmware_bridge.tools.conform.talk import LEADS_TO, OPPOSITE, Talk
from firmware_bridge.wire.messages import (
    MAX_ID,
    Capability,
    Identify,
    Identity,
    NoAnswer,
    Reason,
    describe_message,
)

UNKNOWN_QUESTION_NUMBER = 63  # the last of their range
DOORS_KEPT = 32 - 7  # Door events are dropped while there is room for fewer than 8 more


# --- questions ------------------------------------------------------------------------------------------------------


@point("question.identity", "Questions", "Identify is answered by the same identity as in Welcome.")
def question_identity(talk: Talk) -> Steps[None]:
    """Field by field."""
    greeting = yield from talk.greet()
    identity = yield from talk.ask(Identify(talk.next_ref()), Identity)
    identified, welcomed = fields_of(identity.encode())[2:9], greeting.fields[3:10]
    names = ("role", "maker", "model", "serial", "firmware", "firmware_digest", "capabilities")
    for name, in_identity, in_welcome in zip(names, identified, welcomed, strict=False):
        if in_identity != in_welcome:
            raise Failed(f"{name} is {in_identity!r} in Identity, {in_welcome!r} in Welcome")


@point("question.status", "Questions", "AskStatus is answered by Status, with the highest id and the uptime.")
def question_status(talk: Talk) -> Steps[None]:
    """last_command is the highest id given, and the uptime only increases."""
    greeting = yield from talk.greet()
    highest = greeting.last_command
    if greeting.can(Capability.INDICATES):
        highest = talk.next_id()
        yield from talk.done(talk.harmless(greeting, highest))
    first = yield from talk.status()
    second = yield from talk.status()
    if second.last_command != highest:
        raise Failed(f"expected last_command {highest}, got {second.last_command}")
    if second.uptime_ms < first.uptime_ms:
        raise Failed(f"the uptime went back from {first.uptime_ms} to {second.uptime_ms} ms")


@point("question.counters", "Questions", "AskCounters is answered by Counters, whose totals only increase.")
def question_counters(talk: Talk) -> Steps[None]:
    """The question itself is one more frame."""
    yield from talk.greet()
    first = yield from talk.counters()
    second = yield from talk.counters()
    for name in first.__struct_fields__:
        was, is_now = getattr(first, name), getattr(second, name)
        if is_now < was:
            raise Failed(f"{name} went back from {was} to {is_now}")
    if second.frames_in == first.frames_in:
        raise Failed(f"frames_in stayed {first.frames_in} although frames were sent")


@point("question.unknown", "Questions", "A question with an unknown number gets NoAnswer, not silence.")
def question_unknown(talk: Talk) -> Steps[None]:
    """A number that no version uses yet."""
    yield from talk.greet()
    ref = talk.next_ref()
    talk.say(msgspec.msgpack.encode([UNKNOWN_QUESTION_NUMBER, ref]))
    answer = yield from talk.message((NO_ANSWER,), ref)
    refusal = read(answer) if answer else None
    if not isinstance(refusal, NoAnswer) or refusal.reason is not Reason.UNKNOWN_COMMAND:
        got = describe_message(refusal) + " was received" if refusal else talk.received()
        raise Failed(f"question number {UNKNOWN_QUESTION_NUMBER}: expected NoAnswer UNKNOWN_COMMAND, but {got}")


# --- events ---------------------------------------------------------------------------------------------------------


@point("event.power_up", "Events", "The first event of a boot is PowerUp.")
def event_power_up(talk: Talk) -> Steps[None]:
    """Only on a device that has just started, because other points store its events."""
    greeting = yield from talk.greet()
    if greeting.first_event != 1:
        talk.note = "event 1 is already stored; restart the device to check it"
        return
    event = yield from talk.event_number(1)
    if event and kind_of(event) != POWER_UP:  # event.order checks that it arrives
        raise Failed(f"event 1: expected PowerUp, got {in_words(event)}")


@point("event.replay", "Events", "Events that were not stored are sent again after a new greeting.")
def event_replay(talk: Talk) -> Steps[None]:
    """The same bytes again, although the link had acknowledged them."""
    greeting = yield from talk.greet()
    numbers = yield from talk.some_events(greeting)
    yield from talk.rest(QUIET_S)
    sent = {number_of(event): event for event in talk.events}
    talk.leave()
    yield from talk.greet(greeting.boot, numbers[0] - 1)
    for number in numbers:
        if not (yield from talk.event_number(number)):
            raise Failed(f"event {number} was not stored, and was not sent again after a new greeting")
    replayed = {number_of(event): event for event in talk.events}
    changed = [number for number in numbers if replayed[number] != sent[number]]
    if changed:
        number = changed[0]
        raise Failed(f"event {number} was {in_words(sent[number])} first, and {in_words(replayed[number])} later")


@point("event.stored", "Events", "Events that were stored are not sent again.")
def event_stored(talk: Talk) -> Steps[None]:
    """Both ways of reporting it: EventsStored, and Hello."""
    greeting = yield from talk.greet()
    numbers = yield from talk.some_events(greeting)
    yield from talk.store(numbers[0])
    talk.leave()
    yield from _not_again(talk, (yield from talk.greet()), numbers[0], "EventsStored")
    talk.leave()
    again = yield from talk.greet(greeting.boot, numbers[-1])
    yield from _not_again(talk, again, numbers[-1], "Hello")


def _not_again(talk: Talk, greeting: Greeting, stored: int, by: str) -> Steps[None]:
    if greeting.first_event <= stored:
        raise Failed(f"event {stored} was stored by {by}, but first_event in Welcome is {greeting.first_event}")
    yield from talk.rest(QUIET_S)
    again = [number_of(event) for event in talk.events if number_of(event) <= stored]
    if again:
        raise Failed(f"event {again[0]} was sent again, although events to {stored} were stored by {by}")


@point("event.stored_beyond", "Events", "EventsStored with a number beyond the newest event covers all events.")
def event_stored_beyond(talk: Talk) -> Steps[None]:
    """All events so far; later ones are kept as usual."""
    greeting = yield from talk.greet()
    numbers = yield from talk.some_events(greeting, need=2)
    yield from talk.store(numbers[0])
    talk.leave()
    if (yield from talk.greet()).first_event <= numbers[0]:
        return  # event.stored fails
    yield from talk.store(MAX_ID)
    talk.leave()
    first = (yield from talk.greet()).first_event
    if first <= numbers[-1]:
        raise Failed(f"EventsStored {MAX_ID} was sent after event {numbers[-1]}, but first_event in Welcome is {first}")


@point("event.order", "Events", "Events start at first_event, without gaps, and time does not go back.")
def event_order(talk: Talk) -> Steps[None]:
    """Old and new events together; event.once checks for repeated ones."""
    greeting = yield from talk.greet()
    yield from talk.some_events(greeting, need=2)
    yield from talk.rest(QUIET_S)
    expected, newest_ms = greeting.first_event, 0
    for event in talk.events:
        number, at_ms = number_of(event), time_of(event)
        if number < expected:
            continue
        if number > expected:
            raise Failed(f"expected event {expected}, got event {number}")
        if at_ms < newest_ms:
            raise Failed(f"event {number} happened at {at_ms} ms, an earlier one at {newest_ms} ms")
        expected, newest_ms = number + 1, at_ms


@point("event.once", "Events", "Each event is sent once in a link session.")
def event_once(talk: Talk) -> Steps[None]:
    """Packets that the link resends do not count."""
    greeting = yield from talk.greet()
    yield from talk.some_events(greeting)
    yield from talk.answered("after events")
    yield from talk.rest(QUIET_S)
    numbers = [number_of(event) for event in talk.events]
    twice = [number for number in numbers if numbers.count(number) > 1]
    if twice:
        raise Failed(f"event {twice[0]} was sent {numbers.count(twice[0])} times in one link session")


@point("event.hello_again", "Greeting", "A second Hello is answered by Welcome, and no event is sent again.")
def event_hello_again(talk: Talk) -> Steps[None]:
    """In the same link session, with events that are not stored."""
    greeting = yield from talk.greet()
    yield from talk.some_events(greeting)
    before = {number_of(event) for event in talk.events}
    seen = len(talk.events)
    yield from talk.hello()
    yield from talk.rest(QUIET_S)
    again = [number_of(event) for event in talk.events[seen:] if number_of(event) in before]
    if again:
        raise Failed(f"event {again[0]} was sent again after a second Hello in one link session")


@point("event.after_answer", "Commands", "The answer precedes the events that result from its command.")
def event_after_answer(talk: Talk) -> Steps[None]:
    """Lock and Unlock cause theirs at once."""
    greeting = yield from talk.greet()
    greeting.require(Capability.LOCKS, NO_EVENTS)
    yield from talk.make_room()
    as_found = yield from talk.lock_as_found()
    for kind in (OPPOSITE[as_found], as_found):
        yield from talk.turn(greeting, kind, as_found)
        for message in talk.messages:
            if kind_of(message) == DONE:
                break
            if kind_of(message) == DOOR and fields_of(message)[3:4] == [LEADS_TO[kind]]:
                raise Failed(f"{in_words(message)} came before the Done of its {kind.__name__}")


@point("event.room", "Commands", "There is room for at least 32 events.")
def event_room(talk: Talk) -> Steps[None]:
    """Door events are dropped only when there is room for fewer than 8, so at least 25 must be kept."""
    greeting = yield from talk.greet()
    greeting.require(Capability.LOCKS, NO_EVENTS)
    sent = yield from talk.fill(greeting)
    if sent is not None and len(sent) < DOORS_KEPT:
        raise Failed(f"expected {DOORS_KEPT} Door events, got {len(sent)} before they were dropped")
    talk.leave()
    yield from talk.greet()
    yield from talk.settle()
    kept = {number_of(event) for event in talk.events}
    if 0 < len(kept) < DOORS_KEPT:  # event.replay checks for none
        raise Failed(f"expected at least {DOORS_KEPT} events after a new greeting, got {len(kept)}")
    yield from talk.make_room()


@point("event.dropped", "Commands", "Door events that are dropped for lack of room get no number.")
def event_dropped(talk: Talk) -> Steps[None]:
    """The next event that is kept has the next number."""
    greeting = yield from talk.greet()
    greeting.require(Capability.LOCKS, NO_EVENTS)
    numbers = yield from talk.fill(greeting)
    if numbers is None or len(numbers) < 2:
        talk.note = "the device could not be filled with events"
        return
    newest, before = numbers[-1], numbers[-2]
    yield from talk.store(newest)
    (following, *_) = yield from talk.turn_lock(greeting)
    if newest == before + 1 and following != newest + 1:  # event.order checks other gaps
        raise Failed(f"events were dropped after event {newest}: expected event {newest + 1} next, got {following}")

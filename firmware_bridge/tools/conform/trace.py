"""What a device reported of one cycle, compared with the worked sequences of the protocol."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from firmware_bridge.tools.conform.reading import Failed, Greeting, Skipped, fields_of, in_words, read
from firmware_bridge.wire.messages import (
    Capability,
    CardFaceUp,
    CardsCounted,
    CardsShown,
    Command,
    Counters,
    CycleDone,
    Dispense,
    Door,
    Fault,
    Jam,
    Message,
    Mode,
    Outcome,
    Place,
    PowerUp,
    Release,
    StackPresented,
    StackTaken,
    Status,
    describe_message,
    message_number,
)
from firmware_bridge.wire.sequences import (
    ENDINGS,
    STATUS_FIELD,
    Course,
    SequenceStep,
    Work,
    cards_reported,
    reported,
)

UNSURE = -2  # a number of cards that is not checked
SLACK_MS = 1000  # between the question before a cycle and its start
COURSES = {
    Outcome.COMPLETE: Course.COMPLETE,
    Outcome.JAMMED: Course.JAM,
    Outcome.STOPPED: Course.DOOR,
    Outcome.FAILED: Course.FAULT,
}
# People may also take or put in cards at any time, or press a button.
OF_A_SEQUENCE = (CardsCounted, StackPresented, CycleDone, Jam, Fault, Door, PowerUp)
# Elements of these events, with the message number. One more would be a field that version 1 does not have.
ELEMENTS = {
    message_number(kind): len(kind.__struct_fields__) + 1
    for kind in (CardsCounted, CycleDone, StackPresented, StackTaken, CardFaceUp, CardsShown, Jam)
}


@dataclass(frozen=True, slots=True)
class CycleTrace:
    """One cycle: the command, the events since it was given, and what the device said before, meanwhile and after."""

    greeting: Greeting
    command: Command
    work: Work
    before: Status
    meanwhile: Status
    after: Status
    counted_before: Counters
    counted_after: Counters
    events: list[bytes]

    def check(self, expected: Course = Course.COMPLETE) -> None:
        """Fail the point if this is not one of the worked sequences; skip it if it is another than expected."""
        messages = [read(event) for event in self.events]
        for data in self.events:
            check_secrets(data, self.greeting, dealt=self.work.command in (Dispense, Release))
        events: list[Message] = [event for event in messages if isinstance(event, OF_A_SEQUENCE)]
        done = next((event for event in events if isinstance(event, CycleDone)), None)
        if done is None:
            raise Failed(f"{self._name}: no CycleDone was received")
        course = self._course(done, events)
        self._check_events(events, course)
        self._check_times(events, done)
        self._check_meanwhile(done)
        self._check_after(done, course)
        self._check_counters(events, done)
        if course is not expected:
            raise Skipped(f"{self._name} ended with {done.outcome.name}")
        if course is Course.COMPLETE:
            self._check_cards(messages, done)

    @property
    def _name(self) -> str:
        return describe_message(self.command)

    def _course(self, done: CycleDone, events: list[Message]) -> Course:
        course = COURSES.get(done.outcome)
        if done.outcome is Outcome.INCOMPLETE:
            counted = done.cards >= 0 or any(isinstance(event, CardsCounted | StackPresented) for event in events)
            course = Course.INCOMPLETE if counted else Course.GIVEN_UP
        if course is None or course not in ENDINGS[self.work.name]:
            raise Failed(f"{self._name} cannot end with {describe_message(done)}")
        return course

    # --- events ------------------------------------------------------------------------------------------------

    def _check_events(self, events: list[Message], course: Course) -> None:
        steps = reported(ENDINGS[self.work.name][course].steps, self.greeting.capabilities)
        repeated = {step.event for step in steps if step.repeats}
        once = [
            event
            for before, event in zip([None, *events], events, strict=False)
            if type(event) not in repeated or type(event) is not type(before)
        ]
        wanted, got = [step.event for step in steps], [type(event) for event in once]
        if wanted != got:
            raise Failed(f"{self._name}: expected {_names(wanted)}; got {_names(got)}")
        for step, event in zip(steps, once, strict=True):
            self._check_event(step, event, course)

    def _check_event(self, step: SequenceStep, event: Message, course: Course) -> None:
        wanted: dict[str, object] = {}
        if hasattr(event, "command"):
            wanted["command"] = self.command.id
        if step.place is not None:
            wanted["place"] = step.place
        if isinstance(event, CycleDone):
            wanted["cycle"] = self.work.cycle
        if isinstance(event, Door):
            wanted["state"] = step.door
        wanted |= self._amount(step, course)
        for name, value in wanted.items():
            if getattr(event, name) != value:
                shown = value.name if isinstance(value, enum.Enum) else value
                raise Failed(f"{self._name}: expected {name} {shown} in {describe_message(event)}")

    def _amount(self, step: SequenceStep, course: Course) -> dict[str, object]:
        if step.cards is None:
            return {}
        moved = UNSURE if course is Course.INCOMPLETE else self._to_move
        number = cards_reported(step.cards, moved, self.greeting.capabilities)
        return {} if number == UNSURE else {"cards": number}

    @property
    def _to_move(self) -> int:
        """How many cards the command should move; UNSURE where the device has no sensor."""
        if isinstance(self.command, Dispense):
            return self.command.cards
        there = [cards_at(self.before, place) for place in self.work.sources]
        return UNSURE if -1 in there else sum(there)

    # --- times -------------------------------------------------------------------------------------------------

    def _check_times(self, events: list[Message], done: CycleDone) -> None:
        first_ms, last_ms = self.before.uptime_ms, self.after.uptime_ms
        for event in events:
            at_ms: int = getattr(event, "at_ms", 0)
            if not first_ms <= at_ms <= last_ms:
                between = f"between {self.before.uptime_ms} and {last_ms} ms of its uptime"
                raise Failed(f"{describe_message(event)}: expected at_ms in order, and {between}")
            first_ms = at_ms
        took_ms = done.at_ms - self.before.uptime_ms
        if not took_ms - SLACK_MS <= done.duration_ms <= took_ms:
            raise Failed(f"{describe_message(done)}: the cycle took about {took_ms} ms")

    # --- Status and Counters -----------------------------------------------------------------------------------

    def _check_meanwhile(self, done: CycleDone) -> None:
        status = self.meanwhile
        if status.uptime_ms >= done.at_ms:
            return  # it had ended
        if (status.mode, status.doing, status.last_cycle) != (Mode.WORKING, self.command.id, self.before.last_cycle):
            wanted = f"mode WORKING, doing {self.command.id} and last_cycle {self.before.last_cycle}"
            raise Failed(f"{self._name} is running: expected {wanted}, got {describe_message(status)}")

    def _check_after(self, done: CycleDone, course: Course) -> None:
        status, id = self.after, self.command.id
        mode = ENDINGS[self.work.name][course].mode
        if mode is not None and status.mode is not mode:
            raise Failed(f"{self._name} has ended: expected mode {mode.name}, got {describe_message(status)}")
        wanted = {"doing": 0, "last_cycle": id, "last_outcome": done.outcome, "last_command": id}
        for name, value in wanted.items():
            if getattr(status, name) != value:
                shown = value.name if isinstance(value, Outcome) else value
                raise Failed(f"{self._name} has ended: expected {name} {shown}, got {describe_message(status)}")

    def _check_counters(self, events: list[Message], done: CycleDone) -> None:
        stacks = sum(isinstance(event, StackPresented) and event.place is Place.EXIT for event in events)
        wanted = {"effects": 1, "cycles": 1, "stacks": stacks}
        if isinstance(self.command, Dispense) and done.outcome is Outcome.COMPLETE:
            wanted["cards_moved"] = self.command.cards
        for name, growth in wanted.items():
            was, is_now = getattr(self.counted_before, name), getattr(self.counted_after, name)
            if is_now - was != growth:
                raise Failed(f"{self._name}: expected counter {name} {was + growth}, got {is_now}")

    def _check_cards(self, messages: list[Message], done: CycleDone) -> None:
        """The cards are where the sequence says: none at other places moved."""
        number = self._to_move
        if number == UNSURE:
            return
        wanted = {STATUS_FIELD[place]: cards_at(self.before, place) for place in STATUS_FIELD}
        for place in self.work.sources:
            rest = cards_at(self.before, place) - number if isinstance(self.command, Dispense) else 0
            wanted[STATUS_FIELD[place]] = rest
        if self.work.target is not None:
            wanted[STATUS_FIELD[self.work.target]] += number
        taken = any(isinstance(event, StackTaken) for event in messages)
        for field, cards in wanted.items():
            is_now = getattr(self.after, field)
            known = is_now >= 0 and getattr(self.before, field) >= 0
            if known and is_now != cards and not (field == STATUS_FIELD[Place.EXIT] and taken):
                raise Failed(f"{self._name} moved {number} cards: expected {field} {cards}, got {is_now}")


def _names(kinds: Iterable[type[Message]]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


def check_secrets(data: bytes, greeting: Greeting, *, dealt: bool) -> None:
    """Fail the point if an event says what a card is that nobody has seen yet. `dealt`: the cards are a hand."""
    event, fields = read(data), fields_of(data)
    if len(fields) > ELEMENTS.get(fields[0], len(fields)):
        raise Failed(f"{in_words(data)} has {len(fields)} elements, but version 1 has {ELEMENTS[fields[0]]}")
    if isinstance(event, CardFaceUp):
        raise Failed(f"{in_words(data)}: face-down cards must not be reported")
    if isinstance(event, CardsShown):
        raise Failed(f"{in_words(data)}: only the cards of a DispenseFaceUp may be reported")
    kinds: list[int] = getattr(event, "kinds", [])
    if kinds and not greeting.can(Capability.RECOGNISES):
        raise Failed(f"{in_words(data)} has kinds, but the device has no RECOGNISES")
    if isinstance(event, CardsCounted) and kinds and sum(kinds) != event.cards:
        raise Failed(f"{in_words(data)}: kinds must be the count of each kind, which add up to cards")
    if isinstance(event, StackTaken) and kinds and not dealt:
        raise Failed(f"{in_words(data)} names cards that were not dealt")


def cards_at(status: Status, place: Place) -> int:
    """How many cards a Status counts at this place; -1 if it has no sensor there."""
    return int(getattr(status, STATUS_FIELD[place]))

"""Packs of any cards in the simulated devices, and cards that are dealt face up."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest

from controller.games.standard_cards import KINDS
from firmware_bridge.wire.messages import (
    LARGEST_PACK,
    MOST_KINDS,
    Capability,
    CardFaceUp,
    CardsCounted,
    CardsShown,
    Cycle,
    CycleDone,
    Deliver,
    Dispense,
    DispenseFaceUp,
    EventMessage,
    Outcome,
    Place,
    Reason,
    Release,
    Shuffle,
    StackPresented,
    StackTaken,
)
from simulators.devices.cards import DECK, DECK_SIZE, DRAGON_POKER, CardPlace, Cards, Kind, Pack, Spot, pack_of
from simulators.devices.device import SHOE_CAPABILITIES, SHUFFLER_CAPABILITIES, SimulatedTable
from simulators.devices.faults import FaultName
from simulators.devices.firmware import LONGEST_MS
from tests.simulators.test_devices import cards_of, carry_out, counts, kinds_at, refusal, reported
from tests.support.virtual_link import HostAtDevice, host_at_shoe

TEN_DECKS = pack_of(dict.fromkeys(KINDS, 10))
ONE_DECK = pack_of(dict.fromkeys(KINDS, 1))
MANY_KINDS = pack_of({f"kind {number}": 3 + number % 2 for number in range(36)})
RECOGNISING_SHOE = SHOE_CAPABILITIES | {Capability.RECOGNISES}
RECOGNISING_SHUFFLER = SHUFFLER_CAPABILITIES | {Capability.RECOGNISES}
RED, SHOE, EXIT, HAND = (Spot(place) for place in (CardPlace.TABLE, CardPlace.SHOE, CardPlace.EXIT, CardPlace.HAND))
FLOOR, OUTPUT = Spot(CardPlace.FLOOR), Spot(CardPlace.OUTPUT)


def a_shoe(pack: Pack = DRAGON_POKER, **table: Any) -> HostAtDevice:
    """A host at a recognising shoe with a pack in it."""
    rig = host_at_shoe(pack=pack, shoe_capabilities=RECOGNISING_SHOE, **table).connect()
    rig.device.load(RED, rig.line.now)
    return rig


def of_command(rig: HostAtDevice, command: int) -> list[EventMessage]:
    return [event for _, event in rig.events if getattr(event, "command", 0) == command]


# --- packs ------------------------------------------------------------------------------------------------------------


def test_a_table_without_another_pack_has_those_of_dragon_poker() -> None:
    table = SimulatedTable()
    assert table.pack is table.cards.pack is DRAGON_POKER
    assert DRAGON_POKER.size == DECK_SIZE == 53
    assert DRAGON_POKER.kinds == tuple(Kind)
    assert DRAGON_POKER.copies == tuple(DECK.values())
    assert [card.kind for card in table.cards.pile(FLOOR)] == [Kind.RABBIT, Kind.RABBIT]
    assert table.shuffler.plate.longest_ms == table.shoe.plate.longest_ms == LONGEST_MS


@pytest.mark.parametrize(
    ("pack", "size", "kinds"), [(TEN_DECKS, 520, 52), (ONE_DECK, 52, 52), (MANY_KINDS, 126, 36)], ids=str
)
def test_cards_are_laid_out_as_their_pack_says(pack: Pack, size: int, kinds: int) -> None:
    assert (pack.size, len(pack.kinds)) == (size, kinds)
    cards = Cards(["red", "blue"], spares=[("red", pack.kinds[0])], pack=pack)
    assert cards.total == 2 * size + 1
    assert cards.kinds(RED) == list(pack.copies)
    assert [cards.is_spare(card) for card in (*cards.pile(RED), *cards.pile(FLOOR))] == [False] * size + [True]
    cards.check()


def test_a_card_is_named_as_in_its_game() -> None:
    cards = Cards(["red"], pack=ONE_DECK)
    first, *_, last = cards.snapshot()["TABLE 0"]
    assert (first, last) == (("red", 0, "ACE_OF_SPADES", False), ("red", 51, "KING_OF_CLUBS", False))


@pytest.mark.parametrize(
    ("kinds", "copies", "problem"),
    [
        (tuple(Kind), (1,) * 7, "each with its copies"),
        ((), (), "1 to 64 kinds"),
        (tuple(Kind)[1:], (1,) * 7, "numbered from 0"),
        (tuple(Kind), (1,) * 7 + (0,), "a copy of each kind"),
        (tuple(Kind), (66,) * 8, "at most 520 cards, not 528"),
    ],
)
def test_a_pack_that_cannot_be_is_refused(kinds: tuple[IntEnum, ...], copies: tuple[int, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Pack(kinds, copies)


def test_the_most_kinds_a_message_can_carry_make_a_pack_and_one_more_does_not() -> None:
    assert len(pack_of({f"kind {number}": 1 for number in range(MOST_KINDS)}).kinds) == MOST_KINDS
    with pytest.raises(ValueError, match="not 65"):
        pack_of({f"kind {number}": 1 for number in range(MOST_KINDS + 1)})


# --- devices with ten decks -------------------------------------------------------------------------------------------


def test_ten_decks_are_shuffled_delivered_and_dealt_within_the_times_that_the_devices_state() -> None:
    table = SimulatedTable(
        pack=TEN_DECKS, shuffler_capabilities=RECOGNISING_SHUFFLER, shoe_capabilities=RECOGNISING_SHOE
    )
    shuffler, shoe = HostAtDevice(table, table.shuffler).connect(), HostAtDevice(table, table.shoe).connect()
    stated_ms = table.shuffler.plate.longest_ms
    assert stated_ms[Cycle.SHUFFLE - 1] <= 900_000, "the host accepts no more"
    assert stated_ms[Cycle.DISPENSE - 1] <= 120_000
    table.shuffler.load(RED, shuffler.line.now)
    shuffled = carry_out(shuffler, Shuffle(1, shuffler.session.boot), for_s=stated_ms[Cycle.SHUFFLE - 1] / 1000)
    assert (shuffled.outcome, shuffled.cards) == (Outcome.COMPLETE, 520)
    (counted,) = reported(shuffler, CardsCounted)
    assert (counted.cards, counted.kinds) == (520, [10] * 52)
    assert [card.index for card in table.cards.pile(OUTPUT)] != list(range(520))
    assert carry_out(shuffler, Deliver(2, shuffler.session.boot)).cards == 520
    shoe.line.rest(shuffler.line.now - shoe.line.now + 1)
    boot = shoe.session.boot
    dealt = carry_out(shoe, Dispense(1, boot, 520), for_s=stated_ms[Cycle.DISPENSE - 1] / 1000)
    assert (dealt.outcome, dealt.cards) == (Outcome.COMPLETE, 520)
    assert counts(shoe, SHOE, EXIT) == [0, 520]
    assert cards_of(shoe, 1) is Reason.NOT_TAKEN
    table.shoe.take(HAND, shoe.line.now)
    assert cards_of(shoe, 1) is Reason.FORGOTTEN, "no message has room for so many"


def test_a_stack_of_64_cards_is_remembered_and_one_of_65_is_not() -> None:
    rig = a_shoe(TEN_DECKS)
    for id, cards in ((1, MOST_KINDS), (2, MOST_KINDS + 1)):
        carry_out(rig, Dispense(id, rig.session.boot, cards))
        rig.device.take(HAND, rig.line.now)
    kinds = cards_of(rig, 1)
    assert isinstance(kinds, list)
    assert len(kinds) == MOST_KINDS
    assert cards_of(rig, 2) is Reason.FORGOTTEN


def test_a_shoe_with_one_deck_has_too_few_cards_for_a_stack_of_the_largest_pack() -> None:
    rig = a_shoe()
    boot = rig.session.boot
    assert refusal(rig, Dispense(1, boot, 54)) is Reason.NO_CARDS
    assert refusal(rig, Dispense(2, boot, LARGEST_PACK)) is Reason.NO_CARDS
    assert refusal(rig, Dispense(3, boot, LARGEST_PACK + 1)) is Reason.BAD_ARGUMENT


def test_a_spare_card_gets_into_a_pack_of_several_decks() -> None:
    rig = a_shoe(TEN_DECKS)
    rig.device.inject(FaultName.EXTRA_CARD, rig.line.now)
    assert carry_out(rig, Dispense(1, rig.session.boot, 3)).cards == 3
    (spare,) = [card for card in rig.table.cards.pile(EXIT) if rig.table.cards.is_spare(card)]
    assert spare.index == 520


# --- cards that are dealt face up -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cards", [1, 5, MOST_KINDS])
def test_a_stack_that_is_dealt_face_up_is_reported_in_the_order_of_its_cards(cards: int) -> None:
    rig = a_shoe(TEN_DECKS)
    rig.table.cards.reorder(
        SHOE, rig.table.cards.pile(SHOE)[::7] + [card for at, card in enumerate(rig.table.cards.pile(SHOE)) if at % 7]
    )
    expected = kinds_at(rig, SHOE)[:cards]
    done = carry_out(rig, DispenseFaceUp(1, rig.session.boot, cards))
    assert (done.cycle, done.outcome, done.cards) == (Cycle.DISPENSE, Outcome.COMPLETE, cards)
    shown, presented, _ = of_command(rig, 1)
    assert isinstance(shown, CardsShown)
    assert (shown.place, shown.kinds) == (Place.EXIT, expected)
    assert isinstance(presented, StackPresented)
    assert presented.cards == cards
    rig.device.take(HAND, rig.line.now)
    told = cards_of(rig, 1)
    assert isinstance(told, list)
    assert sorted(told) == sorted(expected)


def test_in_one_go_a_stack_is_reported_as_it_is_card_by_card() -> None:
    events = []
    for clock in (None, lambda: 0.0):
        table = SimulatedTable(pack=ONE_DECK, shoe_capabilities=RECOGNISING_SHOE, clock=clock)
        rig = HostAtDevice(table, table.shoe).connect()
        rig.device.load(RED, rig.line.now)
        carry_out(rig, DispenseFaceUp(1, rig.session.boot, 4))
        events.append(of_command(rig, 1))
    assert events[0] == events[1]
    assert isinstance(events[0][0], CardsShown)


def test_no_other_command_has_its_cards_shown() -> None:
    rig = a_shoe()
    boot = rig.session.boot
    carry_out(rig, Dispense(1, boot, 3, True))
    carry_out(rig, Dispense(2, boot, 3))
    rig.device.take(HAND, rig.line.now)
    carry_out(rig, Release(3, boot))
    rig.device.take(HAND, rig.line.now)
    rig.line.rest(0.1)
    assert len(reported(rig, StackTaken)) == 2
    assert reported(rig, CardsShown) == []


@pytest.mark.parametrize("fault", [FaultName.JAM, FaultName.INCOMPLETE_CYCLE])
def test_cards_of_a_stack_that_never_was_are_not_shown(fault: FaultName) -> None:
    rig = a_shoe()
    rig.device.inject(fault, rig.line.now, after_cards=2)
    assert carry_out(rig, DispenseFaceUp(1, rig.session.boot, 4)).outcome is not Outcome.COMPLETE
    assert counts(rig, EXIT) == [2]
    assert reported(rig, CardsShown) == []


@pytest.mark.parametrize(
    ("fault", "cards"), [(FaultName.DOUBLE_FEED, MOST_KINDS), (FaultName.DOUBLE_FEED, 3), (FaultName.SHORT_FEED, 3)]
)
def test_a_stack_of_another_number_is_shown_as_it_is(fault: FaultName, cards: int) -> None:
    rig = a_shoe(TEN_DECKS)
    rig.device.inject(fault, rig.line.now)
    assert carry_out(rig, DispenseFaceUp(1, rig.session.boot, cards)).outcome is Outcome.INCOMPLETE
    (shown,) = reported(rig, CardsShown)
    came = cards + 1 if fault is FaultName.DOUBLE_FEED else cards - 1
    assert counts(rig, EXIT) == [came]
    assert len(shown.kinds) == min(came, MOST_KINDS)


def test_a_card_that_lay_face_up_in_the_deck_is_still_an_irregularity() -> None:
    rig = a_shoe()
    rig.device.inject(FaultName.FACE_UP, rig.line.now)
    carry_out(rig, DispenseFaceUp(1, rig.session.boot, 3))
    assert [type(event) for event in of_command(rig, 1)] == [CardFaceUp, CardsShown, StackPresented, CycleDone]
    rig.device.take(HAND, rig.line.now)
    carry_out(rig, DispenseFaceUp(2, rig.session.boot, 3))
    assert reported(rig, CardFaceUp, 2) == [], "cards that were dealt face up lay face down in the deck"


def test_hindrances_of_a_stack_face_up_come_in_their_order() -> None:
    rig = a_shoe()
    boot = rig.session.boot
    assert refusal(rig, DispenseFaceUp(1, boot, 0)) is Reason.BAD_ARGUMENT
    assert refusal(rig, DispenseFaceUp(2, boot, MOST_KINDS + 1)) is Reason.BAD_ARGUMENT
    assert refusal(rig, DispenseFaceUp(3, boot, MOST_KINDS)) is Reason.NO_CARDS
    carry_out(rig, DispenseFaceUp(4, boot, 1))
    assert refusal(rig, DispenseFaceUp(5, boot, 1)) is Reason.EXIT_OCCUPIED


def test_only_a_shoe_that_recognises_cards_deals_face_up() -> None:
    table = SimulatedTable(shuffler_capabilities=RECOGNISING_SHUFFLER)
    for device in (table.shoe, table.shuffler):
        rig = HostAtDevice(table, device).connect()
        assert refusal(rig, DispenseFaceUp(1, rig.session.boot, 1)) is Reason.NOT_ABLE

"""What people tell the table, typed. Every action says who did it and in which role."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

import msgspec

from controller.core.setup import Setup
from controller.games.game import Method


class Role(StrEnum):
    """What a person is at this table."""

    DEALER = "dealer"
    FLOOR = "floor"
    TECHNICIAN = "technician"
    AUDITOR = "auditor"


_DEALING = (Role.DEALER, Role.FLOOR)
_FLOOR = (Role.FLOOR,)
_SERVICE = (Role.DEALER, Role.FLOOR, Role.TECHNICIAN)


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Action(msgspec.Struct, kw_only=True, tag_field="action", tag=_snake):
    """Base of the actions. `kind` is the event it leads to, which the machines must allow; empty: it says itself."""

    roles: ClassVar[tuple[Role, ...]] = _DEALING
    kind: ClassVar[str] = ""

    who: str
    role: Role


# --- opening and closing --------------------------------------------------------------------------------------------


class Configure(Action):
    """Set the table up. Only a closed table can be."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    kind = "table.configured"
    setup: Setup


class OpenTable(Action):
    """The table opens for gaming."""

    kind = "table.opened"


class CloseTable(Action):
    """The table closes; its decks leave."""

    roles = _FLOOR
    kind = "table.closed"


class IdleTable(Action):
    """No player is here."""

    kind = "table.idled"


class PlayerArrived(Action):
    """The first player after an idle time has come, and could look at the cards."""

    kind = "player.arrived"


class OnDeck(Action):
    """Base of the actions with one deck."""

    deck: str


class ReceiveDeck(OnDeck):
    """A deck came to the table; `prepared` if it was inspected and shuffled beforehand."""

    kind = "deck.received"
    back: str
    prepared: bool = False


class InspectDeck(OnDeck):
    """The dealer has inspected the deck, and found it good or not."""

    roles = (Role.DEALER,)
    kind = "deck.inspected"
    good: bool = True


class VerifyDeck(OnDeck):
    """A floorperson has verified the inspection."""

    roles = _FLOOR
    kind = "deck.verified"


class SpreadDeck(OnDeck):
    """The cards lie spread."""

    kind = "deck.spread"


class WashDeck(OnDeck):
    """The cards were turned face down and washed."""

    kind = "deck.washed"


class StackDeck(OnDeck):
    """The cards were stacked."""

    kind = "deck.stacked"


class RemoveDeck(OnDeck):
    """The deck leaves the table, for good."""

    roles = _FLOOR
    kind = "deck.removed"


class RejectDeck(OnDeck):
    """A card is damaged or marked: the deck is not to be played."""

    kind = "deck.locked_out"
    reason: str = "a card is damaged"


# --- shuffling, cutting, loading ------------------------------------------------------------------------------------


class InsertDeck(OnDeck):
    """The deck lies in the shuffler's infeed."""

    kind = "deck.inserted"


class ShuffleByHand(OnDeck):
    """The dealer has shuffled the deck."""

    kind = "deck.shuffled_by_hand"


class DirectReshuffle(OnDeck):
    """A floorperson wants the deck shuffled again."""

    roles = _FLOOR
    kind = "reshuffle.directed"


class CutDeck(OnDeck):
    """The cover card went in so many cards from the top."""

    kind = "cut.made"
    depth: int


class RequireRecut(OnDeck):
    """A floorperson wants another cut."""

    roles = _FLOOR
    kind = "cut.recut_required"


class LoadDeck(OnDeck):
    """The dealer has put the deck into the shoe, or taken it into the hand."""

    kind = "deck.loaded"


class UnloadDeck(OnDeck):
    """The deck is to come out of the shoe, the hand or the shuffler again."""

    kind = "deck.recalled"


# --- the round ------------------------------------------------------------------------------------------------------


class Wager(Action):
    """These seats have wagered."""

    kind = "seats.wagered"
    seats: tuple[int, ...]


class CloseBets(Action):
    """No more bets: the deal begins."""

    kind = "bets.closed"
    seats: tuple[int, ...] | None = None  # None: as reported before


class DealCards(Action):
    """Manual shoe or hand: cards were laid before a hand."""

    kind = "stack.taken"
    target: str
    cards: int = 1


class FinishDeal(Action):
    """Manual shoe or hand: all that was still to be dealt has been, in its order."""

    kind = "stack.taken"


class RequestCard(Action):
    """A hand draws another card, in a game that has this."""

    kind = "card.requested"
    target: str


class PlayersActed(Action):
    """Every player has decided."""

    kind = "players.acted"


class RevealDealer(Action):
    """The dealer's cards are shown."""

    kind = "dealer.revealed"


class CollectHand(Action):
    """A hand went to the rack."""

    kind = "hand.collected"
    target: str


class CollectAll(Action):
    """All remaining hands went to the rack, from the dealer's right to the left, the dealer's own last."""

    kind = "hand.collected"


class RemoveStub(Action):
    """The stub was taken from the shoe or the hand."""

    kind = "stub.removed"


class WantStubCount(Action):
    """The stub is to be counted in this round, due or not."""

    kind = "stub.count_wanted"


class CountStub(Action):
    """The dealer has counted the stub."""

    kind = "stub.counted"
    cards: int


class AnswerMisdeal(Action):
    """Were the cards misdealt?"""

    kind = "misdeal.answered"
    misdealt: bool


# --- irregularities -------------------------------------------------------------------------------------------------


class ReportFaceUp(Action):
    """A card was found face up while dealing."""

    kind = "card.face_up"


class ReportDrawnInError(Action):
    """A card was drawn in error and not exposed."""

    kind = "card.drawn_in_error"


class ReportDealerExposed(Action):
    """A card of the dealer was seen too early."""

    kind = "dealer_card.exposed"


class ReportWrongNumber(Action):
    """A hand has a wrong number of cards."""

    kind = "hand.found_wrong"
    target: str
    cards: int


class ReturnWagers(Action):
    """All wagers are back with their players."""

    kind = "wagers.returned"


class GatherCards(OnDeck):
    """So many cards were taken from a place to the dealer's pile, and none is left there."""

    kind = "cards.gathered"
    place: str
    cards: int


class DeclareMissing(OnDeck):
    """Cards of this deck cannot be found, or there are too many: a floorperson says so."""

    roles = _FLOOR
    kind = "missing.declared"


# --- devices --------------------------------------------------------------------------------------------------------


class OnDevice(Action):
    """Base of the actions with one device."""

    roles: ClassVar[tuple[Role, ...]] = _SERVICE
    device: str


class FreeJam(OnDevice):
    """The stuck cards were taken out: the device may check its way."""

    kind = "command.given"


class OpenDevice(OnDevice):
    """Somebody has to reach into a device that is locked."""

    kind = "device.opened"


class TestDevice(OnDevice):
    """The device is to test itself."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    kind = "command.given"
    __test__: ClassVar[bool] = False  # not for pytest


class EmptyDevice(OnDevice):
    """Every card inside is to come out."""

    kind = "command.given"


class TryAgain(OnDevice):
    """What hindered the device has been seen to."""

    kind = "device.freed"


class AcceptDevice(OnDevice):
    """The device was shown to be empty, and what it did that the journal does not have is given up."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    kind = "device.accepted"


class TakeOutOfService(OnDevice):
    """A floorperson has seen the device covered, removed or marked."""

    roles = _FLOOR
    kind = "device.out_of_service"
    how: str


class PutInService(OnDevice):
    """The device may be used again."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    kind = "device.in_service"


class ChangeMethod(Action):
    """Deal in another way from now on."""

    roles = _FLOOR
    kind = "method.changed"
    method: Method


class ClearWarning(Action):
    """A person has seen the warning and its cause is gone."""

    roles = _SERVICE
    kind = "warning.cleared"
    warning: str


class UnlockPerson(Action):
    """Somebody who was locked out after wrong PINs may try again."""

    roles = _FLOOR
    kind = "access.unlocked"
    person: str


AnyAction = (
    Configure | OpenTable | CloseTable | IdleTable | PlayerArrived
    | ReceiveDeck | InspectDeck | VerifyDeck | SpreadDeck | WashDeck | StackDeck | RemoveDeck | RejectDeck
    | InsertDeck | ShuffleByHand | DirectReshuffle | CutDeck | RequireRecut | LoadDeck | UnloadDeck
    | Wager | CloseBets | DealCards | FinishDeal | RequestCard | PlayersActed | RevealDealer | CollectHand | CollectAll
    | RemoveStub | WantStubCount | CountStub | AnswerMisdeal
    | ReportFaceUp | ReportDrawnInError | ReportDealerExposed | ReportWrongNumber
    | ReturnWagers | GatherCards | DeclareMissing
    | FreeJam | OpenDevice | TestDevice | EmptyDevice | TryAgain | AcceptDevice | TakeOutOfService | PutInService
    | ChangeMethod | ClearWarning | UnlockPerson
)  # fmt: skip


def name_of(action: Action) -> str:
    """The action as its tag says it."""
    return str(type(action).__struct_config__.tag)

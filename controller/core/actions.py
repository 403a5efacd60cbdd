"""What people tell the table, typed. Every action says who did it and in which role."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

import msgspec

from controller.core.events import decks, devices, rounds, table
from controller.core.events.event import Event
from controller.core.setup import Setup
from controller.games.game import Method
from controller.games.rulebook import Rule


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
    """Base of the actions."""

    roles: ClassVar[tuple[Role, ...]] = _DEALING
    leads_to: ClassVar[type[Event]] = Event  # what it leads to, which the machines must allow
    rules: ClassVar[tuple[Rule, ...]] = ()  # that say who may do it, and when

    who: str
    role: Role


# --- opening and closing --------------------------------------------------------------------------------------------


class Configure(Action):
    """Set the table up. Only a closed table can be."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = table.TableConfigured
    setup: Setup


class OpenTable(Action):
    """The table opens for gaming."""

    leads_to = table.TableOpened


class CloseTable(Action):
    """The table closes; its decks leave."""

    roles = _FLOOR
    leads_to = table.TableClosed


class IdleTable(Action):
    """No player is here."""

    leads_to = table.TableIdled


class PlayerArrived(Action):
    """The first player after an idle time has come, and could look at the cards."""

    leads_to = table.PlayerCame


class OnDeck(Action):
    """Base of the actions with one deck."""

    deck: str


class ReceiveDeck(OnDeck):
    """A deck came to the table; `prepared` if it was inspected and shuffled beforehand."""

    leads_to = decks.DeckReceived
    back: str
    prepared: bool = False


class InspectDeck(OnDeck):
    """The dealer has inspected the deck, and found it good or not."""

    roles = (Role.DEALER,)
    leads_to = decks.DeckInspected
    rules = (Rule.INSPECT_DECK,)
    good: bool = True


class VerifyDeck(OnDeck):
    """A floorperson has verified the inspection."""

    roles = _FLOOR
    leads_to = decks.DeckVerified
    rules = (Rule.INSPECT_DECK,)


class SpreadDeck(OnDeck):
    """The cards lie spread."""

    leads_to = decks.DeckSpread
    rules = (Rule.SPREAD_DECK,)


class WashDeck(OnDeck):
    """The cards were turned face down and washed."""

    leads_to = decks.DeckWashed
    rules = (Rule.WASH_DECK,)


class StackDeck(OnDeck):
    """The cards were stacked."""

    leads_to = decks.DeckStacked
    rules = (Rule.WASH_DECK,)


class RemoveDeck(OnDeck):
    """The deck leaves the table, for good."""

    roles = _FLOOR
    leads_to = decks.DeckRemoved


class RejectDeck(OnDeck):
    """A card is damaged or marked: the deck is not to be played."""

    leads_to = decks.DeckLockedOut
    rules = (Rule.WRONG_COUNT,)
    reason: str = "a card is damaged"


# --- shuffling, cutting, loading ------------------------------------------------------------------------------------


class InsertDeck(OnDeck):
    """The deck lies in the shuffler's infeed."""

    leads_to = decks.DeckInserted
    rules = (Rule.INSPECT_DECK, Rule.SHUFFLE)


class ShuffleByHand(OnDeck):
    """The dealer has shuffled the deck."""

    leads_to = decks.DeckShuffledByHand
    rules = (Rule.SHUFFLE,)


class DirectReshuffle(OnDeck):
    """A floorperson wants the deck shuffled again."""

    roles = _FLOOR
    leads_to = decks.ReshuffleDirected
    rules = (Rule.SHUFFLE,)


class CutDeck(OnDeck):
    """The cover card went in so many cards from the top."""

    leads_to = decks.CutMade
    depth: int


class RequireRecut(OnDeck):
    """A floorperson wants another cut."""

    roles = _FLOOR
    leads_to = decks.CutRecutRequired
    rules = (Rule.RECUT,)


class LoadDeck(OnDeck):
    """The dealer has put the deck into the shoe, or taken it into the hand."""

    leads_to = decks.DeckLoaded
    rules = (Rule.SHUFFLE,)


class UnloadDeck(OnDeck):
    """The deck is to come out of the shoe, the hand or the shuffler again."""

    leads_to = decks.DeckRecalled


# --- the round ------------------------------------------------------------------------------------------------------


class Wager(Action):
    """These seats have wagered."""

    leads_to = table.SeatsWagered
    seats: tuple[int, ...]


class CloseBets(Action):
    """No more bets: the deal begins."""

    leads_to = table.BetsClosed
    seats: tuple[int, ...] | None = None  # None: as reported before


class DealCards(Action):
    """Manual shoe or hand: cards were laid before a hand."""

    leads_to = rounds.StackTakenToHand
    target: str
    cards: int = 1


class FinishDeal(Action):
    """Manual shoe or hand: all that was still to be dealt has been, in its order."""

    leads_to = rounds.StackTakenToHand


class RequestCard(Action):
    """A hand draws another card, in a game that has this."""

    leads_to = rounds.CardRequested
    target: str


class PlayersActed(Action):
    """Every player has decided."""

    leads_to = rounds.AllActed


class RevealDealer(Action):
    """The dealer's cards are shown."""

    leads_to = rounds.DealerRevealed
    rules = (Rule.REVEAL_DEALER,)


class CollectHand(Action):
    """A hand went to the rack."""

    leads_to = rounds.HandCollected
    rules = (Rule.REVEAL_DEALER,)
    target: str


class CollectAll(Action):
    """All remaining hands went to the rack, from the dealer's right to the left, the dealer's own last."""

    leads_to = rounds.HandCollected
    rules = (Rule.REVEAL_DEALER,)


class RemoveStub(Action):
    """The stub was taken from the shoe or the hand."""

    leads_to = rounds.StubRemoved


class WantStubCount(Action):
    """The stub is to be counted in this round, due or not."""

    leads_to = rounds.StubCountWanted


class CountStub(Action):
    """The dealer has counted the stub."""

    leads_to = rounds.StubCounted
    cards: int


class AnswerMisdeal(Action):
    """Were the cards misdealt?"""

    leads_to = rounds.MisdealAnswered
    misdealt: bool


# --- irregularities -------------------------------------------------------------------------------------------------


class ReportFaceUp(Action):
    """A card was found face up while dealing."""

    leads_to = rounds.CardFoundFaceUp


class ReportDrawnInError(Action):
    """A card was drawn in error and not exposed."""

    leads_to = rounds.CardDrawnInError


class ReportDealerExposed(Action):
    """A card of the dealer was seen too early."""

    leads_to = rounds.DealerCardExposed
    rules = (Rule.DEALER_EXPOSED,)


class ReportWrongNumber(Action):
    """A hand has a wrong number of cards."""

    leads_to = rounds.HandFoundWrong
    target: str
    cards: int


class ReturnWagers(Action):
    """All wagers are back with their players."""

    leads_to = rounds.WagersReturned


class GatherCards(OnDeck):
    """So many cards were taken from a place to the dealer's pile, and none is left there."""

    leads_to = decks.CardsGathered
    place: str
    cards: int


class DeclareMissing(OnDeck):
    """Cards of this deck cannot be found, or there are too many: a floorperson says so."""

    roles = _FLOOR
    leads_to = decks.MissingDeclared


# --- devices --------------------------------------------------------------------------------------------------------


class OnDevice(Action):
    """Base of the actions with one device."""

    roles: ClassVar[tuple[Role, ...]] = _SERVICE
    device: str


class FreeJam(OnDevice):
    """The stuck cards were taken out: the device may check its way."""

    leads_to = devices.CommandGiven


class OpenDevice(OnDevice):
    """Somebody has to reach into a device that is locked."""

    leads_to = devices.DeviceOpened


class TestDevice(OnDevice):
    """The device is to test itself."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = devices.CommandGiven
    __test__: ClassVar[bool] = False  # not for pytest


class EmptyDevice(OnDevice):
    """Every card inside is to come out."""

    leads_to = devices.CommandGiven


class TryAgain(OnDevice):
    """What hindered the device has been seen to."""

    leads_to = devices.DeviceFreed


class AcceptDevice(OnDevice):
    """The device was shown to be empty, and what it did that the journal does not have is given up."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = devices.DeviceAccepted


class TakeOutOfService(OnDevice):
    """A floorperson has seen the device covered, removed or marked."""

    roles = _FLOOR
    leads_to = devices.DeviceOutOfService
    rules = (Rule.OUT_OF_SERVICE,)
    how: str


class PutInService(OnDevice):
    """The device may be used again."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = devices.DeviceInService
    rules = (Rule.OUT_OF_SERVICE,)


class ChangeMethod(Action):
    """Deal in another way from now on."""

    roles = _FLOOR
    leads_to = table.MethodChanged
    rules = (Rule.OUT_OF_SERVICE,)
    method: Method


class ClearWarning(Action):
    """A person has seen the warning and its cause is gone."""

    roles = _SERVICE
    leads_to = table.WarningCleared
    warning: str


class UnlockPerson(Action):
    """Somebody who was locked out after wrong PINs may try again."""

    roles = _FLOOR
    leads_to = table.AccessUnlocked
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

"""Actions: what people report to the table or ask of it. Every action has a person and their role."""

from __future__ import annotations

from typing import ClassVar

from controller.core.action import Action as Action
from controller.core.action import Role as Role
from controller.core.action import name_of as name_of
from controller.core.events import decks, devices, rounds, table
from controller.core.play_actions import CorrectCards as CorrectCards
from controller.core.play_actions import CorrectDecision as CorrectDecision
from controller.core.play_actions import DecideHand as DecideHand
from controller.core.play_actions import EndSession as EndSession
from controller.core.play_actions import EnterCards as EnterCards
from controller.core.play_actions import LeaveSeat as LeaveSeat
from controller.core.play_actions import ReconstructHands as ReconstructHands
from controller.core.play_actions import RecordBet as RecordBet
from controller.core.play_actions import ReportCutCard as ReportCutCard
from controller.core.play_actions import ReportIrregularity as ReportIrregularity
from controller.core.play_actions import ReshuffleStock as ReshuffleStock
from controller.core.play_actions import TakeBackDecision as TakeBackDecision
from controller.core.setup import Setup
from controller.games.game import Method
from controller.games.rulebook import Rule

_FLOOR = (Role.FLOOR,)
_SERVICE = (Role.DEALER, Role.FLOOR, Role.TECHNICIAN)
_VOID = "The round becomes void and all wagers are returned."


# --- opening and closing --------------------------------------------------------------------------------------------


class Configure(Action):
    """Set up the table; it must be closed."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = table.TableConfigured
    setup: Setup


class OpenTable(Action):
    """The table opens for gaming."""

    leads_to = table.TableOpened


class CloseTable(Action):
    """The table closes and its decks are removed."""

    roles = _FLOOR
    leads_to = table.TableClosed
    consequence = "All decks leave the table for good."


class IdleTable(Action):
    """There are no players at the table."""

    leads_to = table.TableIdled
    consequence = "Betting ends, and the cards are spread until a player arrives."


class PlayerArrived(Action):
    """The first player has arrived at an idle table and could look at the cards."""

    leads_to = table.PlayerCame


class OnDeck(Action):
    """Base of the actions that concern a deck."""

    deck: str


class ReceiveDeck(OnDeck):
    """A deck arrived at the table; `prepared` if it was inspected and shuffled beforehand, at `came_from`."""

    leads_to = decks.DeckReceived
    back: str
    prepared: bool = False
    came_from: str = ""


class AcceptDeck(OnDeck):
    """A floorperson accepts a deck that was inspected and shuffled beforehand."""

    roles = _FLOOR
    leads_to = decks.DeckAcceptedPrepared
    rules = (Rule.PREPARED_DECK,)


class InspectDeck(OnDeck):
    """The dealer has inspected the deck; `good` says whether it is in order.

    If it was put together from several decks, `counts` has the number of cards of each.
    """

    roles = (Role.DEALER,)
    leads_to = decks.DeckInspected
    rules = (Rule.INSPECT_DECK,)
    good: bool = True
    counts: tuple[int, ...] = ()


class VerifyDeck(OnDeck):
    """A floorperson has verified the inspection."""

    roles = _FLOOR
    leads_to = decks.DeckVerified
    rules = (Rule.INSPECT_DECK,)


class SpreadDeck(OnDeck):
    """The cards were spread."""

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
    """The deck leaves the table for good."""

    roles = _FLOOR
    leads_to = decks.DeckRemoved
    consequence = "The deck leaves the table for good. Only a new deck can take its place."


class RejectDeck(OnDeck):
    """A card is damaged or marked: the deck must not be played."""

    leads_to = decks.DeckLockedOut
    rules = (Rule.WRONG_COUNT,)
    consequence = "The deck is locked out for good and must leave the table."
    reason: str = "a card is damaged"


# --- shuffling, cutting, loading ------------------------------------------------------------------------------------


class InsertDeck(OnDeck):
    """The deck was put into the shuffler's infeed."""

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
    """The deck was cut deep enough; `depth` is the number of cards above the cover card, if known."""

    leads_to = decks.CutMade
    depth: int | None = None


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
    """Take the deck back out of the shoe, the hand or the shuffler."""

    leads_to = decks.DeckRecalled


# --- the round ------------------------------------------------------------------------------------------------------


class Wager(Action):
    """These seats have wagered."""

    leads_to = table.SeatsWagered
    seats: tuple[int, ...]


class CloseBets(Action):
    """No more bets: the deal begins."""

    leads_to = table.BetsClosed
    seats: tuple[int, ...] | None = None  # None: the seats reported before


class DealCards(Action):
    """Manual shoe or hand: cards were dealt to a hand."""

    leads_to = rounds.StackTakenToHand
    target: str
    cards: int = 1
    kinds: tuple[str, ...] = ()  # which cards, if they are dealt face up


class FinishDeal(Action):
    """Manual shoe or hand: all remaining cards were dealt, in order."""

    leads_to = rounds.StackTakenToHand


class RequestCard(Action):
    """A hand draws another card, in games that allow it."""

    leads_to = rounds.CardRequested
    target: str


class PlayersActed(Action):
    """Every player has decided."""

    leads_to = rounds.AllActed


class RevealDealer(Action):
    """The dealer's cards were shown."""

    leads_to = rounds.DealerRevealed
    rules = (Rule.REVEAL_DEALER,)


class CollectHand(Action):
    """A hand was put into the rack."""

    leads_to = rounds.HandCollected
    rules = (Rule.REVEAL_DEALER,)
    target: str


class CollectAll(Action):
    """All remaining hands were put into the rack, from the dealer's right to the left, the dealer's own last."""

    leads_to = rounds.HandCollected
    rules = (Rule.REVEAL_DEALER,)


class RemoveStub(Action):
    """The stub was taken from the shoe or the hand."""

    leads_to = rounds.StubRemoved


class WantStubCount(Action):
    """Count the stub in this round, even if its count is not due."""

    leads_to = rounds.StubCountWanted


class CountStub(Action):
    """The dealer has counted the stub."""

    leads_to = rounds.StubCounted
    cards: int
    confirmed: bool = False  # counted again, with the same result


class AnswerMisdeal(Action):
    """Were the cards misdealt?"""

    leads_to = rounds.MisdealAnswered
    consequence = "The round becomes void. If the cards were not misdealt, the deck is also locked out for good."
    misdealt: bool


# --- irregularities -------------------------------------------------------------------------------------------------


class ReportFaceUp(Action):
    """A card was found face up while dealing; `target` is the hand that it is in or was meant for."""

    leads_to = rounds.CardFoundFaceUp
    consequence = "The card goes to the discard rack. A second one in the same deal makes the round void."
    target: str = ""  # empty: the hand whose turn it is


class ReportDrawnInError(Action):
    """A card was drawn in error and not exposed."""

    leads_to = rounds.CardDrawnInError
    consequence = "The card is set aside and is the next card to be dealt."


class ReportDealerExposed(Action):
    """One of the dealer's cards was exposed too early."""

    leads_to = rounds.DealerCardExposed
    rules = (Rule.DEALER_EXPOSED,)
    consequence = _VOID


class ReportWrongNumber(Action):
    """A hand has the wrong number of cards."""

    leads_to = rounds.HandFoundWrong
    consequence = _VOID
    target: str
    cards: int
    confirmed: bool = False  # counted again, with the same result


class ReturnWagers(Action):
    """All wagers were returned to their players."""

    leads_to = rounds.WagersReturned


class RequestHands(Action):
    """A floorperson resolves a dispute about a void round: the shoe is asked which cards the hands had."""

    roles = _FLOOR
    leads_to = rounds.HandsRequested
    rules = (Rule.COLLECT_HANDS,)
    consequence = "The cards of the hands are recorded in the journal, with your name and the reason."
    round: int
    reason: str


class GatherCards(OnDeck):
    """All cards were taken from a place to the dealer's pile and counted."""

    leads_to = decks.CardsGathered
    place: str
    cards: int
    confirmed: bool = False  # counted again, with the same result


class GatherAll(OnDeck):
    """All cards of the deck outside the devices were put in one pile, and the whole pile was counted."""

    leads_to = decks.PileCounted
    cards: int
    confirmed: bool = False  # counted again, with the same result


class CorrectCount(Action):
    """The number that the same person entered last was wrong: this is the right one."""

    leads_to = decks.CountCorrected
    cards: int
    confirmed: bool = False  # counted again, with the same result


class DeclareMissing(OnDeck):
    """A floorperson declares that cards of this deck cannot be found, or that there are too many."""

    roles = _FLOOR
    leads_to = decks.MissingDeclared
    consequence = "The deck can never be complete again: it is locked out for good and must leave the table."


# --- devices --------------------------------------------------------------------------------------------------------


class OnDevice(Action):
    """Base of the actions that concern a device."""

    roles: ClassVar[tuple[Role, ...]] = _SERVICE
    device: str


class FreeJam(OnDevice):
    """The stuck cards were taken out: the device can check its card path."""

    leads_to = devices.CommandGiven


class OpenDevice(OnDevice):
    """Somebody has to reach into a locked device."""

    leads_to = devices.DeviceOpened


class TestDevice(OnDevice):
    """The device runs its self-test."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = devices.CommandGiven
    __test__: ClassVar[bool] = False  # not for pytest


class EmptyDevice(OnDevice):
    """The device brings out every card inside."""

    leads_to = devices.CommandGiven


class TryAgain(OnDevice):
    """The reason why the device refused a command was dealt with."""

    leads_to = devices.DeviceFreed


class AcceptDevice(OnDevice):
    """The device was shown to be empty; its events that are missing from the journal are given up."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = devices.DeviceAccepted
    consequence = "The device's events that are missing from the journal are given up."


class TakeOutOfService(OnDevice):
    """A floorperson confirms that the device is covered, removed or marked."""

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
    """Use another dealing method from now on."""

    roles = _FLOOR
    leads_to = table.MethodChanged
    rules = (Rule.OUT_OF_SERVICE,)
    method: Method


class ClearWarning(Action):
    """A person clears a warning whose cause is gone."""

    roles = _SERVICE
    leads_to = table.WarningCleared
    warning: str


class UnlockPerson(Action):
    """A person who was locked out after wrong PINs may try again."""

    roles = (Role.FLOOR, Role.TECHNICIAN)
    leads_to = table.AccessUnlocked
    person: str


AnyAction = (
    Configure | OpenTable | CloseTable | IdleTable | PlayerArrived
    | ReceiveDeck | AcceptDeck | InspectDeck | VerifyDeck | SpreadDeck | WashDeck | StackDeck | RemoveDeck | RejectDeck
    | InsertDeck | ShuffleByHand | DirectReshuffle | CutDeck | RequireRecut | LoadDeck | UnloadDeck
    | Wager | RecordBet | LeaveSeat | CloseBets | EnterCards | CorrectCards | ReconstructHands | DecideHand
    | CorrectDecision | TakeBackDecision | ReportCutCard | ReshuffleStock | EndSession | ReportIrregularity
    | DealCards | FinishDeal | RequestCard | PlayersActed | RevealDealer | CollectHand | CollectAll
    | RemoveStub | WantStubCount | CountStub | AnswerMisdeal
    | ReportFaceUp | ReportDrawnInError | ReportDealerExposed | ReportWrongNumber
    | ReturnWagers | RequestHands | GatherCards | GatherAll | CorrectCount | DeclareMissing
    | FreeJam | OpenDevice | TestDevice | EmptyDevice | TryAgain | AcceptDevice | TakeOutOfService | PutInService
    | ChangeMethod | ClearWarning | UnlockPerson
)  # fmt: skip

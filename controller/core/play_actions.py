"""Actions of a game's own procedure: bets, cards that were seen, decisions about hands, and the cut card."""

from __future__ import annotations

from controller.core.action import Action, Role
from controller.core.events import play, rounds
from controller.games.rulebook import Rule


class RecordBet(Action):
    """A player bets this amount; 0 takes the bet back."""

    leads_to = play.BetRecorded
    rules = (Rule.BETS,)
    seat: int
    bet: str
    amount: int


class LeaveSeat(Action):
    """A player leaves the game, and the table forgets what it remembers about this seat."""

    leads_to = play.SeatLeft
    rules = (Rule.TABLE_STAKES,)
    seat: int


class EnterCards(Action):
    """These are the cards that were dealt face up to a hand, or that it had when it was turned over."""

    leads_to = play.CardsEntered
    target: str
    kinds: tuple[str, ...]


class CorrectCards(Action):
    """Cards that were entered were others: these. The last ones of the hand, or those that are named."""

    leads_to = play.CardsCorrected
    target: str
    kinds: tuple[str, ...]
    was: tuple[str, ...] = ()


class ReconstructHands(Action):
    """These are the round's cards in the order in which they were drawn; the rules say whose each of them is."""

    leads_to = play.HandsReconstructed
    rules = (Rule.RECONSTRUCT,)
    kinds: tuple[str, ...]


class DecideHand(Action):
    """What was decided about a hand whose turn it is, such as to play or to exchange a number of cards."""

    leads_to = play.HandDecided
    rules = (Rule.DECISIONS,)
    target: str
    choice: str
    number: int = 0
    kinds: tuple[str, ...] = ()  # which cards: those that it is about, or those that the player turned over


class TakeBackDecision(Action):
    """The last decision was entered by mistake."""

    leads_to = play.DecisionTakenBack
    rules = (Rule.DECISIONS,)


class CorrectDecision(Action):
    """A decision was entered wrong: this one is right. A card belongs there; a second one changes places with it."""

    leads_to = play.DecisionCorrected
    rules = (Rule.DECISIONS,)
    target: str
    choice: str
    kinds: tuple[str, ...] = ()  # if it is about cards


class ReportCutCard(Action):
    """The cut card has come out of the shoe."""

    leads_to = play.CutCardAppeared
    rules = (Rule.CUT_CARD,)


class ReshuffleStock(Action):
    """Stock and discards were put together, counted, shuffled, and cut by another player."""

    leads_to = play.StockReshuffled
    rules = (Rule.RESHUFFLE_STOCK,)
    cards: int
    cut_by: int  # the seat of the player who cut: another one than who deals and shuffles
    confirmed: bool = False  # the number differs from what the table expects, and was counted again


class EndSession(Action):
    """The session is over: what it decides is announced and paid."""

    roles = (Role.FLOOR,)
    leads_to = play.SessionEnded
    rules = (Rule.SESSION,)


class ReportIrregularity(Action):
    """Something went wrong that voids the round by the rules of this game."""

    leads_to = rounds.RoundVoided
    consequence = "The round is void and the wagers are returned."
    irregularity: str

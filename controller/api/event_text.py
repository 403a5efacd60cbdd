"""Every event of the journal as one line of plain English, for screens, terminals and reports."""

from __future__ import annotations

from typing import Any

from controller.api.table_view import place_words, words_of_command

# The line for each kind; names in braces are the event's own data, put into words by `_Said`.
LINES = {
    "host.started": "The controller started, version {software}.",
    "access.granted": "{who} signed in at the {via}.",
    "access.denied": "Sign-in refused at the {via}: {reason}.",
    "access.unlocked": "{who} ended the lock-out of {person}.",
    "action.refused": "Refused: {action} by {who}: {reason}.",
    "table.configured": "The table was set up.",
    "table.opened": "{who} opened the table.",
    "table.closed": "{who} closed the table.",
    "table.idled": "{who} reported that no player is here.",
    "table.suspended": "The table is suspended: {reason}.",
    "table.resumed": "The table goes on.",
    "player.arrived": "A player has come.",
    "opening.completed": "The decks are ready for play.",
    "method.changed": "Dealing changes from {was} to {method}, by {who}.",
    "betting.opened": "Bets may be made.",
    "betting.withdrawn": "No bets for now: {reason}.",
    "seats.wagered": "Wagers at seats {seats}.",
    "bets.closed": "No more bets.",
    "warning.raised": "Warning: {text}.",
    "warning.cause_gone": "The cause of warning {warning} is gone.",
    "warning.cleared": "{who} cleared the warning {warning}.",
    "deck.received": "Deck {deck} came to the table.",
    "deck.accepted_prepared": "Deck {deck} came inspected and shuffled.",
    "deck.inspected": "{who} inspected deck {deck}.",
    "deck.verified": "{who} verified deck {deck}.",
    "deck.spread": "Deck {deck} lies spread.",
    "deck.washed": "Deck {deck} was washed.",
    "deck.stacked": "Deck {deck} was stacked.",
    "deck.inserted": "Deck {deck} lies in the shuffler.",
    "deck.shuffled_by_hand": "Deck {deck} was shuffled by hand.",
    "deck.delivered": "The shuffler delivered deck {deck}.",
    "deck.loaded": "Deck {deck} is loaded.",
    "deck.recalled": "Deck {deck} is called back: {reason}.",
    "deck.gathered": "All cards of deck {deck} are together.",
    "deck.ready_to_cut": "Deck {deck} is to be cut again.",
    "deck.recut_ordered": "Deck {deck} is to be cut again.",
    "deck.change_due": "Deck {deck} is due for a change.",
    "deck.locked_out": "Deck {deck} is locked out: {reason}.",
    "deck.removed": "Deck {deck} left the table for good.",
    "reshuffle.directed": "{who} wants deck {deck} shuffled again.",
    "turn.passed": "The deck with the {back} backs is next.",
    "shuffle.started": "The shuffle of deck {deck} began.",
    "shuffle.completed": "Deck {deck} is shuffled.",
    "shuffle.failed": "The shuffle of deck {deck} failed: {reason}.",
    "count.accepted": "Deck {deck} was counted: right.",
    "count.rejected": "Deck {deck} was counted: {cards}, not {expected}.",
    "cut.made": "Deck {deck} was cut at {depth} cards.",
    "cut.refused": "The cut was refused: {reason}.",
    "cut.recut_required": "{who} wants another cut of deck {deck}.",
    "round.started": "Round {round} began with deck {deck}.",
    "stack.dispensed": "The shoe put out a stack for {target}.",
    "stack.taken": "{target}: cards taken.",
    "dealer.held": "The dealer's stack is held in the shoe.",
    "dealing.completed": "All hands are dealt.",
    "card.requested": "{target} draws a card.",
    "players.acted": "Every player has decided.",
    "dealer.revealed": "The dealer's cards are shown.",
    "hand.collected": "{target}: hand collected.",
    "stub.removed": "The stub was removed.",
    "stub.count_wanted": "The stub will be counted.",
    "stub.counted": "The stub was counted: {cards}.",
    "stub.rejected": "The stub has {cards} cards, not {expected}.",
    "misdeal.answered": "Misdealt: {misdealt}.",
    "round.completed": "Round {round} is complete.",
    "round.voided": "Round {round} is void: {reason}.",
    "wagers.returned": "All wagers are back with their players.",
    "cards.gathered": "{cards} cards gathered: {place}.",
    "void.completed": "The void is complete.",
    "missing.declared": "{who} declared cards of deck {deck} missing.",
    "card.face_up": "A card was found face up.",
    "card.turned": "The {device} saw a card face up.",
    "card.drawn_in_error": "A card was drawn in error.",
    "dealer_card.exposed": "A card of the dealer was seen too early.",
    "hand.found_wrong": "{target} has a wrong number of cards.",
    "ledger.disagreed": "The counts of deck {deck} disagree at {place}: {missing} missing.",
    "ledger.broken": "The ledger does not add up: {reason}.",
    "cards.counted": "The {device} counted {cards} cards.",
    "cards.presented": "The {device} put out {cards} cards.",
    "cards.held": "The {device} holds {cards} cards back.",
    "cards.unexpected": "Cards lie in the {device} that nobody expected.",
    "exit.emptied": "The exit of the {device} was emptied.",
    "command.given": "To the {device}: {command}.",
    "command.answered": "The {device} took it on.",
    "cycle.completed": "The {device} has finished.",
    "cycle.failed": "The {device} {reason}.",
    "cycle.lost": "What the {device} was doing is given up: {reason}.",
    "device.connected": "The {device} is connected.",
    "device.identified": "The {device} has identified itself.",
    "device.lost": "The {device} does not answer.",
    "device.refused": "The {device} cannot be used here: {reason}.",
    "device.accepted": "The {device} is empty and accepted again, by {who}.",
    "device.resumed": "The {device} goes on with what it was doing.",
    "device.jammed": "The {device} is jammed.",
    "device.cleared": "The way through the {device} is free.",
    "device.failed": "The {device} {reason}.",
    "device.hindered": "The {device} is hindered: {reason}.",
    "device.freed": "{who} has seen to the {device}.",
    "device.out_of_service": "The {device} is out of service, {how}, by {who}.",
    "device.in_service": "The {device} is in service again, by {who}.",
    "device.seen": "The {device} is out of service; it answers: {online}.",
    "device.opened": "{who} reaches into the {device}.",
    "device.powered_up": "The {device} was switched on.",
    "device.reported": "The {device} reports: {event}.",
}


class _Said(dict[str, Any]):
    """An event's data, each value as people say it; what is not there is left out."""

    def __missing__(self, key: str) -> str:
        return "?"


def _say(key: str, value: Any) -> str:
    if key == "command" and isinstance(value, dict):
        return words_of_command(str(value.get("name", "")))
    if key == "event" and isinstance(value, str):
        return words_of_command(value)
    if key == "target" and isinstance(value, str):
        said = place_words(value)
        return said[0].upper() + said[1:] if said.startswith("seat") else said
    if key == "place" and isinstance(value, str):
        return place_words(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value).replace("_", " ")


def line_of(kind: str, data: dict[str, Any]) -> str:
    """What an event says, in one line."""
    template = LINES.get(kind)
    if template is None:
        about = " ".join(str(data[key]) for key in ("device", "deck", "round", "reason") if key in data)
        return f"{kind.replace('.', ' ').replace('_', ' ')} {about}".strip().capitalize() + "."
    said = template.format_map(_Said({key: _say(key, value) for key, value in data.items()}))
    return (said[0].upper() + said[1:]).replace("..", ".")

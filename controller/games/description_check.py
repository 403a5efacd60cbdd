"""What is wrong with the description of a game, found before it is played. The texts are for whoever writes a game."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields

import msgspec

from controller.games.description import Description, StepType, script_fault
from controller.games.game import PLAYERS, Game, game_fault
from controller.games.odds import odds_choices
from controller.games.rulebook import Rule, Rulebook

MOST_KINDS, MOST_CARDS = 64, 520  # that a device can name and count


def description_fault(name: str, description: Description) -> str:
    """The first thing that is wrong; empty if nothing is."""
    if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name):
        return "a game's name has small letters, digits and hyphens"
    for check in (_types, _script, _rulebook, _functions, _bets, _options):
        for fault in check(description):
            return fault
    return ""


def _types(description: Description) -> Iterator[str]:
    for part, kind in (("game", Game), ("rulebook", Rulebook)):
        if not isinstance(getattr(description, part), kind):
            yield f"{part}: expected a {kind.__name__}"
    try:
        msgspec.convert(msgspec.to_builtins(description.game, str_keys=True), Game)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `$.")
        yield f"game.{where.rstrip('`')}: {text[0].lower()}{text[1:].replace('`', '')}"
    for part in ("bets", "session_bets", "hidden", "script"):
        if not isinstance(getattr(description, part), tuple):
            yield f"{part}: expected a tuple; one of a single element ends with a comma"


def _script(description: Description) -> Iterator[str]:
    script = description.script
    yield from _found("script", script_fault(script))
    for step, prompt in description.prompts.items():
        if step not in script:
            yield f"prompts: the script has no step {str(step)!r}"
        if not isinstance(prompt, tuple) or [type(text) for text in prompt] != [str, str]:
            yield f"prompts: {str(step)!r} needs two texts, what people do and why; the second may be empty"
    for one in description.hidden:
        if StepType.REVEAL in one.turned_by and StepType.REVEAL not in script:
            yield f"hidden: {one.cards} cannot be turned over by a reveal, which the script does not have"
    if description.turn and StepType.ACT not in script:
        yield "turn: players decide, but the script has no step 'act'"
    if StepType.ACT in script and description.must_decide and not description.turn:
        yield "must_decide: without `turn` nobody decides anything"


def _rulebook(description: Description) -> Iterator[str]:
    book = description.rulebook
    for rule in book.rules:
        if rule not in set(Rule):
            yield f"rulebook.rules: {rule!r} is not a member of Rule"
            return
        for clause in book.clauses_of(rule):
            if clause not in book.clauses:
                yield f"rulebook.rules: {rule.name} is clause {clause!r}, which is not among the clauses"
    for clause in book.decided_by:
        if clause not in book.clauses:
            yield f"rulebook.decided_by: {clause!r} is not among the clauses"


def _functions(description: Description) -> Iterator[str]:
    """Functions that cannot be called as they will be."""
    kinds = typing.get_type_hints(Description)
    for field in fields(Description):
        given, value = _parameters(kinds[field.name]), getattr(description, field.name)
        if given is None or value is None:
            continue
        if not callable(value):
            yield f"{field.name}: expected a function"
        elif given is not ... and not _takes(value, len(given)):
            names = ", ".join(getattr(one, "__name__", str(one)) for one in given)
            yield f"{field.name}: is called with ({names})"
    for function, needed in (("turn", "decide"), ("decide", "turn"), ("end_session", "session_bets")):
        if getattr(description, function) and not getattr(description, needed):
            yield f"{function}: needs `{needed}` too"
    if description.odds:
        try:
            odds_choices(description.odds)
        except Exception as error:
            yield f"odds: {error}"
    deals = [deal for programme in description.game.programme.values() for deal in programme]
    if description.reconstruct and any(deal.to == PLAYERS or deal.cards != 1 for deal in deals):
        yield "reconstruct: works only if the programme deals single cards to named hands"
    if description.must_settle and not (description.settle or description.results or description.result):
        yield "must_settle: needs `settle`, `results` or `result`"


def _parameters(kind: object) -> typing.Any:
    """The types of what a field's function is called with; None if the field is not a function."""
    for one in (kind, *typing.get_args(kind)):
        if typing.get_origin(one) is Callable:
            return typing.get_args(one)[0]
    return None


def _takes(function: Callable[..., object], arguments: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError:
        return False
    return True


def _bets(description: Description) -> Iterator[str]:
    for bet in description.session_bets:
        if bet not in description.bets:
            yield f"session_bets: {str(bet)!r} is not among the bets"


def _options(description: Description) -> Iterator[str]:
    """The usual choices of the house, or those of the example where there are none, and the numbers that follow."""
    options = {**description.options, **description.example_options}
    for name in description.example_options.keys() - description.options.keys():
        yield f"example_options: unknown option {name!r}"
    try:
        yield from _found("options", description.fault_of(options))
        game = description.with_options(description.game, options)
    except Exception as error:
        yield f"options: checking the usual ones fails with {type(error).__name__}: {error}"
        return
    yield from _found("game", game_fault(game) or _numbers(game))


def _numbers(game: Game) -> str:
    if len(game.kinds) > MOST_KINDS or game.deck_size > MOST_CARDS:
        return f"a deck has at most {MOST_KINDS} kinds and {MOST_CARDS} cards"
    if not 1 <= game.fewest_seats <= game.most_seats:
        return f"from {game.fewest_seats} to {game.most_seats} seats cannot play"
    if len(set(game.kinds)) < len(game.kinds):
        return "a kind of card comes twice; `copies` says how many there are of each"
    if not game.programme:
        return "the programme has no dealing method"
    for method, deals in game.programme.items():
        if any(deal.cards < 1 for deal in deals):
            return f"programme: a deal of {method} has no cards"
        cards = game.most_cards(method, game.fewest_seats)
        if cards > game.deck_size:
            return f"programme: a round of {game.fewest_seats} with {method} needs {cards} cards of {game.deck_size}"
    return ""


def _found(part: str, fault: str) -> Iterator[str]:
    if fault:
        yield f"{part}: {fault}"

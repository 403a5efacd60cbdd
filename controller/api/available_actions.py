"""The actions people can take: the fields of each, the roles it needs, and whether the table would accept it now.

Whether it would is found by trying the action on a copy of the state, so that the rules stay in the core.
"""

from __future__ import annotations

import copy
import functools
import itertools
import types
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

import msgspec

from controller.api.game_view import turn_due
from controller.api.requests import Credentials
from controller.core import ledger, step
from controller.core.actions import (
    Action,
    CloseBets,
    Configure,
    CorrectCards,
    CorrectCount,
    CorrectDecision,
    DealCards,
    DecideHand,
    EndSession,
    EnterCards,
    LeaveSeat,
    PlayersActed,
    ReceiveDeck,
    ReconstructHands,
    RecordBet,
    RemoveStub,
    ReportCutCard,
    ReportDealerExposed,
    ReportFaceUp,
    ReportIrregularity,
    ReshuffleStock,
    RevealDealer,
    Role,
    TakeBackDecision,
)
from controller.core.decision import cite, why_not
from controller.core.events.table import ActionRefused
from controller.core.names import capital, cards, command_name, where
from controller.core.rules.correcting import correctable
from controller.core.rules.dealing import next_stack
from controller.core.rules.opening import LONGEST_NAME, packed_counts
from controller.core.rules.play import cards_wanted
from controller.core.rules.script import options_of, record_between
from controller.core.rules.service import OUT_HOW
from controller.core.state import Round, State, decode, encode, requestable_rounds
from controller.core.table import Table
from controller.games import described
from controller.games.description import Description, StepType
from controller.games.game import DEALER
from controller.games.record import PlayerTurn

# `Configure` comes from the configuration file, never through the API.
_OF_SOME_GAMES: dict[type[Action], Callable[[Description], object]] = {  # and which these are
    RecordBet: lambda game: game.bets,
    EnterCards: lambda game: game.settle,
    CorrectCards: lambda game: game.settle,
    ReconstructHands: lambda game: game.reconstruct,
    DecideHand: lambda game: game.decide,
    CorrectDecision: lambda game: game.correct,
    TakeBackDecision: lambda game: game.decide,
    LeaveSeat: lambda game: game.leave,
    ReportCutCard: lambda game: game.game.keeps_dealing,
    ReshuffleStock: lambda game: game.reshuffle_due,
    EndSession: lambda game: game.end_session,
    ReportIrregularity: lambda game: game.irregularities,
    PlayersActed: lambda game: StepType.ACT in game.script and not game.must_decide,
    RevealDealer: lambda game: StepType.REVEAL in game.script,
    ReportFaceUp: lambda game: any(not deal.face_up for deals in game.game.programme.values() for deal in deals),
    ReportDealerExposed: lambda game: DEALER in game.game.hands(),
    RemoveStub: lambda game: not game.game.keeps_dealing,
}
_RECORDS = (RecordBet, EnterCards, CorrectCards, DecideHand, TakeBackDecision)  # can be left out in some games
ACTIONS = {name: kind for name, kind in step.ACTIONS.items() if kind is not Configure}
_fields = functools.cache(msgspec.structs.fields)  # it evaluates the annotations on every call, 0.1 ms each
_BY_WHOM = {"who", "role", "origin"}  # fields that do not come from the request
LIST_HINT = "GET /api/v1/actions lists all actions"


class BadAction(Exception):
    """A request that does not describe an action; `code` is the API's error code."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


def title(kind: type[Action]) -> str:
    """The label of the button: `Close bets` for `CloseBets`."""
    return capital(command_name(kind.__name__))


def fields_of(kind: type[Action], state: State) -> list[dict[str, Any]]:
    """The fields of an action, with their types and current choices."""
    found = []
    for field in _fields(kind):
        if field.name in _BY_WHOM:
            continue
        what = {"name": field.name, "required": field.required, **_type_of(field.type)}
        if field.name == "depth":
            what["least"] = state.setup.game.least_cut  # for a person who does not know the depth and confirms this
        choices = _choices(kind, field.name, field.type, state)
        if choices is not None:
            texts = _texts(field.name, state)
            if texts:
                what["texts"] = texts
            what |= {"type": what["type"] if what["type"] in ("integer", "cards") else "choice", "choices": choices}
            possible = _possible(kind, field.name, choices, state)
            if possible != choices:
                what["possible"] = possible
        if not field.required:
            what["default"] = field.default if field.default is not msgspec.NODEFAULT else None
        if field.name == "counts":
            what["default"] = list(packed_counts(state.setup.game))  # what a person confirms
        if kind is CorrectDecision and field.name == "kinds":
            what["places"] = list(described(state.setup.game).places)  # the choices that are about cards
        if kind is ReceiveDeck and field.name == "deck":
            what["most"] = LONGEST_NAME
            what["unused"] = {back: _unused_name(state, back) for back in state.setup.backs}
        found.append(what)
    return found


def _unused_name(state: State, back: str) -> str:
    """The first name of this form that no deck has used."""
    used = {*state.decks, *state.retired}
    return next(name for number in itertools.count(1) if (name := f"{back}-{number}") not in used)


def _type_of(kind: Any) -> dict[str, Any]:
    options = (
        [kind]
        if get_origin(kind) not in (Union, types.UnionType)
        else [k for k in get_args(kind) if k is not type(None)]
    )
    first = options[0]
    if first is bool:
        return {"type": "boolean"}
    if first is int:
        return {"type": "integer"}
    if get_origin(first) is tuple:
        return {"type": "cards" if get_args(first)[0] is str else "integers"}
    return {"type": "string"}


def _choices(kind: type[Action], name: str, of: Any, state: State) -> list[Any] | None:
    if name == "deck":
        return None if kind is ReceiveDeck else list(state.decks)
    if name == "device":
        return list(state.devices)
    if name == "back":
        return list(state.setup.backs)
    if name == "how":
        return list(OUT_HOW)
    if name == "warning":
        return list(state.warnings)
    if name == "method":
        return [str(method) for method in state.setup.game.programme if method is not state.method]
    if name in ("kinds", "was"):
        return list(state.setup.game.kinds)
    if name == "seat":
        return list(range(1, state.setup.seats + 1))
    if name == "bet":
        return list(described(state.setup.game).bets)
    if name == "irregularity":
        return list(described(state.setup.game).irregularities)
    if name == "cut_by":
        return [seat for seat in state.round.seats if seat != state.round.button] if state.round else []
    if name == "choice" and kind is CorrectDecision:
        game = described(state.setup.game)
        return [*game.places, *game.answers] if state.round else []
    if name == "choice":
        turn = turn_due(state, state.round) if state.round else None
        return [*turn.choices, *turn.anybody] if turn else []
    if name == "person":
        return [who for who in state.wrong_pins if who]
    if name == "round":
        return requestable_rounds(state)
    if name == "target" and state.round:
        return list(dict.fromkeys(stack.target for stack in state.round.plan))
    if name == "target":
        return [*(ledger.seat(number) for number in range(1, state.setup.seats + 1)), *state.setup.game.hands()]
    if name == "place":
        return sorted({place for deck in state.decks.values() for place, cards in deck.cards.items() if cards})
    if isinstance(of, type) and issubclass(of, StrEnum):
        return [str(value) for value in of]
    return None


def _texts(name: str, state: State) -> dict[str, str]:
    """What the choices of a field mean, where their names do not say it."""
    if name != "irregularity":
        return {}
    return {name: found.text for name, found in described(state.setup.game).irregularities.items()}


def _possible(kind: type[Action], name: str, choices: list[Any], state: State) -> list[Any]:
    """Those of the choices for which the action makes sense now; all if there is none (the rules say why)."""
    if name == "was" or (name == "kinds" and kind is CorrectDecision):
        known = state.round.kinds.values() if state.round else ()
        return [card for cards in known for card in cards]
    if name == "kinds" and kind is not ReconstructHands:  # it names cards that were seen
        return _left(state)
    if name == "target" and kind in _HANDS and state.round:
        return [choice for choice in choices if _HANDS[kind](state, state.round, choice)] or choices
    if name == "bet":
        return _bets_to_ask_for(state)
    if name not in ("deck", "device"):
        return choices
    return [choice for choice in choices if not why_not(state, kind.leads_to, **{name: choice})] or choices


def _bets_to_ask_for(state: State) -> list[str]:
    """The bets that can be made now, and those that were recorded all the same: they can be taken back."""
    game = described(state.setup.game)
    offered = game.offered(options_of(state)) if game.offered else game.bets
    recorded = {bet for bets in state.bets.values() for bet in bets} - set(game.session_bets)
    made = [bet for bet in offered if not game.bet_fault(record_between(state), bet)]
    return [bet for bet in game.bets if bet in made or bet in recorded]


def _left(state: State) -> list[str]:
    """The kinds of cards of which the deck of this round has some that were not seen."""
    game, round_ = state.setup.game, state.round
    seen = state.decks[round_.deck].seen if round_ and round_.deck in state.decks else {}
    return [kind for kind, copies in zip(game.kinds, game.copies, strict=True) if seen.get(kind, 0) < copies]


def _may_decide(state: State, round_: Round, hand: str) -> bool:
    turn = turn_due(state, round_)
    return turn is not None and (hand == turn.hand or bool(turn.anybody))


# The hands that an action is about.
_HANDS: dict[type[Action], Callable[[State, Round, str], object]] = {
    EnterCards: cards_wanted,
    CorrectCards: lambda state, round_, hand: round_.kinds.get(hand),
    CorrectDecision: lambda state, round_, hand: round_.kinds.get(hand),
    DecideHand: _may_decide,
}


def actions_now(state: State, now_ms: int) -> Iterator[dict[str, Any]]:
    """Every action, with whether it is allowed and why not.

    The caller may let the state change between two of them; all describe the state as it was for the first.
    """
    encoded = encode(state)
    state = copy.deepcopy(state)
    game = described(state.setup.game)
    for name, kind in ACTIONS.items():
        refusal = _refusal(kind, state, encoded, now_ms)
        yield {
            "action": name,
            "title": title(kind),
            "text": (kind.__doc__ or "").strip().splitlines()[0],
            "consequence": kind.consequence,
            "about": _about(kind, state),
            "roles": [str(role) for role in kind.roles],
            "pin": Role.DEALER not in kind.roles,
            "in_game": kind not in _OF_SOME_GAMES or bool(_OF_SOME_GAMES[kind](game)),
            "optional": kind in _RECORDS and not (game.must_settle or game.must_decide),
            "allowed": refusal is None,
            "why_not": refusal,
            "fields": fields_of(kind, state),
        }


def _about(kind: type[Action], state: State) -> str:
    """What an action would change now, if that is not among its fields: the count that a correction replaces."""
    last = correctable(state) if kind is CorrectCount else None
    return f"{last.who} counted {cards(last.cards)} of deck {last.deck} {where(last.place)}." if last else ""


def _refusal(kind: type[Action], state: State, encoded: bytes, now_ms: int) -> dict[str, Any] | None:
    """Why the table would refuse an action now; None if it would accept it for some deck, device and other values."""
    first: dict[str, Any] | None = None
    not_now = why_not(state, kind.leads_to)
    for fields in itertools.islice(_trials(kind, state), 1 if not_now else None):
        role = Role.FLOOR if Role.FLOOR in kind.roles else kind.roles[0]
        trial: Any = kind(who=_counter(kind, state), role=role, **fields)
        made = Table(decode(encoded)).handle(trial, now_ms / 1000)
        entry = next((entry for entry in made if isinstance(entry.event, ActionRefused)), None)
        if entry is None or not isinstance(entry.event, ActionRefused) or entry.event.confirm:
            return None
        first = first or _as_json(entry.event.reason, entry.event.possible_when, entry.clause)
    if first is None and not not_now and kind is DecideHand and state.round and turn_due(state, state.round):
        return None  # only a win can be declared, and nobody knows with which cards
    if first is None and not_now:
        first = _as_json(not_now.reason, not_now.possible_when, cite(state, not_now.rules))
    empty = next((field.name for field in _fields(kind) if _choices(kind, field.name, field.type, state) == []), "")
    return first or _as_json(*_NOTHING.get(empty, ("it has nothing to apply to", "it has")), ())


# Why an action is not possible if there is nothing to choose for a field, and when it is.
_NOTHING = {
    "deck": ("no deck is at the table", "a deck is at the table"),
    "device": ("the table has no device", "it has one"),
    "warning": ("there is no warning", "there is one"),
    "person": ("nobody is locked out", "somebody is locked out"),
    "round": ("the shoe has no hidden hands of a void round", "a round is void, and the shoe recognises cards"),
    "place": ("no cards are at the table", "cards are at the table"),
    "bet": ("the game has no bets that are recorded", "another game is played"),
    "irregularity": ("the game has none that are reported in this way", "another game is played"),
    "choice": ("no decision is due", "it is a hand's turn"),
    "method": ("the game has no other dealing method", "another game is played"),
}


_VALUES: dict[str, list[Any]] = {"boolean": [True], "integer": [0, 1], "integers": [(1,)], "cards": [()]}


def _trials(kind: type[Action], state: State) -> Iterator[dict[str, Any]]:
    """Values for the fields of an action that a person has to fill in, in every combination worth trying."""
    if kind is DecideHand and state.round and (turn := turn_due(state, state.round)):
        yield from _trial_decisions(turn, _left(state))
        return
    names: list[str] = []
    values: list[list[Any]] = []
    for field in _fields(kind):
        if field.name in _BY_WHOM:
            continue
        choices: list[Any] | None = _choices(kind, field.name, field.type, state)
        if kind is CloseBets and not state.seats:
            choices = list(itertools.combinations(range(1, state.setup.seats + 1), state.setup.game.fewest_seats))
        elif field.name == "counts":
            choices = [packed_counts(state.setup.game)]
        elif kind is DealCards and field.name == "kinds" and _face_up(state):
            choices = _trial_cards(kind, state)
        elif not field.required and not (field.name == "target" and choices):
            continue
        elif field.name == "kinds":
            choices = _trial_cards(kind, state)
        elif choices is None:
            choices = _VALUES.get(_type_of(field.type)["type"], ["\0"])
        names.append(field.name)
        values.append(choices)
    for combination in itertools.product(*values):
        yield dict(zip(names, combination, strict=True))


def _face_up(state: State) -> bool:
    """Whether the next cards are dealt face up, so that they are named when they are dealt."""
    stack = next_stack(state.round) if state.round else None
    return stack is not None and stack.face_up is True


def _trial_decisions(turn: PlayerTurn, left: list[str]) -> Iterator[dict[str, Any]]:
    """Decisions of the hand whose turn it is, each with a number of cards or with cards that fit."""
    for choice in turn.choices:
        kinds = left[: turn.enter[choice]] if choice in turn.enter else turn.cards[:1]
        number = turn.numbers[choice][0] if choice in turn.numbers else 0
        yield {"target": turn.hand, "choice": choice, "number": number, "kinds": tuple(kinds)}


def _trial_cards(kind: type[Action], state: State) -> list[Any]:
    """Cards that could be entered now: as many as are wanted of one hand, and not dealt before."""
    round_, game = state.round, state.setup.game
    if round_ is None:
        return [()]
    deck = state.decks.get(round_.deck)
    left = [
        name
        for name, copies in zip(game.kinds, game.copies, strict=True)
        for _ in range(copies - (deck.seen.get(name, 0) if deck else 0))
    ]
    wanted = {cards_wanted(state, round_, hand) for hand in {stack.target for stack in round_.plan}} if deck else set()
    return [tuple(left[:number]) for number in sorted(wanted | {1})]


def _counter(kind: type[Action], state: State) -> str:
    """Who tries an action: a count is corrected by whoever entered it."""
    return state.last_count.who if kind is CorrectCount and state.last_count else "\0"


def _as_json(reason: str, possible_when: str, clause: tuple[str, ...]) -> dict[str, Any]:
    return {"reason": reason, "possible_when": possible_when, "clause": list(clause)}


def action_named(body: object) -> type[Action]:
    """The action that a request names."""
    if not isinstance(body, dict) or not isinstance(body.get("action"), str):
        raise BadAction("bad_field", "`action` is missing: the name of an action", LIST_HINT)
    kind = ACTIONS.get(body["action"])
    if kind is None:
        raise BadAction("unknown_action", f"unknown action {body['action'][:40]!r}", LIST_HINT)
    return kind


def take_credentials(body: dict[str, Any]) -> Credentials:
    """Take name and PIN out of a request, so that they go nowhere else."""
    found = {name: body.pop(name) for name in ("name", "pin") if name in body}
    try:
        return msgspec.convert(found, Credentials)
    except msgspec.ValidationError as error:
        raise BadAction("bad_field", str(error), "expected a name and a PIN") from None


def build(kind: type[Action], body: dict[str, Any], who: str, role: Role, origin: str = "") -> Action:
    """The action itself; BadAction says what is wrong with the request."""
    known = {field.name for field in _fields(kind)} - _BY_WHOM
    expected = f"expected fields: {', '.join(known) or 'none'}"
    for name in body:
        if name not in known and name not in ("action", "role"):
            raise BadAction("bad_field", f"{body['action']} has no field {name[:40]!r}", expected)
    try:
        action = msgspec.convert({**body, "who": who, "role": str(role), "origin": origin}, kind)
    except msgspec.ValidationError as error:
        raise BadAction("bad_field", str(error), expected) from None
    for name in known:
        value = getattr(action, name)
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, int) and not -(2**31) < number < 2**31 for number in numbers):
            raise BadAction("bad_field", f"{name}: the number is too large", "enter a smaller number")
        if isinstance(value, str) and (len(value) > 80 or not value.isprintable()):
            raise BadAction("bad_field", f"{name}: expected at most 80 printable characters", "use a shorter text")
        if isinstance(value, tuple) and len(value) > 32:
            raise BadAction("bad_field", f"{name}: too many values", "send at most 32")
    return action

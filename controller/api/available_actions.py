"""What people can do now: every action with its fields, who may do it, and whether the table would take it.

Whether it would is found by trying it on a copy of the state: the rules live in the core and nowhere else.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

import msgspec

from controller.core import ledger
from controller.core.actions import Action, AnyAction, CloseBets, Configure, OnDeck, OnDevice, ReceiveDeck, Role
from controller.core.decision import cite, why_not
from controller.core.events.table import ActionRefused
from controller.core.rules.service import OUT_HOW
from controller.core.state import State, decode, encode
from controller.core.table import Table

# A set-up comes with the configuration, never through a door.
ACTIONS: dict[str, type[Action]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyAction) if kind is not Configure
}


_fields = functools.cache(msgspec.structs.fields)  # it reads the annotations anew each time, for 0.1 ms


class BadAction(Exception):
    """A request that is no action; `code` says how."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


def title(kind: type[Action]) -> str:
    """What stands on the button: `CloseBets` as `Close bets`."""
    name = "".join(f" {c.lower()}" if c.isupper() else c for c in kind.__name__).strip()
    return name[0].upper() + name[1:]


def fields_of(kind: type[Action], state: State) -> list[dict[str, Any]]:
    """What must be said with an action, and what can be said."""
    found = []
    for field in _fields(kind):
        if field.name in ("who", "role"):
            continue
        what = {"name": field.name, "required": field.required, **_type_of(field.type)}
        choices = _choices(kind, field.name, field.type, state)
        if choices is not None:
            what |= {"type": "choice", "choices": choices}
        if not field.required:
            what["default"] = field.default if field.default is not msgspec.NODEFAULT else None
        found.append(what)
    return found


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
        return {"type": "integers"}
    return {"type": "string"}


def _choices(kind: type[Action], name: str, of: Any, state: State) -> list[str] | None:
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
    if name == "person":
        return [who for who in state.wrong_pins if who]
    if name == "target":
        return [*(ledger.seat(number) for number in range(1, state.setup.seats + 1)), *state.setup.game.hands()]
    if name == "place":
        return sorted({place for deck in state.decks.values() for place, cards in deck.cards.items() if cards})
    if isinstance(of, type) and issubclass(of, StrEnum):
        return [str(value) for value in of]
    return None


def offers(state: State, now_ms: int) -> Iterator[dict[str, Any]]:
    """All actions, with whether each is allowed and why not. The state may change between two of them: all are told of
    the one that the first was told of.
    """
    kept = encode(state)
    state = copy.deepcopy(state)
    for name, kind in ACTIONS.items():
        refusal = _tried(kind, state, kept, now_ms)
        yield {
            "action": name,
            "title": title(kind),
            "text": (kind.__doc__ or "").strip().splitlines()[0],
            "roles": [str(role) for role in kind.roles],
            "allowed": refusal is None,
            "why_not": refusal,
            "fields": fields_of(kind, state),
        }


def _tried(kind: type[Action], state: State, kept: bytes, now_ms: int) -> dict[str, Any] | None:
    """Why the table would refuse an action now; None if it would take it for some deck and device.

    Where numbers must be said with it, only the machines are asked: what is said decides the rest.
    """
    decks = list(state.decks) if issubclass(kind, OnDeck) and kind is not ReceiveDeck else [""]
    devices = list(state.devices) if issubclass(kind, OnDevice) else [""]
    said = {"who", "role", "deck", "device"}
    others = [field for field in _fields(kind) if field.required and field.name not in said]
    first: dict[str, Any] | None = None
    for deck in decks:
        for device in devices:
            refusal = why_not(state, kind.leads_to, deck, device) or why_not(state, kind.leads_to)
            if refusal is None and others:
                return None
            told = _no(refusal.reason, refusal.possible_when, cite(state, refusal.rules)) if refusal else None
            if told is None:
                fields: dict[str, Any] = {"deck": deck} if deck else {"device": device} if device else {}
                if kind is CloseBets and not state.seats:
                    fields["seats"] = (1,)  # who closes the bets says who has wagered
                trial: Any = kind(who="\0", role=kind.roles[0], **fields)
                made = Table(decode(kept)).handle(trial, now_ms / 1000)
                refused = next((entry for entry in made if isinstance(entry.event, ActionRefused)), None)
                if refused is None or not isinstance(refused.event, ActionRefused):
                    return None
                told = _no(refused.event.reason, refused.event.possible_when, refused.clause)
            first = first or told
    return first or _no("there is nothing to do it with", "there is", ())


def _no(reason: str, possible_when: str, clause: tuple[str, ...]) -> dict[str, Any]:
    return {"reason": reason, "possible_when": possible_when, "clause": list(clause)}


def named(body: object) -> type[Action]:
    """The action that a request names."""
    if not isinstance(body, dict) or not isinstance(body.get("action"), str):
        raise BadAction(
            "bad_field", "a request needs `action`, the name of an action", "GET /api/v1/actions lists them"
        )
    kind = ACTIONS.get(body["action"])
    if kind is None:
        raise BadAction(
            "unknown_action", f"there is no action {body['action'][:40]!r}", "GET /api/v1/actions lists them"
        )
    return kind


def build(kind: type[Action], body: dict[str, Any], who: str, role: Role) -> Action:
    """The action itself; BadAction names what is wrong with the request."""
    known = {field.name for field in _fields(kind)} - {"who", "role"}
    for name in body:
        if name not in known and name not in ("action", "role"):
            raise BadAction(
                "bad_field", f"{body['action']} has no field {name[:40]!r}", f"it has: {', '.join(known) or 'none'}"
            )
    try:
        action = msgspec.convert({**body, "who": who, "role": str(role)}, kind)
    except msgspec.ValidationError as error:
        raise BadAction("bad_field", str(error), f"{body['action']} has: {', '.join(known) or 'no fields'}") from None
    for name in known:
        value = getattr(action, name)
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, int) and not -(2**31) < number < 2**31 for number in numbers):
            raise BadAction("bad_field", f"{name}: the number is too large", "use the number that was seen")
        if isinstance(value, str) and (len(value) > 80 or not value.isprintable()):
            raise BadAction("bad_field", f"{name}: at most 80 plain characters", "use a shorter text")
        if isinstance(value, tuple) and len(value) > 32:
            raise BadAction("bad_field", f"{name}: too many values", "at most 32")
    return action

"""The OpenAPI 3.1 description of the API.

Request schemas are derived from the types that decode the requests, event schemas from the registry of events.
"""

from __future__ import annotations

from typing import Any

import msgspec

from controller.api import available_actions
from controller.api.bystander import OPEN_REQUESTS
from controller.api.game_view import GameView
from controller.api.history import DEVICES, ORIGINS
from controller.api.requests import ScreenRequest, SignInRequest, SignOutRequest, UnlockRequest
from controller.core.actions import Role
from controller.core.events import KINDS
from controller.core.flows import Goal
from controller.core.state import State
from controller.daemon.version import VERSION

_JSON_TYPE: dict[str, dict[str, Any]] = {
    "string": {"type": "string", "maxLength": 80},
    "choice": {"type": "string", "maxLength": 80},
    "integer": {"type": "integer", "minimum": -(2**31) + 1, "maximum": 2**31 - 1},
    "integers": {"type": "array", "maxItems": 32, "items": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}},
    "cards": {"type": "array", "maxItems": 32, "items": {"type": "string", "maxLength": 80}},
    "boolean": {"type": "boolean"},
}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 10**17}
_WORD: dict[str, Any] = {"type": "string", "maxLength": 200}
_CREDENTIALS = {
    "name": "the person who acts, if nobody is signed in or the action needs a PIN",
    "pin": "the person's PIN; needed for what a dealer may not do",
}
_ERRORS = {
    400: "The request is invalid; the message says why.",
    401: "Somebody must sign in or enter their PIN, or the PIN is wrong.",
    403: "The user does not have the required role, or another page sent the request.",
    404: "No such resource.",
    408: "The request did not arrive in time.",
    409: "The table refuses the action; gives reason, clause and when it is possible. With `confirm`, the same request "
    "is accepted with `confirmed`. The refusal is journaled.",
    413: "The request is too long.",
    429: "Too many wrong PINs, or too many streams; `retry_after_ms` is how long to wait.",
    501: "The journal contains an event that this version cannot read.",
    503: "The table has stopped, or too many searches are under way; the message says why.",
}


def _action_schema(name: str, kind: type[Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "action": {"const": name},
        "role": {
            "enum": [str(role) for role in Role],
            "description": "the role to act in; if omitted, the first that is allowed",
        },
    }
    for given, text in _CREDENTIALS.items():
        properties[given] = {"type": "string", "maxLength": 80, "description": text}
    required = ["action"]
    for field in available_actions.fields_of(kind, State()):
        properties[field["name"]] = dict(_JSON_TYPE[field["type"]])
        if field["required"]:
            required.append(field["name"])
    return {
        "type": "object",
        "title": available_actions.title(kind),
        "description": " ".join(filter(None, [(kind.__doc__ or "").strip().splitlines()[0], kind.consequence])),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """An object that always has these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _event_schema() -> dict[str, Any]:
    """An event of any kind; the kind determines which component describes its data."""
    made = _object(
        {
            "seq": {"type": "integer", "minimum": 1, "description": "the event's number in the journal"},
            "ts": {"type": "string", "format": "date-time"},
            "kind": {"enum": list(KINDS)},
            "clause": {
                "type": "array",
                "items": {"type": "string"},
                "description": "the clauses of the rules of the game that it cites",
            },
            "data": {"type": "object"},
            "text": {"type": "string", "description": "the event as an English sentence"},
        }
    )
    made["description"] = "A journal event. A journal written by another version may contain further kinds."
    made["oneOf"] = [
        {"properties": {"kind": {"const": kind}, "data": _ref(event.__name__)}} for kind, event in KINDS.items()
    ]
    return made


def _response(text: str, kind: str = "application/json", schema: dict[str, Any] | None = None) -> dict[str, Any]:
    default = {"type": "object"} if kind == "application/json" else {"type": "string"}
    return {"description": text, "content": {kind: {"schema": schema or default}}}


def _operation(
    text: str,
    errors: tuple[int, ...] = (),
    query: dict[str, dict[str, Any]] | None = None,
    path: dict[str, dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    kind: str = "application/json",
    response: dict[str, Any] | None = None,
) -> dict[str, Any]:
    made: dict[str, Any] = {"summary": text, "responses": {"200": _response(text, kind, response)}}
    for status in sorted({*errors, 403, *((408, 413) if body is not None else ())}):
        _may_fail(made, status)
    parameters = [{"name": n, "in": "query", "required": False, "schema": s} for n, s in (query or {}).items()]
    parameters += [{"name": n, "in": "path", "required": True, "schema": s} for n, s in (path or {}).items()]
    if parameters:
        made["parameters"] = parameters
    if body is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return made


def _may_fail(operation: dict[str, Any], status: int) -> None:
    """Add an error to the responses of a request."""
    error = {"application/json": {"schema": _ref("Error")}}
    found = operation["responses"] | {str(status): {"description": _ERRORS[status], "content": error}}
    operation["responses"] = dict(sorted(found.items()))


def describe() -> dict[str, Any]:
    """The whole document."""
    actions = {name: _action_schema(name, kind) for name, kind in available_actions.ACTIONS.items()}
    typed = (SignInRequest, ScreenRequest, SignOutRequest, UnlockRequest, GameView, *KINDS.values())
    _, schemas = msgspec.json.schema_components(typed, ref_template="#/components/schemas/{name}")
    events = {"type": "array", "items": _ref("Event")}

    search: dict[str, dict[str, Any]] = {
        "after": _NUMBER,
        "before": _NUMBER,
        "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 100},
        "kind": _WORD | {"description": "an event kind, or a group of kinds such as `deck`"},
        "round": _NUMBER | {"description": "everything from the first to the last event of this round"},
        "deck": _WORD,
        "device": {"enum": list(DEVICES)},
        "who": _WORD | {"description": "the person who acted"},
        "origin": {"enum": list(ORIGINS), "description": "where an action came from"},
        "since": _WORD | {"description": "a time in UTC, such as `2026-01-31` or `2026-01-31T23:59`"},
        "until": _WORD | {"description": "a time in UTC; the whole day, minute or second is included"},
        "text": _WORD | {"description": "words that must all occur in the event"},
        "newest": {"enum": ["0", "1"], "description": "1 for the newest events"},
    }
    some = {name: search[name] for name in ("limit", "before", "round", "who", "since", "until")}
    simulation = {
        "type": "object",
        "properties": {
            "do": {
                "enum": [
                    *("inject", "mend", "load", "take", "gather", "press", "door"),  # by hand, at the devices
                    *("pause", "resume", "help", "speed"),  # the robot dealer
                ]
            },
            "device": {"type": "string"},
            "fault": {"type": "string"},
            "after_cards": {"type": "integer", "minimum": 0, "maximum": 1000},
            "for_s": {"type": ["number", "null"], "minimum": 0, "maximum": 3600},
            "deck": {"type": "string"},
            "seat": {"type": "integer", "minimum": 0, "maximum": 32},
            "on": {"type": "boolean"},
            "speed": {"type": "number", "minimum": 0.1, "maximum": 100},
            "button": {"type": "string"},
            "is_open": {"type": "boolean"},
        },
        "required": ["do"],
        "additionalProperties": False,
    }
    paths = {
        "/api/v1/table": {
            "get": _operation(
                "The whole state of the table, as the screen shows it.",
                response={
                    "type": "object",
                    "description": "What a bystander gets is a part of it.",
                    "anyOf": [_ref("GameView"), {"required": ["bystander"]}, {"required": ["stopped"]}],
                },
            )
        },
        "/api/v1/events": {
            "get": _operation(
                "Search the journal's events.",
                (400, 503),
                search,
                response=_object({"events": events, "head": _NUMBER}),
            )
        },
        "/api/v1/events/stream": {
            "get": _operation(
                "Live events (server-sent); `Last-Event-ID` or `after` resumes.",
                (400, 429),
                {"after": _NUMBER, "only": {"enum": ["journal", "table"]}},
                kind="text/event-stream",
            )
        },
        "/api/v1/actions": {
            "get": _operation("All actions: whether each is allowed now, and if not, why.", (503,)),
            "post": _operation(
                "Take an action at the table.",
                (400, 401, 409, 429, 503),
                body={"oneOf": [_ref(name) for name in actions]},
                response=_object({"done": {"const": True}, "events": events, "step": {"type": ["object", "null"]}}),
            ),
        },
        "/api/v1/flows": {"get": _operation("The goals to which people can be guided now.", (503,))},
        "/api/v1/flows/{goal}": {
            "get": _operation(
                "The way to a goal: its tasks, and the step to take now.",
                (404, 503),
                {"about": _WORD | {"description": "the deck or the device that the goal concerns"}},
                {"goal": {"enum": [str(goal) for goal in Goal]}},
            )
        },
        "/api/v1/rounds": {"get": _operation("The latest rounds.", (400, 503), some)},
        "/api/v1/rounds/{number}": {
            "get": _operation("One round, rebuilt from the journal.", (404, 501, 503), path={"number": _NUMBER})
        },
        "/api/v1/devices": {"get": _operation("The devices and their links.")},
        "/api/v1/devices/{name}/frames": {
            "get": _operation(
                "The latest frames on a device's link, without their contents.", (404,), path={"name": _WORD}
            )
        },
        "/api/v1/rules": {
            "get": _operation("Every clause, the code that enforces it and the tests that prove it.", (503,))
        },
        "/api/v1/journal": {
            "get": _operation("The journal: its size, its last event, how far it has been verified.", (503,))
        },
        "/api/v1/session": {
            "get": _operation("Who is signed in here, and this page's token.", (503,)),
            "post": _operation("Sign in.", (400, 401, 429, 503), body=_ref("SignInRequest")),
            "delete": _operation("Sign out.", (400,), body=_ref("SignOutRequest")),
        },
        "/api/v1/session/screen": {
            "post": _operation("Present the token of the table's own screen.", (400, 401), body=_ref("ScreenRequest")),
        },
        "/api/v1/people": {"get": _operation("The people who work at this table.", (503,))},
        "/api/v1/people/unlock": {
            "post": _operation("End a lock-out.", (400, 401, 409, 429, 503), body=_ref("UnlockRequest"))
        },
        "/api/v1/simulation": {
            "get": _operation("The simulated devices and the robot dealer; only in a simulation.", (404,)),
            "post": _operation(
                "Inject a fault, handle a device, or pause the robot dealer.", (400, 404), body=simulation
            ),
        },
        "/api/v1/openapi.json": {"get": _operation("This description.", (503,))},
        "/metrics": {"get": _operation("Metrics for Prometheus.", kind="text/plain")},
        "/healthz": {"get": _operation("Whether the table is running.", (503,))},
    }
    for path, methods in paths.items():
        for method, operation in methods.items():
            if method.upper() not in OPEN_REQUESTS.get(path, ()):
                _may_fail(operation, 401)
    error = _object({"error": _object({name: {"type": "string"} for name in ("code", "message", "hint")})})
    schemas = msgspec.json.decode(msgspec.json.encode(schemas))  # defaults that are tuples become lists
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dragonshoe control API", "version": VERSION},
        "paths": paths,
        "components": {"schemas": {"Error": error, "Event": _event_schema(), **schemas, **actions}},
    }

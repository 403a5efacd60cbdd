"""What a request may bring, and what it gets: values checked one by one, an answer in JSON, or an error that says what
to do.
"""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from controller.api.event_stream import encode
from controller.core.actions import Role

LONGEST_BODY = 16_384


class ApiError(Exception):
    """What a request gets instead of an answer."""

    def __init__(self, status: int, code: str, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"code": code, "message": message, "hint": hint, **more}}


class SignInRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A name and a PIN."""

    name: str
    pin: str


class SignOutRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Which role to sign out; all without it."""

    role: Role | None = None


class UnlockRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Whose lock-out ends."""

    name: str


class Query:
    """The values after the question mark, each checked."""

    def __init__(self, request: Request) -> None:
        self._values = request.query_params

    def text(self, name: str) -> str:
        """What is said there; empty without it."""
        value = self._values.get(name, "")
        if len(value) > 200 or "\0" in value:
            raise ApiError(400, "bad_field", f"{name}: at most 200 plain characters", "")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ApiError(400, "bad_field", f"{name}: this is no text", "") from None
        return value

    def number(self, name: str, default: int) -> int:
        """The whole number that is said there."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise ApiError(400, "bad_field", f"{name}: found {text[:40]!r}; a whole number is wanted", "")
        return int(text)


async def take_rest(request: Request) -> None:
    """Take what is left of a request that is refused: a connection closed on unread bytes would lose the answer."""
    left = 4 * LONGEST_BODY
    with contextlib.suppress(RuntimeError, ClientDisconnect):  # it was taken already, or nobody is there
        async for part in request.stream():
            left -= len(part)
            if left < 0:
                return


async def body_of(request: Request) -> Any:
    """The body as JSON, if it is not too long."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LONGEST_BODY:
            raise ApiError(413, "too_long", f"a request has at most {LONGEST_BODY} bytes", "send less")
    try:
        return msgspec.json.decode(data or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, "bad_json", f"the body is no JSON: {error}", "send a JSON object") from None


async def typed(request: Request, kind: type[Any]) -> Any:
    """The body as one of the types above."""
    body = await body_of(request)
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, "bad_field", str(error), "GET /api/v1/openapi.json describes every request") from None


def table_stopped(why: str) -> ApiError:
    """What everybody gets while the table does nothing."""
    return ApiError(
        503, "journal_stopped", f"the table has stopped: {why}", "a technician sees to it; it goes on by itself"
    )


def raw(data: bytes, status: int = 200) -> Response:
    """An answer of what is JSON already."""
    return Response(data, status, {"Cache-Control": "no-store"}, "application/json")


def in_json(value: Any, status: int = 200) -> Response:
    """An answer of anything."""
    return raw(encode(value), status)

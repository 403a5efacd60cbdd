"""Requests and responses: body and query values are checked here, and errors say what to do about them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from controller.api.encoding import encode
from controller.core.actions import Role

MAX_BODY_BYTES = 16_384
BODY_S = 10.0  # how long a body may take to arrive
DRAIN_S = 2.0  # how long the rest of a refused request may take


class ApiError(Exception):
    """An error response."""

    def __init__(self, status: int, code: str, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"code": code, "message": message, "hint": hint, **more}}


def stopping() -> ApiError:
    """The answer to a request that arrives while the controller stops."""
    return ApiError(503, "stopping", "the controller is stopping", "try again in a moment", retry_after_ms=2000)


class SignInRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A name and a PIN."""

    name: str
    pin: str


class ScreenRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The token of the table's own screen."""

    token: Annotated[str, msgspec.Meta(max_length=128)]


class SignOutRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The role to sign out; all roles if omitted."""

    role: Role | None = None


class Credentials(msgspec.Struct):
    """The name and PIN that come with an action."""

    name: Annotated[str, msgspec.Meta(max_length=80)] = ""
    pin: Annotated[str, msgspec.Meta(max_length=80)] = ""


class UnlockRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The person whose lock-out ends, and the name and PIN of the floorperson who ends it."""

    name: str
    by: str = ""
    pin: str = ""


class Query:
    """Query parameters, each checked when it is read."""

    def __init__(self, request: Request) -> None:
        self._values = request.query_params

    def text(self, name: str) -> str:
        """A text parameter; empty if omitted."""
        value = self._values.get(name, "")
        if len(value) > 200 or "\0" in value:
            text = f"{name}: too long, or contains a null character"
            raise ApiError(400, "bad_field", text, "use at most 200 characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ApiError(400, "bad_field", f"{name}: not valid UTF-8", "encode the value as UTF-8") from None
        return value

    def number(self, name: str, default: int) -> int:
        """A parameter that is a whole number."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise ApiError(400, "bad_field", f"{name}: expected a whole number, found {text[:40]!r}", "")
        return int(text)


async def drain(request: Request) -> bool:
    """Read the rest of a request that is refused: closing the connection on unread bytes could lose the response.

    Returns whether it has ended. One that does not end is cut off with the connection.
    """
    left = 4 * MAX_BODY_BYTES
    try:
        async with asyncio.timeout(DRAIN_S):
            async for part in request.stream():
                left -= len(part)
                if left < 0:
                    return False
    except (RuntimeError, ClientDisconnect):  # already read, or the client has gone
        return True
    except TimeoutError:
        return False
    return True


async def read_body(request: Request) -> Any:
    """The body as JSON, if it is not too long."""
    data = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                data += part
                if len(data) > MAX_BODY_BYTES:
                    raise ApiError(413, "too_long", f"the body is longer than {MAX_BODY_BYTES} bytes", "send less")
    except TimeoutError:
        raise ApiError(408, "too_slow", f"the body did not arrive within {BODY_S:.0f} s", "send it at once") from None
    try:
        return msgspec.json.decode(data or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, "bad_json", f"the body is not valid JSON: {error}", "send a JSON object") from None


async def read_typed(request: Request, kind: type[Any]) -> Any:
    """The body as one of the types above."""
    body = await read_body(request)
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, "bad_field", str(error), "GET /api/v1/openapi.json describes every request") from None


def table_stopped(why: str) -> ApiError:
    """The response to every request that needs the table while it is stopped."""
    return ApiError(
        503, "journal_stopped", f"the table has stopped: {why}", "call a technician; the table resumes by itself"
    )


def error_response(error: ApiError, *, close: bool = False) -> Response:
    """The response to a request that is refused; `close` also closes the connection."""
    response = json_response(error.body, error.status)
    retry_after_ms = error.body["error"].get("retry_after_ms")
    if retry_after_ms:
        response.headers["Retry-After"] = str(-(-retry_after_ms // 1000))
    if close:
        response.headers["Connection"] = "close"
    return response


def json_bytes_response(data: bytes, status: int = 200) -> Response:
    """A response whose body is already JSON."""
    return Response(data, status, {"Cache-Control": "no-store"}, "application/json")


def json_response(value: Any, status: int = 200) -> Response:
    """A response with any value as JSON."""
    return json_bytes_response(encode(value), status)

"""Signing in and out at the screen, and the list of people."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from controller.api.access import COOKIE, Access
from controller.api.requests import ApiError, SignInRequest, SignOutRequest, json_response, read_typed
from controller.api.sessions import MINUTE_MS, Screen, SignedIn
from controller.api.table_view import locked_names
from controller.core.actions import Role
from controller.daemon.config import ScreenConfig
from controller.daemon.daemon import Daemon

NO_SIGN_IN = "at the Unix socket, system groups give the roles"


class SignInHandlers:
    """The handlers of these requests. `changed` is called when the view of the table has changed."""

    def __init__(self, daemon: Daemon, access: Access, changed: Callable[[], None]) -> None:
        self._daemon = daemon
        self._access = access
        self._changed = changed

    async def get_people(self, request: Request) -> Response:
        locked = locked_names(self._daemon.state, self._daemon.now_ms)
        people = [
            {"name": p.name, "roles": [str(role) for role in p.roles], "locked_until_ms": locked.get(p.name)}
            for p in self._access.people().person
        ]
        return json_response({"people": people})

    async def get_session(self, request: Request) -> Response:
        peer = self._access.peer(request)
        if peer is not None:
            roles = peer.roles(self._daemon.config.control)
            return json_response({"people": [{"name": peer.name, "role": str(role)} for role in roles], "token": None})
        self._access.end_sessions()
        cookie = request.cookies.get(COOKIE)
        screen = self._access.screens.get(cookie)
        if screen is None:
            cookie, screen = self._access.screens.add()
        return self._session(screen, cookie)

    def _session(self, screen: Screen, cookie: str | None) -> Response:
        people = [
            {"name": who.name, "role": str(who.role), "expires_ms": who.until_ms} for who in screen.people.values()
        ]
        response = json_response({"people": people, "token": screen.token})
        if cookie:
            response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return response

    async def post_session(self, request: Request) -> Response:
        found = await read_typed(request, SignInRequest)
        if self._access.peer(request) is not None or self._access.screen(request) is None:
            raise ApiError(400, "bad_field", "sign-in is only possible at the screen", NO_SIGN_IN)
        person = await self._access.pins.check(found.name, found.pin, "screen")
        screen = self._access.screen(request)
        if screen is None:
            raise ApiError(403, "bad_token", "this page's session has ended", "reload the page")
        # Signing in changes the cookie, so that one planted beforehand is worthless.
        cookie, fresh = self._access.screens.renew(request.cookies.get(COOKIE), screen)
        now_ms, config = self._daemon.now_ms, self._daemon.config.screen or ScreenConfig()
        for role in person.roles:
            minutes = config.dealer_minutes if role is Role.DEALER else config.floor_minutes
            signed_in = SignedIn(person, role, minutes, 0, now_ms + config.longest_minutes * MINUTE_MS)
            signed_in.touch(now_ms)
            self._access.screens.sign_in(fresh, signed_in)
        self._changed()
        return self._session(fresh, cookie)

    async def delete_session(self, request: Request) -> Response:
        found = await read_typed(request, SignOutRequest)
        cookie = request.cookies.get(COOKIE)
        screen = self._access.screens.get(cookie)
        if screen is None:
            raise ApiError(400, "bad_field", "sign-out is only possible at the screen", NO_SIGN_IN)
        self._access.screens.end(screen, (found.role,) if found.role else tuple(screen.people))
        return self._session(screen, cookie)

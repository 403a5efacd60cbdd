"""Signing in and out at the screen, and the list of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from controller.api.access import COOKIE, TOKEN_COOKIE, Access
from controller.api.requests import ApiError, ScreenRequest, SignInRequest, SignOutRequest, json_response, read_typed
from controller.api.sessions import MINUTE_MS, Screen, SignedIn, TooManyScreens
from controller.core.actions import Role
from controller.core.rules.sign_in import locked_until_ms
from controller.daemon.config import ScreenConfig
from controller.daemon.daemon import Daemon
from controller.daemon.people import FLOOR_PIN_DIGITS

YEAR_S = 365 * 86_400
SHORT_PIN = "{name}: your PIN is too short for a floorperson. Ask a technician for one with six digits."
NO_SIGN_IN = "at the Unix socket, system groups give the roles"


class SignInHandlers:
    """The handlers of these requests. `changed` is called when the view of the table has changed."""

    def __init__(self, daemon: Daemon, access: Access, changed: Callable[[], None]) -> None:
        self._daemon = daemon
        self._access = access
        self._changed = changed

    async def get_people(self, request: Request) -> Response:
        state, now_ms, place = self._daemon.state, self._daemon.now_ms, self._access.place(request)
        people = [
            {
                "name": p.name,
                "roles": [str(role) for role in p.roles],
                "locked_until_ms": locked_until_ms(state, p.name, place, now_ms) or None,
            }
            for p in self._access.people().person
        ]
        return json_response({"people": people})

    async def get_session(self, request: Request) -> Response:
        peer = self._access.peer(request)
        if peer is not None:
            roles = peer.roles(self._daemon.config.control)
            people = [{"name": peer.name, "role": str(role)} for role in roles]
            return json_response({"people": people, "token": None, "reads": True})
        self._access.end_sessions()
        cookie, screen = None, self._access.screens.get(request.cookies.get(COOKIE))
        if screen is None:
            cookie, screen = self._add_screen()
        return self._session(screen, self._access.has_token(request), cookie)

    def _add_screen(self) -> tuple[str, Screen]:
        try:
            return self._access.screens.add()
        except TooManyScreens:
            text, hint = "somebody is signed in at every screen that can be open", "sign out at one of them"
            raise ApiError(503, "too_many_screens", text, hint, retry_after_ms=60_000) from None

    def _session(self, screen: Screen, has_token: bool, cookie: str | None = None, **more: Any) -> Response:
        """Who is signed in at this screen; with its new cookie, if it has one. An old cookie is never sent again."""
        people = [
            {"name": who.name, "role": str(who.role), "expires_ms": who.until_ms} for who in screen.people.values()
        ]
        reads = has_token or bool(people)
        response = json_response({"people": people, "token": screen.token, "reads": reads, **more})
        if cookie:
            response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return response

    async def post_screen(self, request: Request) -> Response:
        """The table's own screen presents its token, and gets it as a cookie that outlives a restart."""
        found = await read_typed(request, ScreenRequest)
        screen = self._access.screen(request)
        if screen is None:
            raise ApiError(400, "bad_field", "this is only possible at the screen", NO_SIGN_IN)
        if not self._access.is_token(found.token):
            text = "this is not the token of the table's own screen"
            raise ApiError(401, "wrong_token", text, "open the address that `sudo shoectl screen` prints")
        response = self._session(screen, True)
        response.set_cookie(TOKEN_COOKIE, found.token, YEAR_S, httponly=True, samesite="strict", path="/")
        return response

    async def post_session(self, request: Request) -> Response:
        found = await read_typed(request, SignInRequest)
        if self._access.peer(request) is not None or self._access.screen(request) is None:
            raise ApiError(400, "bad_field", "sign-in is only possible at the screen", NO_SIGN_IN)
        place, client = self._access.place(request), self._access.client(request)
        person = await self._access.pins.check(found.name, found.pin, place, client)
        screen = self._access.screen(request)
        if screen is None:
            raise ApiError(403, "bad_token", "this page's session has ended", "reload the page")
        # Signing in changes the cookie, so that one planted beforehand is worthless.
        cookie, fresh = self._access.screens.renew(request.cookies.get(COOKIE), screen)
        short = Role.FLOOR in person.roles and len(found.pin) < FLOOR_PIN_DIGITS
        now_ms, config = self._daemon.now_ms, self._daemon.config.screen or ScreenConfig()
        for role in person.roles:
            minutes = config.dealer_minutes if role is Role.DEALER else config.floor_minutes
            signed_in = SignedIn(person, role, minutes, 0, now_ms + config.longest_minutes * MINUTE_MS)
            signed_in.touch(now_ms)
            self._access.screens.sign_in(fresh, signed_in)
        self._changed()
        advice = {"advice": SHORT_PIN.format(name=person.name)} if short else {}
        return self._session(fresh, self._access.has_token(request), cookie, **advice)

    async def delete_session(self, request: Request) -> Response:
        found = await read_typed(request, SignOutRequest)
        screen = self._access.screens.get(request.cookies.get(COOKIE))
        if screen is None:
            raise ApiError(400, "bad_field", "sign-out is only possible at the screen", NO_SIGN_IN)
        self._access.screens.end(screen, (found.role,) if found.role else tuple(screen.people))
        return self._session(screen, self._access.has_token(request))

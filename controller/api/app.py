"""The control API: one set of routes for the Unix socket and for the screen, who may do what, and what people do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api import available_actions
from controller.api.event_stream import event_json
from controller.api.fair_queue import Turns
from controller.api.reads import Reads
from controller.api.requests import (
    ApiError,
    SignInRequest,
    SignOutRequest,
    UnlockRequest,
    body_of,
    in_json,
    table_stopped,
    take_rest,
    typed,
)
from controller.api.table_view import locked_names, step
from controller.core.actions import Action, Role
from controller.core.reports import SignIn
from controller.core.rules import sign_in as core_access
from controller.daemon.config import Config, ConfigError
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.people import Peer, People, Screen, Screens, SignedIn, check_pin, read_people
from controller.journal import JournalError, timestamp

COOKIE = "shoed"
ROLE_MINUTES = {Role.DEALER: "dealer_minutes"}  # the others have the floor's
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Headers:
    """Puts the headers that keep a browser safe on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"], *((k.lower().encode(), v.encode()) for k, v in HEADERS.items())
                ]  # fmt: skip
            await send(message)

        await self._app(scope, receive, with_headers)


Answer = Callable[[Request], Awaitable[Response]]


class Api:
    """The application. `app` and `turns` go to the doors."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._config: Config = daemon.config
        self._screens = Screens()
        self._checking = asyncio.Semaphore(1)  # one PIN at a time: guessing is slow however many guess
        self._log = structlog.get_logger()
        self.turns = Turns()
        reads = Reads(daemon, self.turns)
        self.stream = reads.stream
        self.app = Starlette(
            routes=self._routes(reads), middleware=[Middleware(_Headers)], exception_handlers={405: _unknown_method}
        )

    def _routes(self, reads: Reads) -> list[Route]:
        def on(path: str, **methods: Answer) -> Route:
            return Route(
                path, self._guarded(methods), methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
            )

        v1 = "/api/v1"
        return [
            on(f"{v1}/table", GET=reads.table),
            on(f"{v1}/events", GET=reads.events),
            on(f"{v1}/events/stream", GET=reads.live),
            on(f"{v1}/actions", GET=reads.actions, POST=self._post_action),
            on(f"{v1}/rounds", GET=reads.rounds),
            on(f"{v1}/rounds/{{number}}", GET=reads.round),
            on(f"{v1}/devices", GET=reads.devices),
            on(f"{v1}/devices/{{name}}/frames", GET=reads.frames),
            on(f"{v1}/rules", GET=reads.rules),
            on(f"{v1}/journal", GET=reads.journal),
            on(f"{v1}/session", GET=self._get_session, POST=self._post_session, DELETE=self._delete_session),
            on(f"{v1}/people", GET=self._get_people),
            on(f"{v1}/people/unlock", POST=self._post_unlock),
            on(f"{v1}/simulation", GET=self._get_simulation, POST=self._post_simulation),
            on(f"{v1}/openapi.json", GET=reads.description),
            on("/metrics", GET=reads.metrics),
            on("/healthz", GET=reads.health),
            on("/", GET=reads.page),
            on("/web/{path:path}", GET=reads.page),
            on("/{rest:path}"),
        ]

    # --- around every request ---------------------------------------------------------------------------------------

    def _guarded(self, methods: dict[str, Answer]) -> Answer:
        async def answer(request: Request) -> Response:
            try:
                self._admit(request)
                method = "GET" if request.method == "HEAD" else request.method
                if not methods:
                    raise ApiError(
                        404, "not_found", "there is nothing here", "GET /api/v1/openapi.json lists all there is"
                    )
                if method not in methods:
                    raise ApiError(
                        405, "bad_method", f"{request.method} does nothing here", f"use {', '.join(methods)}"
                    )
                if method != "GET":
                    self._check_sender(request)
                await self.turns.mine()  # to let it in, to answer it, to send the answer: three pieces
                told = await methods[method](request)
                await self.turns.mine()
                return told
            except ApiError as error:
                await take_rest(request)
                return in_json(error.body, error.status)
            except TableStopped as stopped:
                return in_json(table_stopped(str(stopped)).body, 503)
            except JournalError as error:
                return in_json(table_stopped(str(error)).body, 503)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception:
                self._log.exception("request failed", method=request.method, path=request.url.path[:200])
                return in_json(
                    ApiError(500, "failed", "the daemon made a mistake", "a technician reads the log").body, 500
                )

        return answer

    def _admit(self, request: Request) -> None:
        """At the socket, people with a role; at the other door, pages from this very machine."""
        peer = self._peer(request)
        if peer is not None:
            if not peer.roles(self._config.control) and request.url.path != "/healthz":
                hint = "an administrator adds you to one of: " + ", ".join(
                    group for role in Role for group in getattr(self._config.control, role)
                )
                raise ApiError(403, "not_your_part", f"{peer.name} has no part at this table", hint)
            return
        host = request.headers.get("host", "")
        if re.sub(r":\d+$", "", host) not in ("127.0.0.1", "localhost", "[::1]"):
            raise ApiError(403, "bad_host", "this screen is for this machine only", "open it as http://127.0.0.1")

    def _check_sender(self, request: Request) -> None:
        """What changes something must come from our own page, not from another that the browser has open."""
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise ApiError(400, "bad_json", "the body must be JSON", "send Content-Type: application/json")
        if self._peer(request) is not None:
            return
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{request.headers.get('host', '')}":
            raise ApiError(403, "bad_origin", "another page sent this", "use the table's own screen")
        screen = self._screens.get(request.cookies.get(COOKIE))
        if screen is None or request.headers.get("x-token") != screen.token:
            raise ApiError(403, "bad_token", "this page is not known here any more", "load the page again")

    def _peer(self, request: Request) -> Peer | None:
        peer: Peer | None = request.scope.get("peer")
        if peer is not None and self._daemon.simulation is not None:
            return Peer(peer.uid, peer.gid, everybody=True)
        return peer

    def _part(self, request: Request, roles: tuple[Role, ...], wanted: str | None) -> tuple[str, Role]:
        """Who asks, and in which role they may; else 401 or 403."""
        if wanted is not None and wanted not in list(Role):
            raise ApiError(400, "bad_field", f"there is no role {str(wanted)[:40]!r}", f"roles: {', '.join(Role)}")
        fits = [role for role in roles if wanted in (None, str(role))]
        peer = self._peer(request)
        if peer is not None:
            theirs = peer.roles(self._config.control)
            held = next((role for role in fits if role in theirs), None)
            if held is None:
                raise ApiError(403, "not_your_part", f"{peer.name} is not {_one_of(fits or roles)} here", "ask one")
            if peer.everybody:  # in a simulation one user plays all parts, each under its own name
                return next((p.name for p in self._people().person if held in p.roles), peer.name), held
            return peer.name, held
        screen = self._screens.get(request.cookies.get(COOKIE))
        people = {who.role: who for who in screen.now_in(self._daemon.now_ms)} if screen else {}
        for role in fits:
            if role in people and screen:
                screen.touch(role, self._daemon.now_ms)
                return people[role].name, role
        raise ApiError(
            401,
            "sign_in_needed",
            f"{_one_of(fits or roles)} must sign in",
            "sign in with a PIN",
            roles=[str(r) for r in fits or roles],
        )

    # --- doing ------------------------------------------------------------------------------------------------------

    async def _post_action(self, request: Request) -> Response:
        body = await body_of(request)
        try:
            kind = available_actions.named(body)
            assert isinstance(body, dict)
            wanted = body.get("role")
            if wanted is not None and not isinstance(wanted, str):
                raise ApiError(400, "bad_field", "role: found no text", f"roles: {', '.join(Role)}")
            available_actions.build(kind, body, "?", kind.roles[0])  # what is wrong is told before who may do it
            who, role = self._part(request, kind.roles, wanted)
            return self._done(available_actions.build(kind, body, who, role))
        except available_actions.BadAction as error:
            raise ApiError(400, error.code, str(error), error.hint) from None

    def _done(self, action: Action) -> Response:
        ts = timestamp(datetime.now(UTC))
        made = self._daemon.take(action)  # type: ignore[arg-type]
        no = next((event for event in made if event.kind in ("action.refused", "cut.refused")), None)
        if no is not None:
            raise ApiError(409, "refused", no.data["reason"], no.data["possible_when"], clause=list(no.clause))
        if self._daemon.simulation is not None:
            self._daemon.simulation.followed(action)
        now = self._daemon.live.table.next_step(self._daemon.clock.now()) if self._daemon.live else None
        events = [event_json(event.seq, ts, event.kind, event.clause, event.data) for event in made]
        return in_json({"done": True, "events": events, "step": step(now) if now else None})

    async def _post_unlock(self, request: Request) -> Response:
        found = await typed(request, UnlockRequest)
        kind = available_actions.ACTIONS["unlock_person"]
        try:
            body = {"action": "unlock_person", "person": found.name}
            available_actions.build(kind, body, "?", kind.roles[0])
            return self._done(available_actions.build(kind, body, *self._part(request, kind.roles, None)))
        except available_actions.BadAction as error:
            raise ApiError(400, error.code, str(error), error.hint) from None

    # --- people -----------------------------------------------------------------------------------------------------

    def _people(self) -> People:
        """As the file says now: a change counts at once."""
        if self._daemon.simulation is not None:
            return self._daemon.simulation.people  # type: ignore[no-any-return]
        if self._config.screen is None:
            return People()
        try:
            return read_people(Path(self._config.screen.people))
        except ConfigError as error:
            raise ApiError(503, "bad_people", str(error), "a technician mends the file: shoectl person list") from None

    async def _get_people(self, request: Request) -> Response:
        locked = locked_names(self._daemon.state, self._daemon.now_ms)
        people = [
            {"name": p.name, "roles": [str(role) for role in p.roles], "locked_until_ms": locked.get(p.name)}
            for p in self._people().person
        ]
        return in_json({"people": people})

    async def _get_session(self, request: Request) -> Response:
        peer = self._peer(request)
        if peer is not None:
            roles = peer.roles(self._config.control)
            return in_json({"people": [{"name": peer.name, "role": str(role)} for role in roles], "token": None})
        cookie = request.cookies.get(COOKIE)
        screen = self._screens.get(cookie)
        if screen is None:
            cookie, screen = self._screens.add()
        return self._told(screen, cookie)

    def _told(self, screen: Screen, cookie: str | None) -> Response:
        people = [
            {"name": who.name, "role": str(who.role), "expires_ms": who.until_ms}
            for who in screen.now_in(self._daemon.now_ms)
        ]
        answer = in_json({"people": people, "token": screen.token})
        if cookie:
            answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def _post_session(self, request: Request) -> Response:
        found = await typed(request, SignInRequest)
        screen = self._screens.get(request.cookies.get(COOKIE))
        if self._peer(request) is not None or screen is None:
            raise ApiError(400, "bad_field", "at the socket nobody signs in", "the system's groups give the roles")
        daemon, people = self._daemon, self._people()
        known = any(person.name == found.name for person in people.person)
        self._refuse_locked(found.name if known else core_access.STRANGER)
        async with self._checking:
            person, right = await asyncio.to_thread(check_pin, people, found.name, found.pin)
        name = person.name if person else core_access.STRANGER
        self._refuse_locked(name)
        roles = tuple(str(role) for role in person.roles) if person else ()
        daemon.take(SignIn(name, roles, person is not None, right))
        if person is None or not right:
            self._refuse_locked(name)
            raise ApiError(
                401, "wrong_pin", "the name or the PIN is wrong", "try again; a few wrong PINs lock the name"
            )
        # A new cookie for whoever signs in: one that was known before cannot be used afterwards.
        self._screens.forget(request.cookies.get(COOKIE))
        cookie, fresh = self._screens.add()
        fresh.people = {who.role: who for who in screen.now_in(daemon.now_ms)}
        for role in person.roles:
            minutes = self._minutes(role)
            fresh.people[role] = SignedIn(person.name, role, minutes, daemon.now_ms + minutes * 60_000)
        self.stream.draw()
        return self._told(fresh, cookie)

    def _minutes(self, role: Role) -> int:
        screen = self._config.screen
        return int(getattr(screen, ROLE_MINUTES.get(role, "floor_minutes"))) if screen else 5

    def _refuse_locked(self, name: str) -> None:
        now_ms = self._daemon.now_ms
        until_ms = core_access.locked_until_ms(self._daemon.state, name, now_ms)
        if until_ms:
            self.stream.draw()
            text = f"{name or 'sign-in'} is locked after wrong PINs"
            raise ApiError(429, "locked_out", text, "wait, or a floorperson ends it", retry_after_ms=until_ms - now_ms)

    async def _delete_session(self, request: Request) -> Response:
        found = await typed(request, SignOutRequest)
        cookie = request.cookies.get(COOKIE)
        screen = self._screens.get(cookie)
        if screen is None:
            raise ApiError(400, "bad_field", "at the socket nobody signs out", "")
        for role in [found.role] if found.role else list(screen.people):
            screen.people.pop(role, None)
        return self._told(screen, cookie)

    # --- simulation -------------------------------------------------------------------------------------------------

    def _simulation(self) -> Any:
        if self._daemon.simulation is None:
            raise ApiError(404, "not_found", "this is no simulation", "start one: shoed --simulate")
        return self._daemon.simulation

    async def _get_simulation(self, request: Request) -> Response:
        return in_json(self._simulation().describe())

    async def _post_simulation(self, request: Request) -> Response:
        simulation = self._simulation()
        body = await body_of(request)
        if not isinstance(body, dict):
            raise ApiError(
                400, "bad_field", "a request is an object with `do`", "GET /api/v1/simulation tells what there is"
            )
        try:
            answer = simulation.carry_out(body)
        except ValueError as error:
            raise ApiError(400, "bad_field", str(error), "GET /api/v1/simulation tells what there is") from None
        self.stream.draw()
        return in_json(answer)


async def _unknown_method(request: Request, error: Exception) -> Response:
    return in_json(ApiError(405, "bad_method", f"{request.method[:20]} is no method here", "use GET or POST").body, 405)


def _one_of(roles: tuple[Role, ...] | list[Role]) -> str:
    names = {
        Role.DEALER: "a dealer",
        Role.FLOOR: "a floorperson",
        Role.TECHNICIAN: "a technician",
        Role.AUDITOR: "an auditor",
    }
    return " or ".join(names[role] for role in roles)

"""The control API: one description, one set of routes, for the Unix socket and for the screen."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller import offers
from controller.access import Peer, People, Screen, Screens, SignedIn, check_pin, read_people
from controller.config import Config, ConfigError
from controller.core import access as core_access
from controller.core import state as core
from controller.core.actions import Action, Role
from controller.core.history import rebuild
from controller.core.reports import SignIn
from controller.daemon import Daemon, TableStopped
from controller.journal import JournalError, JournalReader, timestamp
from controller.metrics import CONTENT_TYPE, Totals, exposition, journal_bytes
from controller.openapi import describe
from controller.stream import Stream, encode, event_json, message
from controller.view import locked_names, picture, step, stopped_picture

COOKIE = "shoed"
LONGEST_BODY = 16_384
MOST_EVENTS = 500
MOST_MISSED = 1000
ROLE_MINUTES = {Role.DEALER: "dealer_minutes"}  # the others have the floor's
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".ico": "image/x-icon",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


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
    """The application. `app` goes to the doors."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._config: Config = daemon.config
        self._screens = Screens()
        self._totals = Totals()
        self._checking = asyncio.Semaphore(1)  # one PIN at a time: guessing is slow however many guess
        self._offered: tuple[tuple[int, int], bytes] = ((-1, -1), b"")
        self._log = structlog.get_logger()
        self.stream = Stream(daemon, self._picture)
        daemon.listen(self._count)
        self.app = Starlette(
            routes=self._routes(), middleware=[Middleware(_Headers)], exception_handlers={405: _unknown_method}
        )
        self._web = Path(str(files("controller") / "web"))

    def _routes(self) -> list[Route]:
        def on(path: str, **methods: Answer) -> Route:
            return Route(
                path, self._guarded(methods), methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
            )

        v1 = "/api/v1"
        return [
            on(f"{v1}/table", GET=self._get_table),
            on(f"{v1}/events", GET=self._get_events),
            on(f"{v1}/events/stream", GET=self._get_stream),
            on(f"{v1}/actions", GET=self._get_actions, POST=self._post_action),
            on(f"{v1}/rounds", GET=self._get_rounds),
            on(f"{v1}/rounds/{{number}}", GET=self._get_round),
            on(f"{v1}/devices", GET=self._get_devices),
            on(f"{v1}/devices/{{name}}/frames", GET=self._get_frames),
            on(f"{v1}/rules", GET=self._get_rules),
            on(f"{v1}/journal", GET=self._get_journal),
            on(f"{v1}/session", GET=self._get_session, POST=self._post_session, DELETE=self._delete_session),
            on(f"{v1}/people", GET=self._get_people),
            on(f"{v1}/people/unlock", POST=self._post_unlock),
            on(f"{v1}/simulation", GET=self._get_simulation, POST=self._post_simulation),
            on(f"{v1}/openapi.json", GET=self._get_description),
            on("/metrics", GET=self._get_metrics),
            on("/healthz", GET=self._get_health),
            on("/", GET=self._get_page),
            on("/web/{path:path}", GET=self._get_page),
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
                return await methods[method](request)
            except ApiError as error:
                await _take_rest(request)
                return _json(error.body, error.status)
            except TableStopped as stopped:
                return _json(_stopped(str(stopped)).body, 503)
            except JournalError as error:
                return _json(_stopped(str(error)).body, 503)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception:
                self._log.exception("request failed", method=request.method, path=request.url.path[:200])
                return _json(
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

    # --- looking ----------------------------------------------------------------------------------------------------

    def _count(self, ts: str, events: list[core.Event]) -> None:
        for event in events:
            self._totals.take(event.kind, event.clause, event.data)

    def _picture(self) -> bytes:
        """The table as the screen shows it."""
        daemon = self._daemon
        found: dict[str, Any]
        if daemon.live is None:
            found = stopped_picture(daemon.stopped)
            head = 0
        else:
            found = picture(daemon.state, daemon.now_ms)
            head = daemon.state.seq
        for device in found["devices"]:
            line = daemon.lines.get(device["name"])
            device["link"] = line.health if line else "down"
        found |= {
            "now_ms": daemon.now_ms,
            "ts": timestamp(datetime.now(UTC)),
            "name": self._config.name,
            "simulated": daemon.simulation is not None,
            "stopped": daemon.stopped or None,
            "journal": {"head": head, "verified_to": daemon.verified.seq, "ok": not daemon.stopped},
        }
        return encode(found)

    async def _get_table(self, request: Request) -> Response:
        return _raw(self._picture())

    async def _get_actions(self, request: Request) -> Response:
        state, now_ms = self._daemon.state, self._daemon.now_ms
        key = (state.seq, now_ms // 1000)
        if self._offered[0] != key:
            self._offered = (key, encode({"actions": offers.offers(state, now_ms)}))
        return _raw(self._offered[1])

    async def _get_events(self, request: Request) -> Response:
        query = _Query(request)
        having: list[tuple[str, str | int]] = []
        if query.text("round"):
            having.append(("round", query.number("round", 0)))
        having += [(name, query.text(name)) for name in ("deck", "device") if query.text(name)]
        found = await self._read(
            lambda reader: reader.search(
                after=query.number("after", 0),
                before=query.number("before", 0) or None,
                kind=query.text("kind"),
                having=having,
                text=query.text("text").split()[:8],
                limit=min(query.number("limit", 100), MOST_EVENTS),
                newest=query.text("newest") in ("1", "true"),
            )
        )
        events = [event_json(e.seq, e.ts, e.kind, e.clause, e.data) for e in found]
        return _json({"events": events, "head": self._daemon.state.seq})

    async def _get_stream(self, request: Request) -> Response:
        query = _Query(request)
        told = request.headers.get("last-event-id", "") or query.text("after")
        only = query.text("only")
        if only not in ("", "journal", "table"):
            raise ApiError(400, "bad_field", f"only: found {only[:40]!r}", "only=journal or only=table")
        if told and not (told.isascii() and told.isdigit() and len(told) < 19):
            raise ApiError(400, "bad_field", f"Last-Event-ID: found {told[:40]!r}", "the number of an event")

        async def missed(upto: int) -> list[bytes]:
            after = int(told) if told else upto
            if not told or only == "table" or after >= upto:
                return [message("gap", encode({"after": after, "head": upto}))] if after > upto else []
            first = max(after, upto - MOST_MISSED)
            found = await self._read(lambda reader: reader.search(after=first, before=upto + 1, limit=MOST_MISSED))
            gap = [message("gap", encode({"after": after, "head": first}))] if first > after else []
            return gap + [
                message("journal", encode(event_json(e.seq, e.ts, e.kind, e.clause, e.data)), e.seq) for e in found
            ]

        body = self.stream.read(only, missed, request.scope.get("hang_up", lambda: None))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(body, media_type="text/event-stream", headers=headers)

    async def _get_rounds(self, request: Request) -> Response:
        query = _Query(request)
        limit, before = min(query.number("limit", 50), MOST_EVENTS), query.number("before", 0)

        def found(reader: JournalReader) -> list[dict[str, Any]]:
            starts = reader.search(kind="round.started", limit=limit + (MOST_EVENTS if before else 0), newest=True)
            starts = [event for event in starts if not before or event.data["round"] < before][-limit:]
            if not starts:
                return []
            ends: dict[int, str] = {}
            for kind in ("round.completed", "round.voided"):
                for event in reader.search(kind=kind, after=starts[0].seq, limit=2 * len(starts) + 2):
                    ends[event.data["round"]] = kind.partition(".")[2]
            return [
                {
                    "round": event.data["round"],
                    "deck": event.data["deck"],
                    "seats": event.data["seats"],
                    "method": event.data["method"],
                    "started_ts": event.ts,
                    "ended": ends.get(event.data["round"], ""),
                    "seq": event.seq,
                }
                for event in reversed(starts)
            ]

        return _json({"rounds": await self._read(found)})

    async def _get_round(self, request: Request) -> Response:
        text = request.path_params["number"]
        if not (text.isascii() and text.isdigit() and len(text) < 12):
            raise ApiError(404, "not_found", f"{text[:40]!r} is no round", "rounds have numbers from 1")
        number = int(text)

        def found(reader: JournalReader) -> dict[str, Any]:
            events = reader.search(having=[("round", number)], limit=5000)
            told = rebuild((core.Event(e.seq, e.kind, e.clause, e.data) for e in events), number)
            if told:
                told |= {"first_seq": events[0].seq, "last_seq": events[-1].seq, "started_ts": events[0].ts}
                told["events"] = [event_json(e.seq, e.ts, e.kind, e.clause, e.data) for e in events]
            return told

        told = await self._read(found)
        if not told:
            raise ApiError(404, "not_found", f"there was no round {number}", "GET /api/v1/rounds lists them")
        return _json(told)

    async def _get_devices(self, request: Request) -> Response:
        return _json({"devices": self._daemon.devices()})

    async def _get_frames(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._daemon.lines:
            raise ApiError(
                404,
                "not_found",
                f"the table has no {name[:40]!r}",
                f"there are: {', '.join(self._daemon.lines) or 'none'}",
            )
        return _json({"lines": self._daemon.frames(name)})

    async def _get_rules(self, request: Request) -> Response:
        from controller.core.clauses import CLAUSES
        from controller.rules_cli import rows

        return _json({"rules": await asyncio.to_thread(rows, list(CLAUSES))})

    async def _get_journal(self, request: Request) -> Response:
        daemon = self._daemon
        ordered = sorted(daemon.write_s)
        last = len(ordered) - 1
        write = (
            {q: round(ordered[round(last * share)] * 1e3, 3) for q, share in (("median", 0.5), ("p99", 0.99))}
            if ordered
            else None
        )
        return _json(
            {
                "path": str(daemon.journal_file),
                "head": daemon.state.seq,
                "size_bytes": journal_bytes(daemon),
                "verified_to": daemon.verified.seq,
                "verified_ok": not daemon.stopped,
                "write_ms": write,
            }
        )

    async def _get_description(self, request: Request) -> Response:
        return _json(describe())

    async def _get_metrics(self, request: Request) -> Response:
        return Response(exposition(self._daemon, self._totals, len(self.stream.readers)), media_type=CONTENT_TYPE)

    async def _get_health(self, request: Request) -> Response:
        if self._daemon.stopped:
            return _json({"status": "stopped", "why": self._daemon.stopped}, 503)
        return _json({"status": "ok"})

    async def _get_page(self, request: Request) -> Response:
        """The screen's own files, and nothing outside their folder."""
        wanted = request.path_params.get("path", "index.html")
        try:
            path = (self._web / wanted).resolve()
            there = path.is_relative_to(self._web.resolve()) and path.suffix in TYPES and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            there = False
        if not there:
            raise ApiError(404, "not_found", "there is no such page", "open /")
        return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers={"Cache-Control": "no-cache"})

    async def _read(self, work: Callable[[JournalReader], Any]) -> Any:
        """Ask the journal in a thread of its own: a long search holds nobody up."""

        def reading() -> Any:
            with JournalReader(self._daemon.journal_file) as reader:
                return work(reader)

        return await asyncio.to_thread(reading)

    # --- doing ------------------------------------------------------------------------------------------------------

    async def _post_action(self, request: Request) -> Response:
        body = await _body(request)
        try:
            kind = offers.named(body)
            assert isinstance(body, dict)
            wanted = body.get("role")
            if wanted is not None and not isinstance(wanted, str):
                raise ApiError(400, "bad_field", "role: found no text", f"roles: {', '.join(Role)}")
            offers.build(kind, body, "?", kind.roles[0])  # what is wrong with it is told before who may do it
            who, role = self._part(request, kind.roles, wanted)
            return self._done(offers.build(kind, body, who, role))
        except offers.BadAction as error:
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
        return _json({"done": True, "events": events, "step": step(now) if now else None})

    async def _post_unlock(self, request: Request) -> Response:
        found = await _typed(request, UnlockRequest)
        kind = offers.ACTIONS["unlock_person"]
        try:
            body = {"action": "unlock_person", "person": found.name}
            offers.build(kind, body, "?", kind.roles[0])
            return self._done(offers.build(kind, body, *self._part(request, kind.roles, None)))
        except offers.BadAction as error:
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
        return _json({"people": people})

    async def _get_session(self, request: Request) -> Response:
        peer = self._peer(request)
        if peer is not None:
            roles = peer.roles(self._config.control)
            return _json({"people": [{"name": peer.name, "role": str(role)} for role in roles], "token": None})
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
        answer = _json({"people": people, "token": screen.token})
        if cookie:
            answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def _post_session(self, request: Request) -> Response:
        found = await _typed(request, SignInRequest)
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
        found = await _typed(request, SignOutRequest)
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
        return _json(self._simulation().describe())

    async def _post_simulation(self, request: Request) -> Response:
        simulation = self._simulation()
        body = await _body(request)
        if not isinstance(body, dict):
            raise ApiError(
                400, "bad_field", "a request is an object with `do`", "GET /api/v1/simulation tells what there is"
            )
        try:
            answer = simulation.carry_out(body)
        except ValueError as error:
            raise ApiError(400, "bad_field", str(error), "GET /api/v1/simulation tells what there is") from None
        self.stream.draw()
        return _json(answer)


class _Query:
    """The values after the question mark, each checked."""

    def __init__(self, request: Request) -> None:
        self._values = request.query_params

    def text(self, name: str) -> str:
        value = self._values.get(name, "")
        if len(value) > 200 or "\0" in value:
            raise ApiError(400, "bad_field", f"{name}: at most 200 plain characters", "")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ApiError(400, "bad_field", f"{name}: this is no text", "") from None
        return value

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise ApiError(400, "bad_field", f"{name}: found {text[:40]!r}; a whole number is wanted", "")
        return int(text)


async def _take_rest(request: Request) -> None:
    """Take what is left of a request that is refused: a connection closed on unread bytes would lose the answer."""
    left = 4 * LONGEST_BODY
    with contextlib.suppress(RuntimeError, ClientDisconnect):  # it was taken already, or nobody is there
        async for part in request.stream():
            left -= len(part)
            if left < 0:
                return


async def _body(request: Request) -> Any:
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


async def _typed(request: Request, kind: type[Any]) -> Any:
    body = await _body(request)
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, "bad_field", str(error), "GET /api/v1/openapi.json describes every request") from None


async def _unknown_method(request: Request, error: Exception) -> Response:
    return _json(ApiError(405, "bad_method", f"{request.method[:20]} is no method here", "use GET or POST").body, 405)


def _one_of(roles: tuple[Role, ...] | list[Role]) -> str:
    names = {
        Role.DEALER: "a dealer",
        Role.FLOOR: "a floorperson",
        Role.TECHNICIAN: "a technician",
        Role.AUDITOR: "an auditor",
    }
    return " or ".join(names[role] for role in roles)


def _stopped(why: str) -> ApiError:
    return ApiError(
        503, "journal_stopped", f"the table has stopped: {why}", "a technician sees to it; it goes on by itself"
    )


def _raw(data: bytes, status: int = 200) -> Response:
    return Response(data, status, {"Cache-Control": "no-store"}, "application/json")


def _json(value: Any, status: int = 200) -> Response:
    return _raw(encode(value), status)

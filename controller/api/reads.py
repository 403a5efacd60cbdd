"""Requests that change nothing: the table, events, rounds, devices, rules, the journal, metrics, the screen's files."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from controller.api import available_actions
from controller.api.access import Access
from controller.api.bystander import open_view
from controller.api.encoding import encode
from controller.api.event_stream import Stream, StreamResponse, message
from controller.api.fair_queue import FairQueue
from controller.api.history import (
    EventFilter,
    check_device,
    check_kind,
    check_origin,
    check_times,
    find_events,
    find_round,
    find_rounds,
    stored_json,
)
from controller.api.journal_reads import JournalReads
from controller.api.metrics import CONTENT_TYPE, Totals, at_quantile, exposition, journal_bytes
from controller.api.openapi import describe
from controller.api.requests import ApiError, Query, json_bytes_response, json_response
from controller.api.table_view import flow_view, stopped_view, table_view
from controller.core.events.event import Entry, UnreadableEvent
from controller.core.flows import Goal, flow_to, flows
from controller.daemon.daemon import Daemon
from controller.games import rulebook_of
from controller.journal import moment, timestamp

MAX_EVENTS = 500
MAX_MISSED = 1000  # events that are sent again to a reader of the stream that comes back
MEDIA_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".ico": "image/x-icon",
}


class Reads:
    """The handlers of these requests."""

    def __init__(self, daemon: Daemon, access: Access, queue: FairQueue) -> None:
        self._daemon = daemon
        self._access = access
        self._journal = JournalReads(daemon.journal_file)
        self._totals = Totals()
        self._actions: tuple[tuple[int, int], bytes] = ((-1, -1), b"")  # for one event number and second
        self._trying = asyncio.Lock()  # the actions are tried once for all clients
        self._web = Path(str(files("controller") / "web"))
        self.stream = Stream(daemon, lambda: encode(self._view()), queue, lambda: encode(open_view(self._view())))
        daemon.listen(self._count)

    async def close(self) -> None:
        """End the streams and the searches."""
        await self.stream.close()
        self._journal.close()

    def _count(self, ts: str, events: list[Entry]) -> None:
        for entry in events:
            self._totals.take(entry)

    def _view(self) -> dict[str, Any]:
        """The table as the screen shows it."""
        daemon = self._daemon
        found: dict[str, Any]
        if daemon.live is None:
            found = stopped_view(daemon.stopped)
            head = 0
        else:
            found = table_view(daemon.state, daemon.now_ms)
            head = daemon.state.seq
        for device in found["devices"]:
            line = daemon.lines.get(device["name"])
            device["link"] = line.health if line else "down"
        found |= {
            "now_ms": daemon.now_ms,
            "ts": timestamp(datetime.now(UTC)),
            "name": daemon.config.name,
            "simulated": daemon.simulation is not None,
            "stopped": daemon.stopped or None,
            "journal": {"head": head, "verified_to": daemon.verified.seq, "ok": not daemon.stopped},
        }
        return found

    async def table(self, request: Request) -> Response:
        view = self._view()
        return json_response(view if self._access.may_read(request) else open_view(view))

    async def actions(self, request: Request) -> Response:
        async with self._trying:
            state, now_ms = self._daemon.state, self._daemon.now_ms
            key = (state.seq, now_ms // 1000)
            if self._actions[0] != key:
                found = []
                for action in available_actions.actions_now(state, now_ms):
                    found.append(action)
                    await asyncio.sleep(0)  # trying them all takes a while: let devices be served in between
                self._actions = (key, encode({"actions": found}))
            return json_bytes_response(self._actions[1])

    async def flows(self, request: Request) -> Response:
        found = [
            {"goal": str(goal), "about": about, "title": title} for goal, about, title in flows(self._daemon.state)
        ]
        return json_response({"flows": found})

    async def flow(self, request: Request) -> Response:
        goal, about = request.path_params["goal"], Query(request).text("about")
        known = "`shoectl flow` and GET /api/v1/flows list what there is"
        if goal not in list(Goal):
            raise ApiError(404, "not_found", f"no flow leads to {goal[:40]!r}", known)
        found = flow_to(self._daemon.state, Goal(goal), about, self._daemon.now_ms)
        if found is None:
            raise ApiError(404, "not_found", f"the table has no deck or device {about[:40]!r}", known)
        return json_response({"seq": self._daemon.state.seq, **flow_view(found, self._daemon.state)})

    async def events(self, request: Request) -> Response:
        query = Query(request)
        wanted = _filter(query)
        search = functools.partial(
            find_events,
            wanted=wanted,
            after=query.number("after", 0),
            before=query.number("before", 0) or None,
            limit=min(query.number("limit", 100), MAX_EVENTS),
            newest=query.text("newest") in ("1", "true"),
        )
        events = await self._journal.search(self._access.client(request), search)
        return json_response({"events": events, "head": self._daemon.state.seq})

    async def event_stream(self, request: Request) -> Response:
        query = Query(request)
        last_id = request.headers.get("last-event-id", "") or query.text("after")
        only = query.text("only")
        if only not in ("", "journal", "table"):
            raise ApiError(400, "bad_field", f"only: unknown value {only[:40]!r}", "use only=journal or only=table")
        if last_id and not (last_id.isascii() and last_id.isdigit() and len(last_id) < 19):
            text = f"Last-Event-ID: expected the number of an event, found {last_id[:40]!r}"
            raise ApiError(400, "bad_field", text, "")

        async def missed(upto: int) -> list[bytes]:
            after = int(last_id) if last_id else upto
            if not last_id or only == "table" or after >= upto:
                return [message("gap", encode({"after": after, "head": upto}))] if after > upto else []
            first = max(after, upto - MAX_MISSED)
            found = await self._journal.missed(
                lambda reader: reader.search(after=first, before=upto + 1, limit=MAX_MISSED)
            )
            gap = [message("gap", encode({"after": after, "head": first}))] if first > after else []
            return gap + [message("journal", encode(stored_json(event)), event.seq) for event in found]

        screen = None if self._access.peer(request) or self._access.has_token(request) else self._access.screen(request)
        everything = screen is None and self._access.may_read(request)
        share = contextlib.ExitStack()
        share.enter_context(self.stream.share(self._access.client(request)))
        return StreamResponse(
            self.stream, only, missed, lambda: everything or (screen is not None and bool(screen.people)), share
        )

    async def rounds(self, request: Request) -> Response:
        query = Query(request)
        wanted, before = _filter(query), query.number("before", 0)
        limit = min(query.number("limit", 50), MAX_EVENTS)
        search = functools.partial(find_rounds, wanted=wanted, before=before, limit=limit)
        found = await self._journal.search(self._access.client(request), search)
        return json_response({"rounds": found})

    async def round(self, request: Request) -> Response:
        text = request.path_params["number"]
        if not (text.isascii() and text.isdigit() and len(text) < 12):
            raise ApiError(404, "not_found", f"{text[:40]!r} is not a round", "rounds are numbered from 1")
        number = int(text)
        try:
            client = self._access.client(request)
            found = await self._journal.search(client, lambda reader: find_round(reader, number))
        except UnreadableEvent as error:
            hint = "use the version of Dragonshoe that wrote it"
            raise ApiError(501, "unreadable_event", f"round {number}: {error}", hint) from None
        if not found:
            raise ApiError(404, "not_found", f"no round {number}", "GET /api/v1/rounds lists the rounds")
        return json_response(found)

    async def devices(self, request: Request) -> Response:
        return json_response({"devices": self._daemon.devices()})

    async def frames(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._daemon.lines:
            known = ", ".join(self._daemon.lines) or "none"
            raise ApiError(404, "not_found", f"unknown device {name[:40]!r}", f"this table's devices: {known}")
        return json_response({"lines": self._daemon.frames(name)})

    async def rules(self, request: Request) -> Response:
        from controller.api.rulebook import rows  # reads the tests' source: only where it is asked for

        rulebook = rulebook_of(self._daemon.state.setup.game)
        client = self._access.client(request)
        return json_response({"rules": await self._journal.run(client, lambda: rows(rulebook, list(rulebook.clauses)))})

    async def journal(self, request: Request) -> Response:
        daemon = self._daemon
        ordered = sorted(daemon.write_s)
        write = {name: round(at_quantile(ordered, q) * 1e3, 3) for name, q in (("median", 0.5), ("p99", 0.99))}
        return json_response(
            {
                "path": str(daemon.journal_file),
                "head": daemon.state.seq,
                "size_bytes": journal_bytes(daemon),
                "verified_to": daemon.verified.seq,
                "verified_ok": not daemon.stopped,
                "write_ms": write if ordered else None,
            }
        )

    async def openapi(self, request: Request) -> Response:
        return json_bytes_response(await self._journal.run(self._access.client(request), _openapi))

    async def metrics(self, request: Request) -> Response:
        return Response(exposition(self._daemon, self._totals, len(self.stream.readers)), media_type=CONTENT_TYPE)

    async def health(self, request: Request) -> Response:
        if self._daemon.stopped:
            return json_response({"status": "stopped", "why": self._daemon.stopped}, 503)
        suspects = self._daemon.suspects()
        return json_response({"status": "degraded", "devices": suspects} if suspects else {"status": "ok"})

    async def page(self, request: Request) -> Response:
        """The screen's files, and nothing outside their folder."""
        wanted = request.path_params.get("path", "index.html")
        try:
            path = (self._web / wanted).resolve()
            exists = path.is_relative_to(self._web.resolve()) and path.suffix in MEDIA_TYPES and path.is_file()
        except (OSError, ValueError):  # not a valid file name
            exists = False
        if not exists:
            raise ApiError(404, "not_found", "no such page", "open /")
        return Response(path.read_bytes(), media_type=MEDIA_TYPES[path.suffix], headers={"Cache-Control": "no-cache"})


def _filter(query: Query) -> EventFilter:
    """Which events a request asks for; ApiError if it names something that does not exist."""
    names = ("kind", "deck", "device", "who", "origin", "text", "since", "until")
    wanted = {name: query.text(name) for name in names}
    try:
        if wanted["kind"]:
            check_kind(wanted["kind"])
        if wanted["device"]:
            check_device(wanted["device"])
        if wanted["origin"]:
            check_origin(wanted["origin"])
        for name in ("since", "until"):
            wanted[name] = moment(wanted[name], end=name == "until") if wanted[name] else ""
        check_times(wanted["since"], wanted["until"])
    except ValueError as error:
        raise ApiError(400, "bad_field", str(error), "") from None
    return EventFilter(round=query.number("round", 0), **wanted)


@functools.cache
def _openapi() -> bytes:
    return encode(describe())

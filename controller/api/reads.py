"""What the API tells: the table, its events and rounds, devices, rules, the journal, figures, the screen's files."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from controller.api import available_actions
from controller.api.event_stream import Live, Stream, encode, event_json, message
from controller.api.fair_queue import Turns
from controller.api.metrics import CONTENT_TYPE, Totals, exposition, journal_bytes
from controller.api.openapi import describe
from controller.api.requests import ApiError, Query, in_json, raw
from controller.api.table_view import picture, stopped_picture
from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.history import rebuild
from controller.daemon.daemon import Daemon
from controller.games import rulebook_of
from controller.journal import JournalReader, timestamp

MOST_EVENTS = 500
MOST_MISSED = 1000
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".ico": "image/x-icon",
}


class Reads:
    """Every answer that changes nothing."""

    def __init__(self, daemon: Daemon, turns: Turns) -> None:
        self._daemon = daemon
        self._totals = Totals()
        self._offered: tuple[tuple[int, int], bytes] = ((-1, -1), b"")
        self._offering = asyncio.Lock()  # they are made once for all who ask
        self._web = Path(str(files("controller") / "web"))
        self.stream = Stream(daemon, self._picture, turns)
        daemon.listen(self._count)

    def _count(self, ts: str, events: list[Entry]) -> None:
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
            "name": daemon.config.name,
            "simulated": daemon.simulation is not None,
            "stopped": daemon.stopped or None,
            "journal": {"head": head, "verified_to": daemon.verified.seq, "ok": not daemon.stopped},
        }
        return encode(found)

    async def table(self, request: Request) -> Response:
        return raw(self._picture())

    async def actions(self, request: Request) -> Response:
        async with self._offering:
            state, now_ms = self._daemon.state, self._daemon.now_ms
            key = (state.seq, now_ms // 1000)
            if self._offered[0] != key:
                found = []
                for offer in available_actions.offers(state, now_ms):
                    found.append(offer)
                    await asyncio.sleep(0)  # to try them all takes long: a device is heard in between
                self._offered = (key, encode({"actions": found}))
            return raw(self._offered[1])

    async def events(self, request: Request) -> Response:
        query = Query(request)
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
        return in_json({"events": events, "head": self._daemon.state.seq})

    async def live(self, request: Request) -> Response:
        query = Query(request)
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

        return Live(self.stream, only, missed)

    async def rounds(self, request: Request) -> Response:
        query = Query(request)
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

        return in_json({"rounds": await self._read(found)})

    async def round(self, request: Request) -> Response:
        text = request.path_params["number"]
        if not (text.isascii() and text.isdigit() and len(text) < 12):
            raise ApiError(404, "not_found", f"{text[:40]!r} is no round", "rounds have numbers from 1")
        number = int(text)

        def found(reader: JournalReader) -> dict[str, Any]:
            events = reader.search(having=[("round", number)], limit=5000)
            told = rebuild((read(e.seq, e.kind, e.clause, e.data) for e in events), number)
            if told:
                told |= {"first_seq": events[0].seq, "last_seq": events[-1].seq, "started_ts": events[0].ts}
                told["events"] = [event_json(e.seq, e.ts, e.kind, e.clause, e.data) for e in events]
            return told

        told = await self._read(found)
        if not told:
            raise ApiError(404, "not_found", f"there was no round {number}", "GET /api/v1/rounds lists them")
        return in_json(told)

    async def devices(self, request: Request) -> Response:
        return in_json({"devices": self._daemon.devices()})

    async def frames(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._daemon.lines:
            raise ApiError(
                404,
                "not_found",
                f"the table has no {name[:40]!r}",
                f"there are: {', '.join(self._daemon.lines) or 'none'}",
            )
        return in_json({"lines": self._daemon.frames(name)})

    async def rules(self, request: Request) -> Response:
        from controller.api.rulebook import rows  # reads the tests' source: only where it is asked for

        rulebook = rulebook_of(self._daemon.state.setup.game)
        return in_json({"rules": await asyncio.to_thread(rows, rulebook, list(rulebook.clauses))})

    async def journal(self, request: Request) -> Response:
        daemon = self._daemon
        ordered = sorted(daemon.write_s)
        last = len(ordered) - 1
        write = (
            {q: round(ordered[round(last * share)] * 1e3, 3) for q, share in (("median", 0.5), ("p99", 0.99))}
            if ordered
            else None
        )
        return in_json(
            {
                "path": str(daemon.journal_file),
                "head": daemon.state.seq,
                "size_bytes": journal_bytes(daemon),
                "verified_to": daemon.verified.seq,
                "verified_ok": not daemon.stopped,
                "write_ms": write,
            }
        )

    async def description(self, request: Request) -> Response:
        return raw(await asyncio.to_thread(_description))

    async def metrics(self, request: Request) -> Response:
        return Response(exposition(self._daemon, self._totals, len(self.stream.readers)), media_type=CONTENT_TYPE)

    async def health(self, request: Request) -> Response:
        if self._daemon.stopped:
            return in_json({"status": "stopped", "why": self._daemon.stopped}, 503)
        return in_json({"status": "ok"})

    async def page(self, request: Request) -> Response:
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


@functools.cache
def _description() -> bytes:
    return encode(describe())

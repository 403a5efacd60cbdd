"""Searches, guesses, streams and endless requests from many clients at once: nobody at the table notices them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.api.clients import STREAMS
from controller.api.server import MAX_CONNECTIONS
from controller.core.actions import Role
from controller.daemon.people import PeopleFile, Person, hash_pin, write_people
from simulators.devices.faults import FaultName
from tests.api.test_app import Listening
from tests.attack.test_floods import WATCHDOG_S, Systemd
from tests.daemon.test_shoed import config_file
from tests.support.long_journal import past
from tests.support.plugged import Plugged
from tests.support.served import LIMIT_S, Page, Served, UnixConnection, free_port

EVENTS = 200_000
SEARCHERS = 60
TOKEN = "the-token-of-the-table-s-own-screen"
PINS = {"Dana": "2580", "Flo": "258013"}
NOTHING = "/api/v1/events?text=nothing+has+this+word&newest=1"


class Attacked:
    """A table with a long past, its devices, and its own screen at which the dealer is signed in."""

    def __init__(self, folder: Path) -> None:
        (folder / "run").mkdir()
        past(folder / "run/journal.db", EVENTS)
        roles = {"Dana": [Role.DEALER], "Flo": [Role.FLOOR]}
        write_people(
            folder / "people.toml", PeopleFile([Person(n, roles[n], hash_pin(pin)) for n, pin in PINS.items()])
        )
        (folder / "screen.token").write_text(TOKEN)
        self.listen = f"127.0.0.1:{free_port()}"
        more = f'[screen]\nlisten = "{self.listen}"\npeople = "{folder}/people.toml"\ntoken = "{folder}/screen.token"\n'
        self.systemd = Systemd(folder)
        self.plugged = Plugged(folder, speed=20.0)
        self.served = Served(folder, "--config", config_file(folder, more=more), env=self.systemd.env)
        self.served.until("ready")
        self.served.wait(lambda table: all(device["state"] == "ready" for device in table["devices"]))
        self.screen = Page(self.listen, TOKEN)
        assert self.screen.sign_in("Dana", PINS["Dana"]).status == 200

    def sign_in_and_reconnect(self) -> None:
        """A floorperson signs in, and a device is unplugged and plugged in again."""
        self.plugged.do(lambda table, now: table.shoe.inject(FaultName.UNPLUG, now))
        assert self.screen.sign_in("Flo", PINS["Flo"]).status == 200
        self.served.wait(lambda table: not table["devices"][1]["online"])
        self.plugged.do(lambda table, now: table.shoe.mend(FaultName.UNPLUG, now))
        self.served.wait(lambda table: table["devices"][1]["online"])
        self.systemd.look()

    def close(self) -> None:
        self.served.close()
        self.plugged.close()
        self.systemd.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    table = Attacked(tmp_path_factory.mktemp("attacked"))
    try:
        yield table
        table.systemd.look()
        assert table.systemd.longest_s < WATCHDOG_S, "the watchdog was not fed"
        assert table.served.get("/healthz")["status"] == "ok"
    finally:
        table.close()


class Crowd:
    """Clients that send the same request again and again, each in its own thread."""

    def __init__(self, number: int, ask: Any) -> None:
        self.codes: Counter[int] = Counter()
        self._ask = ask
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(number)]

    def _run(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.codes[self._ask()] += 1

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(LIMIT_S)

    def busy(self, times: int) -> None:
        """Wait until this many more requests were answered."""
        before, end = self.codes.total(), time.monotonic() + LIMIT_S
        while self.codes.total() < before + times:
            assert time.monotonic() < end, self.codes
            time.sleep(0.01)


def test_many_searches_over_a_long_journal_do_not_hold_up_a_sign_in_or_a_reconnection(attacked: Attacked) -> None:
    with Crowd(SEARCHERS, lambda: attacked.served.ask("GET", NOTHING).status) as crowd:
        crowd.busy(SEARCHERS)
        attacked.sign_in_and_reconnect()
        crowd.busy(SEARCHERS)
    assert 503 in set(crowd.codes) <= {200, 503}, "some are refused: they would wait too long"


def test_a_search_finds_what_there_is_while_others_are_refused(attacked: Attacked) -> None:
    screen = Page(attacked.listen, TOKEN)
    with Crowd(SEARCHERS, lambda: attacked.served.ask("GET", NOTHING).status) as crowd:
        crowd.busy(SEARCHERS)
        answer = screen.ask("GET", "/api/v1/events?who=Frank&newest=1&limit=3")
    assert (answer.status, len(answer.json["events"])) == (200, 3)


def test_the_list_of_people_costs_nothing_however_often_it_is_asked_for(attacked: Attacked) -> None:
    with Crowd(16, lambda: attacked.served.ask("GET", "/api/v1/people").status) as crowd:
        crowd.busy(500)
        attacked.sign_in_and_reconnect()
    assert set(crowd.codes) == {200}


def test_guesses_from_a_page_do_not_hold_up_or_lock_out_anybody_at_the_screen(attacked: Attacked) -> None:
    def guess() -> int:
        return Page(attacked.listen).sign_in("Flo", "000000").status

    with Crowd(20, guess) as crowd:
        crowd.busy(60)
        attacked.sign_in_and_reconnect()
    assert set(crowd.codes) == {401, 429}
    denied = attacked.served.get("/api/v1/events?kind=access.denied")["events"]
    assert 0 < len(denied) <= 10, "guesses do not fill the journal"
    assert {event["data"]["via"] for event in denied} == {"local port"}
    assert attacked.screen.do("close_table", name="Flo", pin=PINS["Flo"]).status == 409  # it is closed already


ENDLESS = (
    b"GET /api/v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n{",
    b"GET /api/v1/table HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
)


def test_a_page_at_which_somebody_is_signed_in_is_never_pushed_out(attacked: Attacked) -> None:
    """Far more connections than there is room for, all in the middle of a request."""
    cookies = f"shoed={attacked.screen.cookie}; shoed_screen={attacked.screen.screen_cookie}"
    stream = Listening(attacked.listen, Cookie=cookies)
    stream.next("table")
    host, _, port = attacked.listen.rpartition(":")
    crowd: list[socket.socket] = []
    try:
        for number in range(3 * MAX_CONNECTIONS):
            line = socket.create_connection((host, int(port)), LIMIT_S)
            crowd.append(line)
            with contextlib.suppress(OSError):
                line.sendall(ENDLESS[number % len(ENDLESS)])
            if number % 8 == 0:  # so that the requests are under way before the next connections come
                attacked.served.get("/healthz")
        assert attacked.served.do("reveal_dealer").status == 409
        assert stream.next("journal")[2]["kind"] == "action.refused"
        assert attacked.screen.ask("GET", "/api/v1/events?newest=1&limit=1").status == 200
    finally:
        stream.close()
        for line in crowd:
            line.close()


def test_where_every_connection_is_a_page_that_may_read_a_new_one_is_dropped(attacked: Attacked) -> None:
    pages: list[Listening] = []
    try:
        while len(pages) < MAX_CONNECTIONS:
            page = Page(attacked.listen, TOKEN)
            cookies = f"shoed={page.cookie}; shoed_screen={page.screen_cookie}"
            for _ in range(STREAMS["screen"]):
                pages.append(Listening(attacked.listen, "?only=table", Cookie=cookies))
                pages[-1].next("table")
        with pytest.raises((OSError, http.client.HTTPException)):
            Page(attacked.listen)
        assert attacked.served.do("reveal_dealer").status == 409
        for listening in pages:
            assert listening.next("table")
    finally:
        for listening in pages:
            listening.close()


def test_a_user_has_a_share_of_the_streams_and_no_more(attacked: Attacked) -> None:
    lines = []
    try:
        for _ in range(STREAMS["user"]):
            line = UnixConnection(attacked.served.socket)
            line.request("GET", "/api/v1/events/stream?only=table")
            assert line.getresponse().status == 200
            lines.append(line)
        refused = attacked.served.ask("GET", "/api/v1/events/stream")
        assert (refused.status, refused.code) == (429, "too_many_streams")
    finally:
        for line in lines:
            line.close()


@pytest.mark.parametrize("head", ["POST /api/v1/nothing", "POST /api/v1/actions", "PUT /api/v1/table"])
def test_a_request_that_does_not_end_is_cut_off(attacked: Attacked, head: str) -> None:
    """A request that sends a byte at a time and never ends gets a response, and the connection is closed."""
    host, _, port = attacked.listen.rpartition(":")
    with socket.create_connection((host, int(port)), LIMIT_S) as line:
        line.sendall(f"{head} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 15000\r\n\r\n".encode())
        line.settimeout(0.2)
        came, end = b"", time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            try:
                line.sendall(b" ")
                part = line.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                break
            if not part:
                break
            came += part
        else:
            raise AssertionError("it was never cut off")
    first, _, rest = came.partition(b"\r\n")
    assert first.split()[1] in (b"400", b"403", b"404", b"405")
    assert b"connection: close" in rest.lower()
    assert json.loads(rest.rpartition(b"\r\n\r\n")[2])["error"]["hint"]

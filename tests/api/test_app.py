"""The API of a real daemon, at the socket and at the screen: a whole round, who may do what, and invalid requests."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.journal.test_store import by_hand
from tests.support.served import LIMIT_S, Page, Served, simulated

Table = tuple[Served, str]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """One simulated table for all tests, with the robot paused and the devices connected."""
    with simulated(tmp_path_factory.mktemp("table"), "--paused", "--speed", "40") as found:
        found[0].wait(lambda table: all(device["state"] == "ready" for device in table["devices"]))
        yield found


def opened(served: Served) -> None:
    """Two new decks, through every step of the opening, up to where bets can be made."""
    if served.table()["table"] == "closed":
        assert served.do("open_table").status == 200
        for back in ("red", "blue"):
            assert served.do("receive_deck", deck=f"{back}-1", back=back).status == 200
            for action in ("inspect_deck", "verify_deck", "spread_deck", "wash_deck", "stack_deck"):
                assert served.do(action, deck=f"{back}-1").status == 200, action
        served.do("insert_deck", deck="red-1")
    seen = served.wait(lambda table: table["table"] in ("betting", "waiting") and not table["round"])
    for deck in seen["decks"]:
        if deck["state"] in ("stacked", "racked"):
            served.wait(lambda table: not table["devices"][0]["doing"] and not table["devices"][0]["cards"])
            served.do("insert_deck", deck=deck["name"])
    served.wait(lambda table: table["table"] == "betting")


def play(served: Served) -> dict[str, Any]:
    """Play a whole round; returns the table after it."""
    opened(served)
    number = served.table()["rounds"]
    assert served.do("close_bets", seats=[1, 3]).status == 200
    served.wait(lambda table: table["table"] == "acting" or table["round"] is None)
    assert served.do("players_acted").status == 200
    assert served.do("reveal_dealer").status == 200
    served.wait(lambda table: table["round"]["stub_out"])  # the shoe brings it, a hand takes it
    if "count_stub" in str(served.table()["step"]):
        served.do("count_stub", cards=53 - 9)
    assert served.do("collect_all").status == 200
    return served.wait(lambda table: table["rounds"] == number + 1)


# --- a round ----------------------------------------------------------------------------------------------------------


def test_a_whole_round_by_requests(table: Table) -> None:
    served, _ = table
    seen = play(served)
    number = seen["rounds"]
    rebuilt = served.get(f"/api/v1/rounds/{number}")
    assert {target: hand["cards"] for target, hand in rebuilt["hands"].items()} == {"seat1": 3, "seat3": 3, "dealer": 3}
    assert rebuilt["collected"][-1] == "dealer"
    (listed,) = served.get("/api/v1/rounds?limit=1")["rounds"]
    assert (listed["round"], listed["ended"], listed["seats"]) == (number, "completed", [1, 3])
    who = {event["data"]["who"] for event in served.get("/api/v1/events?kind=deck.inspected")["events"]}
    assert who == {"Dana"}
    assert {e["data"]["who"] for e in served.get("/api/v1/events?kind=deck.verified")["events"]} == {"Flo"}


def test_the_picture_tells_what_the_ledger_has(table: Table) -> None:
    served, _ = table
    opened(served)
    for deck in served.table()["decks"]:
        assert deck["total"] == 53
        assert sum(deck["cards"].values()) == 53


def test_a_refusal_names_reason_clause_and_way_out_and_is_journaled(table: Table) -> None:
    served, _ = table
    opened(served)
    answer = served.do("reveal_dealer")
    assert (answer.status, answer.code) == (409, "refused")
    error = answer.json["error"]
    assert error["message"]
    assert error["hint"]
    assert error["clause"] == ["11.D(2)"]
    (last,) = served.get("/api/v1/events?newest=1&limit=1")["events"]
    assert (last["kind"], last["data"]["action"]) == ("action.refused", "reveal_dealer")


def test_offers_say_what_the_table_would_do(table: Table) -> None:
    served, _ = table
    opened(served)
    offers = {offer["action"]: offer for offer in served.get("/api/v1/actions")["actions"]}
    assert "configure" not in offers
    for name, offer in offers.items():
        if any(field["required"] for field in offer["fields"]):
            continue
        if not offer["allowed"]:
            assert offer["why_not"]["reason"], name
            answer = served.do(name)
            assert answer.status == 409, (name, answer.body)
    assert offers["close_bets"]["fields"][0]["type"] == "integers"
    assert offers["cut_deck"]["fields"][0]["choices"] == [deck["name"] for deck in served.table()["decks"]]


# --- looking ----------------------------------------------------------------------------------------------------------


def test_events_are_searched(table: Table) -> None:
    served, _ = table
    opened(served)
    some = served.get("/api/v1/events?kind=deck&deck=red-1&limit=3")["events"]
    assert [event["kind"].partition(".")[0] for event in some] == ["deck"] * 3
    assert {event["data"]["deck"] for event in some} == {"red-1"}
    assert served.get("/api/v1/events?text=washed%20blue-1")["events"][0]["text"] == "Dana washed deck blue-1."
    found = served.get("/api/v1/events?text=betting%20is%20open")["events"]
    assert "Betting is open." in {event["text"] for event in found}, "the words of a sentence are not stored"
    head = served.get("/api/v1/events")["head"]
    last = served.get(f"/api/v1/events?after={head - 2}&before={head}")["events"]
    assert [event["seq"] for event in last] == [head - 1]


def test_events_and_rounds_are_found_by_person_time_and_round(table: Table) -> None:
    served, _ = table
    number = play(served)["rounds"]
    events = served.get(f"/api/v1/events?round={number}&limit=500")["events"]
    assert (events[0]["kind"], events[-1]["kind"]) == ("round.started", "round.completed")
    assert [event["seq"] for event in events] == list(range(events[0]["seq"], events[-1]["seq"] + 1))
    first, last = events[0]["ts"], events[-1]["ts"]
    found = served.get(f"/api/v1/events?since={first}&until={last}&limit=500")["events"]
    assert {event["seq"] for event in events} <= {event["seq"] for event in found}
    assert {event["data"]["who"] for event in served.get("/api/v1/events?who=Flo")["events"]} == {"Flo"}
    assert [one["round"] for one in served.get(f"/api/v1/rounds?since={first}")["rounds"]] == [number]
    assert served.get("/api/v1/rounds?who=nobody")["rounds"] == []
    (one,) = served.get(f"/api/v1/rounds?before={number + 1}&limit=1")["rounds"]
    assert (one["round"], one["ended_ts"]) == (number, last)
    answer = served.get(f"/api/v1/rounds/{number}")
    assert (answer["started_ts"], answer["ended_ts"], answer["events"]) == (first, last, events)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("kind=rond", "unknown kind of event 'rond' (did you mean round?); expected one of access, "),
        ("device=toaster", "unknown device 'toaster'; expected one of shuffler, shoe"),
        ("since=noon", "'noon' is not a time"),
    ],
)
def test_what_does_not_exist_is_an_error_and_not_silence(table: Table, query: str, text: str) -> None:
    answer = table[0].ask("GET", f"/api/v1/events?{query}")
    assert (answer.status, answer.code) == (400, "bad_field")
    assert text in answer.json["error"]["message"]


def test_a_round_with_an_event_that_cannot_be_read(table: Table) -> None:
    served, _ = table
    number = play(served)["rounds"]
    seq = served.get(f"/api/v1/rounds/{number}")["first_seq"] + 3
    with by_hand(served.folder / "run/journal.db") as hand:
        (kind,) = hand.execute("SELECT kind FROM events WHERE seq = ?", (seq,)).fetchone()
        hand.execute("UPDATE events SET kind = 'shoe.polished' WHERE seq = ?", (seq,))
    try:
        answer = served.ask("GET", f"/api/v1/rounds/{number}")
        assert (answer.status, answer.code) == (501, "unreadable_event")
        error = answer.json["error"]
        assert error["message"] == f"round {number}: event {seq} has the unknown kind shoe.polished"
        assert error["hint"] == "use the version of Dragonshoe that wrote it"
    finally:
        with by_hand(served.folder / "run/journal.db") as hand:
            hand.execute("UPDATE events SET kind = ? WHERE seq = ?", (kind, seq))


def test_metrics_health_journal_devices_and_rules(table: Table) -> None:
    served, _ = table
    opened(served)
    text = served.ask("GET", "/metrics").body.decode()
    for name in (
        "shoed_up 1",
        "shoed_rounds_total",
        'shoed_link_frames_in_total{device="shoe"}',
        "shoed_journal_size_bytes",
    ):
        assert name in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rpartition(" ")[2]) >= 0
    journal = served.get("/api/v1/journal")
    assert journal["head"] == served.table()["seq"]
    devices = served.get("/api/v1/devices")["devices"]
    assert [device["name"] for device in devices] == ["shuffler", "shoe"]
    assert devices[0]["identity"]["serial"] == "SH-0001"
    assert devices[0]["counters"]["frames_in"] > 0
    lines = served.get("/api/v1/devices/shoe/frames")["lines"]
    assert any("DATA" in line for line in lines)
    assert len(served.get("/api/v1/rules")["rules"]) > 50
    assert served.get("/api/v1/openapi.json")["openapi"] == "3.1.0"


class Listening:
    """A stream of live events."""

    def __init__(self, address: str, query: str = "", **headers: str) -> None:
        host, _, port = address.rpartition(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", f"/api/v1/events/stream{query}", headers=sent)
        self._response = self._connection.getresponse()
        assert self._response.status == 200

    def next(self, kind: str = "") -> tuple[str, int | None, Any]:
        """The next message, of this kind if one is given."""
        while True:
            found: dict[str, str] = {}
            while line := self._line():
                name, _, value = line.partition(": ")
                found[name] = value
            if "event" in found and kind in ("", found["event"]):
                return found["event"], int(found["id"]) if "id" in found else None, json.loads(found["data"])

    def _line(self) -> str:
        line = self._response.readline()
        assert line, "the stream has ended"
        return line.decode().rstrip("\n")

    def close(self) -> None:
        self._connection.close()


def test_live_events_come_in_order_and_are_resumed(table: Table) -> None:
    served, address = table
    opened(served)
    served.wait(lambda table: not any(device["doing"] for device in table["devices"]))
    own = f"Bearer {served.screen_token}"
    stream = Listening(address, authorization=own)
    _, _, picture = stream.next("table")
    head = picture["seq"]
    served.do("reveal_dealer")
    _, seq, event = stream.next("journal")
    assert (seq, event["kind"]) == (head + 1, "action.refused")
    assert stream.next("table")[2]["seq"] >= head + 1
    assert "now_ms" in stream.next("beat")[2]
    stream.close()
    served.do("reveal_dealer")
    served.do("players_acted")
    again = Listening(address, last_event_id=str(head), authorization=own)
    assert [again.next("journal")[1] for _ in range(3)] == [head + 1, head + 2, head + 3]
    again.close()
    only = Listening(address, f"?only=journal&after={head + 2}", authorization=own)
    assert only.next()[1] == head + 3
    only.close()
    ahead = Listening(address, last_event_id=str(head + 1000), authorization=own)
    assert ahead.next()[0] == "gap"
    ahead.close()


def test_live_events_for_a_proxy_of_old_and_for_one_that_asks_only_for_the_head(table: Table) -> None:
    """HTTP/1.0 has no chunked encoding; and a response without a body ends."""
    served, address = table
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), LIMIT_S) as line, line.makefile("rb") as came:
        own = b"Host: localhost\r\nAuthorization: Bearer %b\r\n\r\n" % served.screen_token.encode()
        line.sendall(b"HEAD /api/v1/events/stream HTTP/1.1\r\n" + own)
        line.sendall(b"GET /api/v1/events/stream HTTP/1.0\r\n" + own)
        for _ in range(2):
            assert came.readline().startswith(b"HTTP/1.1 200")
            heads = [head.lower() for head in iter(came.readline, b"\r\n")]
            assert b"content-type: text/event-stream; charset=utf-8\r\n" in heads
        assert came.readline() == b"retry: 1000\n"
        served.do("reveal_dealer")
        lines: list[bytes] = []
        while not lines or not lines[-1].startswith(b"id: "):
            lines.append(came.readline())
        assert all(text == b"\n" or text.startswith((b"event: ", b"data: ", b"id: ")) for text in lines), lines


# --- who may do what --------------------------------------------------------------------------------------------------


def test_the_screen_needs_a_pin_for_what_changes_something(table: Table) -> None:
    served, address = table
    opened(served)
    page = Page(address)
    assert page.session() == []
    assert page.ask("GET", "/api/v1/table").status == 200
    answer = page.do("idle_table")
    assert (answer.status, answer.code) == (401, "sign_in_needed")
    assert page.sign_in("Dana", "147036").status == 401
    cookie = page.cookie
    assert page.sign_in("Dana", "2580").status == 200
    assert page.cookie != cookie  # the old cookie is worthless
    assert [(who["name"], who["role"]) for who in page.session()] == [("Dana", "dealer")]
    assert page.do("reveal_dealer").status == 409
    denied = page.do("close_table")
    assert (denied.status, denied.code, denied.json["error"]["roles"]) == (401, "pin_needed", ["floor"])
    assert page.sign_in("Flo", "147036").status == 200
    assert {who["role"] for who in page.session()} == {"dealer", "floor"}
    assert page.do("direct_reshuffle", deck="none", pin="147036").status == 409
    assert page.ask("DELETE", "/api/v1/session", {"role": "floor"}).status == 200
    assert page.do("close_table").status == 401
    kinds = [event["kind"] for event in served.get("/api/v1/events?kind=access&newest=1&limit=5")["events"]]
    assert kinds == ["access.denied", "access.granted", "access.granted", "access.confirmed", "access.ended"]


def test_wrong_pins_lock_a_name_and_a_floorperson_ends_it(table: Table) -> None:
    served, address = table
    page = Page(address, served.screen_token)
    answers = [page.sign_in("Frank", "9999") for _ in range(6)]
    assert [answer.status for answer in answers[:4]] == [401] * 4
    assert answers[-1].code == "locked_out"
    assert answers[-1].json["error"]["retry_after_ms"] > 0
    assert page.sign_in("Frank", "369147").status == 429  # not even the right one
    assert [who["name"] for who in served.table()["access"]["locked"]] == ["Frank"]
    people = {who["name"]: who for who in page.ask("GET", "/api/v1/people").json["people"]}
    assert people["Frank"]["locked_until_ms"]
    assert not any(who["locked_until_ms"] for who in served.get("/api/v1/people")["people"]), "not at the socket"
    assert page.ask("POST", "/api/v1/people/unlock", {"name": "Frank", "by": "Flo", "pin": "147036"}).status == 200
    assert page.sign_in("Frank", "369147").status == 200


def test_a_page_from_elsewhere_can_do_nothing(table: Table) -> None:
    served, address = table
    page = Page(address)
    assert page.sign_in("Dana", "2580").status == 200
    before = served.table()["seq"]
    body = {"action": "idle_table"}
    assert page.ask("POST", "/api/v1/actions", body, Origin="http://evil.example").code == "bad_origin"
    assert page.ask("POST", "/api/v1/actions", body, X_Token="guessed").code == "bad_token"
    assert page.ask("POST", "/api/v1/actions", body, Cookie="shoed=guessed").code == "bad_token"
    assert page.ask("POST", "/api/v1/actions", body, Content_Type="text/plain").code == "bad_json"
    assert page.ask("GET", "/api/v1/table", Host="rebound.example:80").code == "bad_host"
    assert served.table()["seq"] == before


def test_every_answer_keeps_the_browser_safe(table: Table) -> None:
    _, address = table
    page = Page(address)
    for path in ("/", "/api/v1/table", "/nothing/here"):
        headers = page.ask("GET", path).headers
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
    cookie = page.ask("GET", "/api/v1/session", Cookie="").headers["Set-Cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_a_cookie_is_only_sent_when_it_is_new(table: Table) -> None:
    """A late response must not restore the cookie from before somebody signed in."""
    page = Page(table[1])
    assert "Set-Cookie" not in page.ask("GET", "/api/v1/session").headers
    assert "Set-Cookie" in page.sign_in("Dana", "2580").headers
    assert "Set-Cookie" not in page.ask("GET", "/api/v1/session").headers
    assert "Set-Cookie" not in page.ask("DELETE", "/api/v1/session", {}).headers


@pytest.mark.parametrize(
    "path", ["/web/../api.py", "/web/%2e%2e/api.py", "/web/../../pyproject.toml", "/web/", "/web/x.py"]
)
def test_nothing_but_the_screen_is_served(table: Table, path: str) -> None:
    assert Page(table[1]).ask("GET", path).status == 404


# --- rubbish ----------------------------------------------------------------------------------------------------------

RUBBISH: list[tuple[bytes, int, str]] = [
    (b"{", 400, "bad_json"),
    (b"\xff\xff", 400, "bad_json"),
    (b"[" * 5000, 400, "bad_json"),
    (b"[]", 400, "bad_field"),
    (b"{}", 400, "bad_field"),
    (b'{"action": 5}', 400, "bad_field"),
    (b'{"action": "fly"}', 400, "unknown_action"),
    (b'{"action": "configure", "setup": {}}', 400, "unknown_action"),
    (b'{"action": "cut_deck"}', 400, "bad_field"),
    (b'{"action": "cut_deck", "deck": "red-1", "depth": "deep"}', 400, "bad_field"),
    (b'{"action": "cut_deck", "deck": "red-1", "depth": 99999999999999999999}', 400, "bad_field"),
    (b'{"action": "cut_deck", "deck": "red-1", "depth": 20, "who": "me"}', 400, "bad_field"),
    (b'{"action": "open_table", "role": "king"}', 400, "bad_field"),
    (b'{"action": "open_table", "role": ["floor"]}', 400, "bad_field"),
    (b'{"action": "receive_deck", "deck": "a\\u0000b", "back": "red"}', 400, "bad_field"),
    (b'{"action": "close_bets", "seats": [' + b"1," * 40 + b"1]}", 400, "bad_field"),
    (b'{"action": "' + b"x" * 20_000 + b'"}', 413, "too_long"),
]


@pytest.mark.parametrize(("body", "status", "code"), RUBBISH, ids=[str(i) for i in range(len(RUBBISH))])
def test_rubbish_changes_nothing(table: Table, body: bytes, status: int, code: str) -> None:
    served, _ = table
    before = served.table()["seq"]
    answer = served.ask("POST", "/api/v1/actions", body)
    assert (answer.status, answer.code) == (status, code)
    assert answer.json["error"]["message"]
    assert served.table()["seq"] == before


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/rounds/0", 404),
        ("GET", "/api/v1/rounds/seven", 404),
        ("GET", "/api/v1/rounds/99999999999999999999", 404),
        ("GET", "/api/v1/events?limit=-1", 400),
        ("GET", "/api/v1/events?after=soon", 400),
        ("GET", "/api/v1/events?text=" + "x" * 300, 400),
        ("GET", "/api/v1/events/stream?only=fans", 400),
        ("GET", "/api/v1/devices/toaster/frames", 404),
        ("PUT", "/api/v1/table", 405),
        ("DELETE", "/api/v1/actions", 405),
        ("GET", "/api/v2/table", 404),
        ("GET", "/etc/passwd", 404),
    ],
)
def test_wrong_requests_get_a_clear_answer(table: Table, method: str, path: str, status: int) -> None:
    answer = table[0].ask(method, path)
    assert answer.status == status
    assert set(answer.json["error"]) >= {"code", "message", "hint"}


def test_a_peer_that_babbles_or_leaves_early_disturbs_nobody(table: Table) -> None:
    served, address = table
    host, _, port = address.rpartition(":")
    for data in (
        b"\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/v1/actions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{",
    ):
        with socket.create_connection((host, int(port))) as sock:
            sock.sendall(data)
    assert served.get("/healthz") == {"status": "ok"}


# --- flows ------------------------------------------------------------------------------------------------------------


def test_a_flow_leads_to_where_the_table_can_be_closed(table: Table) -> None:
    served, _ = table
    opened(served)
    titles = [flow["title"] for flow in served.get("/api/v1/flows")["flows"]]
    assert titles[0] == "Close the table"
    assert "Take the shoe out of service" in titles
    while (flow := served.get("/api/v1/flows/close"))["step"]["do"] != [{"action": "close_table"}]:
        for offer in flow["step"]["do"]:
            assert served.do(offer.pop("action"), **offer).status == 200
        served.wait(lambda table: not any(device["doing"] or device["at_exit"] for device in table["devices"]))
    assert [task["done"] for task in flow["tasks"]] == [True, True, True, False]
    assert flow["done"] is False
    while (seen := served.wait(lambda table: table["table"] == "betting" or table["step"]["do"]))["table"] != "betting":
        offer = seen["step"]["do"][0]
        served.do(offer.pop("action"), **offer)
    for path in ("/api/v1/flows/fly", "/api/v1/flows/change-deck", "/api/v1/flows/out-of-service?about=kettle"):
        answer = served.ask("GET", path)
        assert (answer.status, answer.code) == (404, "not_found"), path


# --- simulation -------------------------------------------------------------------------------------------------------


def test_a_jam_is_shown_with_its_steps_and_cleared(table: Table) -> None:
    served, _ = table
    opened(served)
    rounds = served.table()["seq"]
    assert (
        served.ask(
            "POST", "/api/v1/simulation", {"do": "inject", "device": "shoe", "fault": "jam", "after_cards": 1}
        ).status
        == 200
    )
    assert served.do("close_bets", seats=[1]).status == 200
    seen = served.wait(lambda table: table["warnings"])
    (warning,) = [warning for warning in seen["warnings"] if warning["key"] == "shoe.jam"]
    assert warning["clause"] == ["13.G"]
    assert [step["done"] for step in warning["steps"]] == [False, False]
    assert seen["void_steps"][0] == {"text": "Return all wagers", "done": False}
    assert served.do("clear_warning", warning="shoe.jam").status == 409
    assert served.ask("POST", "/api/v1/simulation", {"do": "help", "on": True}).status == 200
    assert served.ask("POST", "/api/v1/simulation", {"do": "resume"}).status == 200
    assert served.ask("POST", "/api/v1/simulation", {"do": "speed", "speed": 50}).status == 200
    served.wait(lambda table: not table["warnings"] and table["table"] == "betting")
    assert served.ask("POST", "/api/v1/simulation", {"do": "pause"}).status == 200
    voided = served.get(f"/api/v1/events?after={rounds}&kind=round.voided")["events"]
    assert [event["clause"] for event in voided] == [["13.G"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"do": "fly"},
        {"do": "inject"},
        {"do": "inject", "device": "shoe", "fault": "x"},
        {"do": "speed", "speed": "fast"},
        [],
    ],
)
def test_wrong_requests_to_the_simulation(table: Table, body: Any) -> None:
    answer = table[0].ask("POST", "/api/v1/simulation", body)
    assert (answer.status, answer.code) == (400, "bad_field")

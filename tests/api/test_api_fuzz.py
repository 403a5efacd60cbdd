"""Fuzzes the API from its OpenAPI description, with valid and nearly valid requests.

Every response is one that the description lists, errors have the right form, and invalid requests leave the journal
unchanged.
"""

from __future__ import annotations

import copy
import http.client
import json
import string
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.api.openapi import describe
from tests.support.served import LIMIT_S, Page, Served, simulated

Table = tuple[Served, Page]
Schema = dict[str, Any]

WRONG = (400, 401, 403, 404, 405, 408, 413, 429)  # nothing has changed
FUZZ = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TEXT = st.text(max_size=60) | st.sampled_from(
    ["", "red-1", "shoe", "seat1", "shoe.jam", "\0", "a" * 300, "ß漢\ud800", "'--"]
)
NUMBERS = st.integers(-3, 60) | st.sampled_from([2**31, -(2**31), 2**63, 10**30, 0.5, -0.0, 1e308])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """A simulated table with decks on it, and a page where dealer and floorperson are signed in."""
    with simulated(tmp_path_factory.mktemp("table"), "--paused", "--speed", "40") as (served, address):
        served.do("open_table")
        served.do("receive_deck", deck="red-1", back="red")
        page = Page(address)
        assert page.sign_in("Dana", "2580").status == 200
        assert page.sign_in("Flo", "147036").status == 200
        yield served, page


DESCRIPTION: Schema = describe()
OPERATIONS = [
    (method.upper(), path)
    for path, methods in sorted(DESCRIPTION["paths"].items())
    for method in sorted(methods)
    if path.rpartition("/")[2] != "stream"  # a stream never ends; its parameters have tests of their own
]


def fits(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that match a schema, for the part of JSON Schema that the description uses."""
    if "$ref" in schema:
        return fits(DESCRIPTION["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for name in ("oneOf", "anyOf"):
        if name in schema:
            return st.one_of([fits(option) for option in schema[name]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([fits({**schema, "type": one}) for one in kind])
    if kind == "object":
        required = schema.get("required", [])
        properties = {name: fits(inner) for name, inner in schema.get("properties", {}).items()}
        return st.fixed_dictionaries(
            {name: properties[name] for name in required},
            optional={name: inner for name, inner in properties.items() if name not in required},
        )
    if kind == "array":
        return st.lists(fits(schema["items"]), max_size=schema.get("maxItems", 8))
    if kind == "integer":
        near = st.integers(max(schema.get("minimum", -9), -9), min(schema.get("maximum", 60), 60))
        return near | st.integers(schema.get("minimum"), schema.get("maximum"))
    if kind == "number":
        return st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False, allow_infinity=False)
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    assert kind == "string", schema
    plain = st.characters(codec="utf-8", categories=("L", "N", "P", "Zs"))
    known = st.sampled_from(["red-1", "blue-1", "shoe", "shuffler", "seat1", "dealer", "Frank", "jam", "0000"])
    return known | st.text(plain, max_size=min(schema.get("maxLength", 40), 40))


@st.composite
def nearly(draw: st.DrawFn, value: Any) -> Any:
    """A value with one error: something missing, added, of another type, or replaced entirely."""
    value = copy.deepcopy(value)
    if not isinstance(value, dict) or draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    how = draw(st.sampled_from(["take", "add", "change"]))
    if how == "add" or not value:
        value[draw(TEXT)] = draw(JSON)
    elif how == "take":
        del value[draw(st.sampled_from(sorted(value)))]
    else:
        value[draw(st.sampled_from(sorted(value)))] = draw(JSON)
    return value


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, str, bytes | None]:
    """One request: its method, the path in the description, the path requested, and the body."""
    method, path = draw(st.sampled_from(OPERATIONS))
    operation = DESCRIPTION["paths"][path][method.lower()]
    right = draw(st.booleans())
    asked, query = path, {}
    for parameter in operation.get("parameters", []):
        value = draw(fits(parameter["schema"]) if right else JSON)
        if parameter["in"] == "path":
            asked = asked.replace(f"{{{parameter['name']}}}", quote(_text(value), safe="") or "x")
        elif draw(st.booleans()):
            query[parameter["name"]] = _text(value)
    if query:
        asked += "?" + urlencode(query, errors="surrogatepass")
    body = None
    if "requestBody" in operation:
        made = draw(fits(operation["requestBody"]["content"]["application/json"]["schema"]))
        if not right:
            made = draw(nearly(made))
        body = json.dumps(made).encode()
        if not right and draw(st.integers(0, 4)) == 0:  # truncated or corrupted
            at = draw(st.integers(0, len(body)))
            body = body[:at] + draw(st.binary(max_size=3))
    return method, path, asked, body


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace").decode()


def check(method: str, path: str, asked: str, answer: Any) -> None:
    """The response is one that the description lists, in the right form."""
    where = f"{method} {asked}: {answer.status} {answer.body[:300]!r}"
    assert str(answer.status) in DESCRIPTION["paths"][path][method.lower()]["responses"], where
    if answer.status >= 400 and path != "/healthz":
        error = answer.json["error"]
        assert all(isinstance(error[name], str) for name in ("code", "message", "hint")), where
        assert error["message"], where
        assert "Traceback" not in error["message"], where


def done_since(served: Served, seq: int) -> list[dict[str, Any]]:
    """Actions taken or refused since this event; devices may also have continued by themselves."""
    events = served.get(f"/api/v1/events?after={seq}")["events"]
    return [event for event in events if "who" in event["data"]]


@FUZZ
@given(request=requests())
@pytest.mark.parametrize("door", ["socket", "screen"])
def test_requests_right_and_wrong(table: Table, door: str, request: tuple[str, str, str, bytes | None]) -> None:
    served, page = table
    method, path, asked, body = request
    if path == "/api/v1/session" and method == "POST" and door == "screen":
        return  # wrong PINs lock everyone out; test_app.py covers them
    if b'"pin"' in (body or b"") or b'"name"' in (body or b""):
        return  # likewise; test_pins.py covers them
    before = served.table()["seq"]
    if door == "socket":
        answer = served.ask(method, asked, body)
    else:
        answer = page.ask(method, asked, body, Content_Type="application/json")
        if path == "/api/v1/session" and method == "DELETE":
            assert page.sign_in("Dana", "2580").status == 200
            before = served.table()["seq"]
    check(method, path, asked, answer)
    if path == "/api/v1/simulation" and method == "POST":  # the robot may have been resumed
        assert served.ask(method, path, {"do": "pause"}).status == 200
    if answer.status in WRONG:
        assert not done_since(served, before), f"{method} {asked} {body!r}: {answer.status}, and something has changed"


HEADERS = st.dictionaries(
    st.sampled_from(["Cookie", "X-Token", "Origin", "Host", "Content-Type", "Last-Event-ID", "Accept", "Range"]),
    st.text(string.printable.strip(), max_size=40),
    max_size=3,
)


@FUZZ
@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]),
    path=st.text(string.ascii_letters + string.digits + "/._-%?&=~{}", max_size=30),
    begin=st.sampled_from(["/", "/api/v1/", "/web/", "/api/v1/rounds/", "/api/v1/devices/", "/metrics", "/healthz"]),
    headers=HEADERS,
    body=st.none() | st.binary(max_size=60),
)
def test_any_path_method_header_and_body(
    table: Table, method: str, path: str, begin: str, headers: dict[str, str], body: bytes | None
) -> None:
    served, page = table
    asked = begin + path
    if asked.partition("?")[0].rstrip("/") == "/api/v1/events/stream":
        return
    before = served.table()["seq"]
    host, _, port = page.address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
    try:
        connection.request(method, asked, body, headers)
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    assert response.status < 500, (method, asked, headers, response.status, content)
    if response.status >= 400 and method != "HEAD":
        assert json.loads(content)["error"]["message"], (method, asked, headers, content)
    assert not done_since(served, before)


def test_every_operation_of_the_description_answers(table: Table) -> None:
    served, _ = table
    assert served.get("/api/v1/openapi.json") == DESCRIPTION
    for method, path in OPERATIONS:
        answer = served.ask(
            method, path.replace("{number}", "1").replace("{name}", "shoe"), {} if method != "GET" else None
        )
        check(method, path, path, answer)
        other = served.ask("PATCH", path.replace("{number}", "1").replace("{name}", "shoe"))
        assert (other.status, other.code) == (405, "bad_method")

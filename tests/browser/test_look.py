"""How the screen looks and reads: sizes, contrast, names for screen readers, and nothing from another host."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.chromium import Page
from tests.browser.conftest import Person

SIZES = [(1024, 600), (1440, 900), (390, 844), (360, 740)]
PAGES = ["table", "devices", "journal"]

# Text on its real ground: every visible text, the colours as they come out, and how far they are apart.
CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const ground = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const light = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || node.closest("svg, option, datalist") || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const under = ground(node), text = over(rgba(style.color), under);
    const [low, high] = [light(text), light(under)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${walk.currentNode.data.trim().slice(0, 40)} (${node.className})`);
  }
  return bad;
})()"""

TOUCH = """[...document.querySelectorAll("button, a[href], input, summary")].filter(node => {
  const box = node.getBoundingClientRect();
  return node.checkVisibility() && !node.classList.contains("skip") && (box.height < 47.5 || box.width < 30);
}).map(node => `${node.innerText || node.name} ${JSON.stringify(node.getBoundingClientRect())}`)"""

NAMED = {"button", "link", "textbox", "searchbox", "combobox", "img", "image", "dialog", "navigation", "region",
         "group", "search", "complementary"}  # fmt: skip


def nameless(page: Page) -> list[str]:
    """The elements without a name in Chromium's accessibility tree."""
    found = []
    for node in page.send("Accessibility.getFullAXTree")["nodes"]:
        role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
        if not node.get("ignored") and role in NAMED and not str(name).strip():
            found.append(json.dumps(node.get("properties", role))[:200] + f" {role}")
    return found


def roles(page: Page) -> dict[str, int]:
    """The number of elements of each role."""
    counted: dict[str, int] = {}
    for node in page.send("Accessibility.getFullAXTree")["nodes"]:
        if not node.get("ignored"):
            role = str(node.get("role", {}).get("value"))
            counted[role] = counted.get(role, 0) + 1
    return counted


def check(page: Page) -> None:
    """Check names, contrast and touch targets of everything shown now."""
    assert nameless(page) == []
    assert page.js(CONTRAST) == []
    assert page.js(TOUCH) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everything_has_a_name_a_contrast_and_a_size(screen: Callable[..., Person], dark: bool) -> None:
    person = screen("--paused", dark=dark)
    page = person.page
    person.sign_in("Dana")
    person.take_step()
    page.see("#offers button", "Receive deck")
    check(page)
    found = roles(page)
    assert found["banner"] == found["main"] == found["navigation"] == 1
    assert page.js("[...document.querySelectorAll('h1')].filter(node => node.checkVisibility()).length") == 1
    assert page.js("document.querySelector('.step-words').getAttribute('aria-live')") == "polite"
    page.click("#offers button")
    page.see("dialog fieldset")
    check(page)
    page.press("Escape")
    page.click("#dock .more")
    page.see("dialog .action")
    check(page)
    page.press("Escape")
    page.click(".sign-in")
    page.click("dialog .choice", "Flo")
    page.see("dialog .pad")
    check(page)
    page.press("Escape")
    page.click("#step-clause .clause")
    page.see("dialog .clause-words")
    check(page)
    page.press("Escape")
    person.open_simulation()
    check(page)
    person.close_simulation()
    for name in PAGES[1:]:
        page.click(f"nav a[data-page={name}]")
        page.see(f"#page-{name} h1")
        page.see({"devices": ".device-card", "journal": "#results li"}[name])
        check(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_alarm_can_be_read(screen: Callable[..., Person], dark: bool) -> None:
    person = screen(dark=dark)
    person.robot()
    person.press_fault("shoe", "jam")
    person.page.see("article.alarm", within=60)
    person.page.see("#step.alarm")
    check(person.page)


def test_no_size_scrolls_sideways(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.refusals = True  # a device may change the table just before the click
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow("document.body.dataset.state === 'betting'")
    for width, height in SIZES:
        page.size(width, height)
        for name in PAGES:
            page.click(f"nav a[data-page={name}]")
            page.see(f"#page-{name}")
            wide: dict[str, Any] = page.js(
                """({
                  page: document.documentElement.scrollWidth,
                  out: [...document.querySelectorAll("body *")]
                    .filter(node => node.checkVisibility() && !node.closest("svg, nav, pre"))
                    .filter(node => node.getBoundingClientRect().right > innerWidth + 1)
                    .map(node => node.className || node.tagName),
                })"""
            )
            assert wide["page"] <= width, (width, name, wide)
            assert wide["out"] == [], (width, name)


@pytest.mark.parametrize(("width", "height"), SIZES[:2])
def test_all_that_matters_is_in_sight(screen: Callable[..., Person], width: int, height: int) -> None:
    """On a table's screen the step, its button, the picture and the dealer's buttons need no scrolling."""
    person = screen("--paused", width=width, height=height)
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    page.see("#offers button")
    for part in ("#step", "#offers button", "#picture", "#dock"):
        top, bottom, tall = page.js(
            f"(b => [b.top, b.bottom, b.height])(document.querySelector('{part}').getBoundingClientRect())"
        )
        assert top >= 0, part
        assert bottom <= height, (part, bottom)
        assert tall > 40, part
    sizes = page.js(
        """[...document.querySelectorAll("body *")].filter(node => node.checkVisibility() && !node.closest("svg") &&
           [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()))
           .map(node => [parseFloat(getComputedStyle(node).fontSize), node.id])"""
    )
    assert max(sizes)[1] == "step-text", "the next step is the largest thing on the page"


def test_nothing_comes_from_another_host(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    page = person.page
    page.click("nav a", "Devices")
    page.see(".device-card")
    loaded = page.js("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert len(loaded) > 10
    assert [address for address in loaded if not address.startswith(person.shoed.address)] == []
    assert page.js("document.querySelectorAll('[style]').length") == page.js(
        "document.querySelectorAll('.card[style], .age-fill[style], .deck[style]').length"
    ), "only what moves or has a deck's colour is styled by script"


def test_light_and_dark_by_the_switch(screen: Callable[..., Person]) -> None:
    page = screen("--paused").page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.js(ground)
    page.look(dark=True)
    dark = page.js(ground)
    assert light != dark, "as the system says"
    page.click("#theme")
    assert page.js(ground) == light
    page.click("#theme")
    page.look(dark=False)
    assert page.js(ground) == dark
    page.js("window.before = true; location.reload()")
    page.wait("!window.before && document.querySelector('#offers button') !== null")
    assert page.js(ground) == dark, "it is kept"


def test_the_link_is_drawn_over_time(screen: Callable[..., Person]) -> None:
    """The history has a sample every ten seconds; the plot needs two."""
    page = screen("--paused").page
    page.click("nav a", "Devices")
    page.see("[data-device=shoe]", "Connected")
    page.wait("document.querySelectorAll('.plot .band-ok').length >= 4", within=60)
    page.click("#span button", "10 min")
    assert "ok for" in page.js("document.querySelector('.plot svg').getAttribute('aria-label')")
    page.click("[data-device=shoe] button", "Latest frames")
    assert page.see("dialog pre").count("\n") > 3


# Two presses in quick succession, and news between the second and its end.
TWICE = """(async () => {
  const { fill } = await import("/web/dom.js");
  const place = document.body.appendChild(document.createElement("div"));
  const button = document.createElement("button");
  const soon = () => new Promise(done => setTimeout(done, 50));
  const finger = kind => place.firstChild.dispatchEvent(new PointerEvent(kind, {bubbles: true}));
  fill(place, 1, () => button);
  finger("pointerdown"); finger("pointerup"); finger("pointerdown");
  await soon();
  fill(place, 2, () => document.createElement("button"));
  const kept = place.firstChild === button;
  finger("pointerup");
  await soon();
  return [kept, place.firstChild !== button];
})()"""


def test_no_button_is_taken_from_under_a_quick_finger(screen: Callable[..., Person]) -> None:
    assert screen("--paused").page.js(TWICE) == [True, True]


# Draws the picture once for each of these devices; returns the names that run into the next device's light.
OVERLAPS = """(async () => {
  const { Picture } = await import("/web/picture.js");
  const table = await (await fetch("/api/v1/table")).json();
  const place = document.querySelector("#picture").parentElement;
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  place.append(root);
  const picture = new Picture(root, () => {});
  const found = [];
  for (const change of %s) {
    picture.show({ ...table, devices: table.devices.map((device) => ({ ...device, ...change })) });
    const name = root.querySelector(".place-name");
    const light = root.querySelectorAll(".device-light")[1];
    if (name.getBoundingClientRect().right > light.getBoundingClientRect().left) found.push(name.textContent);
  }
  root.remove();
  return found;
})()"""
DEVICES = [
    *({"state": "working", "doing": doing} for doing in ("shuffle", "deliver", "clear jam", "self test")),
    *({"state": "out_of_service", "out_words": how} for how in ("covered", "removed", "marked out of order")),
    {"state": "jammed", "state_words": "jammed"},
    {"state": "failed", "state_words": "failed"},
    {"state": "lost", "state_words": "offline"},
    {"state": "unknown", "state_words": "not connected"},
    {"state": "ready", "hindered": "cards are on its shelves or in its output"},
]  # fmt: skip


@pytest.mark.parametrize(("width", "height"), [(1024, 600), (390, 844), (360, 640), (800, 1200)])
def test_what_a_device_does_does_not_run_into_the_next_device(
    screen: Callable[..., Person], width: int, height: int
) -> None:
    page = screen("--paused", width=width, height=height).page
    page.wait("document.querySelectorAll('#picture .device-light').length === 2")
    assert page.js(OVERLAPS % json.dumps(DEVICES)) == []


def test_the_name_of_a_deck_stays_on_one_line(screen: Callable[..., Person]) -> None:
    page = screen(width=390, height=844).page
    page.see("#events .unbroken", "red-1")
    assert page.js(
        "[...document.querySelectorAll('#events .unbroken')].every(name => name.getClientRects().length === 1)"
    )

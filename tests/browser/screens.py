"""Takes the pictures of the screen in docs/screens from a simulated table: `make screens`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.browser.chromium import Browser, Page
from tests.browser.conftest import READY, Person, Shoed

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
DEALING = """document.body.dataset.state === "dealing" && document.querySelector(".seat.due") !== null
  && document.querySelectorAll(".seat.playing").length > 3
  && document.querySelectorAll("#decks .place").length > 3"""
FACES = "document.querySelectorAll('#picture .face').length"
OFFERS = "document.querySelectorAll('#offers button:not(:disabled, [aria-disabled=true])').length"
# When the picture of a game is taken: its table has something to show.
GAME_PICTURES = {
    "dragon-baccarat-tournament": "document.body.dataset.state === 'dealing'"
    f" && document.querySelectorAll('.board-big-road .cell').length > 19 && {FACES} > 4",
    "dragon-poker-chinese-deck": f"document.querySelector('.pile-name') !== null && {OFFERS} > 2",
    "face-up-chinese-poker": f"{FACES} > 23 && {OFFERS} > 1",
}
SETTLED = "document.getAnimations().every(one => one.playState !== 'running' || one.effect.getTiming().iterations > 9)"


class Pictures:
    """Takes the pictures as one person at one table."""

    def __init__(self, browser: Browser, shoed: Shoed) -> None:
        self.person = Person(browser.page(still=False), shoed)
        self.page: Page = self.person.page
        self.page.goto(shoed.screen)
        self.page.wait(READY)

    def take(self, name: str, width: int, height: int, *, dark: bool = False) -> None:
        """Take a picture at a size. The daemon is paused meanwhile, so that all cards have stopped moving."""
        self.person.shoed.freeze()
        self.page.size(width, height)
        self.page.look(dark=dark, still=False)
        self.page.wait(SETTLED)
        self.page.screenshot(FOLDER / f"{name}.png")
        self.person.shoed.thaw()
        print(f"docs/screens/{name}.png")

    def all(self) -> None:
        """Take the pictures of the main states, in the order in which they occur."""
        page, person = self.page, self.person
        page.click(".sign-in")
        page.click("dialog .choice", "Dana")
        page.see("dialog .pad")
        self.take("sign-in", 1024, 600)
        person.enter_pin("2580")
        person.sign_in("Flo")
        person.follow("document.querySelector('#step-text').innerText.includes('wash')")
        page.unseen(".notice")
        self.take("opening", 1024, 600)
        person.robot(speed=5)
        page.wait("document.body.dataset.state === 'betting'", within=120)
        person.robot(speed=1)
        page.unseen(".notice")
        page.wait(DEALING, within=240)
        self.take("dealing", 1024, 600)
        person.open_simulation()
        page.wait("['acting', 'revealing'].includes(document.body.dataset.state)", within=120)
        self.take("round-dark", 1440, 900, dark=True)
        page.size(1024, 600)
        person.press_fault("shoe", "jam")
        page.see("#step-text", "Return all wagers", within=240)
        page.unseen(".notice")
        self.take("alarm", 1024, 600)
        self.take("alarm-phone", 390, 844)
        page.size(1024, 600)
        page.click("#dock .more")
        page.see("dialog .action")
        self.take("actions-dark", 1024, 600, dark=True)
        page.press("Escape")
        person.follow("!document.querySelector('article.alarm')")
        page.click("nav a", "Devices")
        page.wait("document.querySelectorAll('.plot .band-ok').length >= 8", within=120)
        page.click("#span button", "10 min")
        self.take("devices", 1280, 800)
        page.click("nav a", "Journal")
        page.click("#rounds .round-link", "Completed")
        page.see("#round-viewer table")
        self.take("journal-dark", 1280, 800, dark=True)
        page.click("nav a", "Table")
        page.size(1024, 600)
        page.look(still=False)
        person.shoed.freeze()
        page.see("#stale", "STALE")
        page.wait(SETTLED)
        page.screenshot(FOLDER / "stale.png")
        person.shoed.thaw()


def take_games(folder: Path) -> None:
    """Take a picture of each game that the other pictures do not show, while the robot plays."""
    browser = Browser(folder / "profile-games")
    try:
        for number, (game, until) in enumerate(GAME_PICTURES.items()):
            (folder / str(number)).mkdir()
            shoed = Shoed(folder / str(number), "--game", game)
            try:
                pictures = Pictures(browser, shoed)
                pictures.person.sign_in("Dana")
                pictures.person.robot(speed=10)
                pictures.page.wait(until, within=400)
                pictures.take(game, 1024, 600)
            finally:
                shoed.close()
    finally:
        browser.close()


def main() -> None:
    """Take all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shoed = Shoed(folder, "--paused", speed=3.0)
        try:
            browser = Browser(folder / "profile")
            try:
                Pictures(browser, shoed).all()
            finally:
                browser.close()
        finally:
            shoed.close()
        take_games(folder)


if __name__ == "__main__":
    main()

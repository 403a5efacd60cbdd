"""Drives Debian's headless Chromium over its debugging pipe: pages, clicks, keys, screenshots.

The pipe carries JSON messages separated by zero bytes, so no library is needed. Clicks and keys are real input events:
elements that are covered, disabled or out of sight cannot be clicked here either.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

WAIT_S = 60.0  # how long a condition may take on a busy machine
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb",
)  # fmt: skip
NOTICED = """new Promise(answer => {  // whether the page has noticed the click, at the latest after two seconds
  const end = performance.now() + 2000;
  const look = () => window.clicked === window.wanted ? answer(true) : performance.now() > end ? answer(false)
    : setTimeout(look, 20);
  look();
})"""
KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "Space": (" ", 32, " "),
    "Backspace": ("Backspace", 8, ""),
}


class Gone(Exception):
    """The browser has ended, or does not answer."""


class Reloaded(Exception):
    """The page was replaced by another before it could answer."""


class Browser:
    """One Chromium process."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("chromium")
        if program is None:
            raise Gone("chromium is not installed; `make test-browser` installs it")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={folder}"]
        place = 'exec "$@" 3<&"$DRAGON_IN" 4>&"$DRAGON_OUT"'  # Chromium wants its pipe at these two descriptors
        self._log = (folder.parent / f"{folder.name}.log").open("wb")
        self.process = subprocess.Popen(
            ["bash", "-c", place, "bash", program, *flags],
            env={**os.environ, "DRAGON_IN": str(to_browser), "DRAGON_OUT": str(from_browser), "HOME": str(folder)},
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self.pages: dict[str, Page] = {}

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._write)
        os.close(self._read)
        self._log.close()

    def page(self, width: int = 1024, height: int = 600, *, dark: bool = False, still: bool = True) -> Page:
        """A new page that shares no cookies or storage with others."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target, context)
        for domain in ("Page", "Runtime", "Log"):
            page.send(f"{domain}.enable")
        page.size(width, height)
        page.look(dark=dark, still=still)
        return page

    def send(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send a request and return its result; events received meanwhile go to their pages."""
        self._number += 1
        number = self._number
        request: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        os.write(self._write, json.dumps(request).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == number:
                if "navigated" in message.get("error", {}).get("message", ""):
                    raise Reloaded(method)
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error'].get('message')}")
                result: dict[str, Any] = message["result"]
                return result
            page = self.pages.get(message.get("sessionId", ""))
            if page and "method" in message:
                page.receive(message["method"], message["params"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], WAIT_S * 2)
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise Gone("Chromium does not answer")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message


class Page:
    """One page, as a person uses it."""

    def __init__(self, browser: Browser, session: str, target: str, context: str) -> None:
        self.browser = browser
        self.session = session
        self.target = target
        self.context = context
        self.complaints: list[str] = []  # errors in the console: scripts, styles, blocked loads

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request to this page."""
        return self.browser.send(method, self.session, **params)

    def receive(self, method: str, params: dict[str, Any]) -> None:
        """Keep the errors in the page's console."""
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def close(self) -> None:
        """Close the page with its cookies and storage."""
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
        self.browser.pages.pop(self.session, None)

    def size(self, width: int, height: int) -> None:
        """Set the size of the screen."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def look(self, *, dark: bool = False, still: bool = True) -> None:
        """Choose light or dark, with or without motion."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.send("Emulation.setEmulatedMedia", features=features)

    def goto(self, address: str) -> None:
        """Open an address."""
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def js(self, expression: str) -> Any:
        """Evaluate an expression in the page; promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, condition: str, *, within: float = WAIT_S) -> Any:
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + within
        while True:
            value = None
            with contextlib.suppress(Reloaded):
                value = self.js(condition)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {within:g} s: {condition}\nthe page says:\n{self.words()}")
            select.select([], [], [], 0.03)

    def words(self) -> str:
        """The visible text of the page."""
        return str(self.js("document.body.innerText"))

    def text(self, selector: str) -> str:
        """The text of the first element of this kind; empty if there is none."""
        return str(self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def see(self, selector: str, words: str = "", *, within: float = WAIT_S) -> str:
        """Wait until an element of this kind is visible and contains these words; returns its text."""
        found = f"""[...document.querySelectorAll({json.dumps(selector)})]
            .filter(node => node.checkVisibility() && node.innerText.includes({json.dumps(words)}))
            .map(node => node.innerText || ' ')[0]"""
        return str(self.wait(found, within=within))

    def unseen(self, selector: str, words: str = "") -> None:
        """Wait until no such element is visible."""
        self.wait(
            f"""![...document.querySelectorAll({json.dumps(selector)})].some(node =>
            node.checkVisibility() && node.innerText.includes({json.dumps(words)}))"""
        )

    def click(self, selector: str, words: str = "", *, within: float = WAIT_S) -> None:
        """Click in the middle of an enabled button, once nothing covers it.

        If it moves at that very moment, the finger is lifted elsewhere and tries again; likewise if the page did not
        notice the click.
        """
        for _ in range(20):
            x, y = self._find(selector, words, within)
            at = {"button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **at)
            hit = self.js("wanted.isConnected && wanted.matches(':active')")
            self.send("Input.dispatchMouseEvent", type="mouseReleased", x=x if hit else 0, y=y if hit else 0, **at)
            if hit and self.js(NOTICED):
                return
        raise AssertionError(f"never hit: {selector} {words}\nthe page says:\n{self.words()}")

    def _find(self, selector: str, words: str, within: float) -> tuple[float, float]:
        """The middle of an enabled button, which the page then has as `wanted`."""
        x, y = self.wait(
            f"""(() => {{
              const node = window.wanted = [...document.querySelectorAll({json.dumps(selector)})].find(node =>
                node.checkVisibility() && !node.disabled && node.ariaDisabled !== "true"
                && (node.innerText ?? node.textContent).includes({json.dumps(words)}));
              if (!node) return null;
              window.clicked = null;
              node.addEventListener("click", () => window.clicked = node, {{capture: true, once: true}});
              node.scrollIntoView({{block: "center", behavior: "instant"}});
              const box = node.getBoundingClientRect();
              const at = [box.x + box.width / 2, box.y + box.height / 2];
              const top = document.elementFromPoint(...at);
              return top && (node === top || node.contains(top)) ? at : null;
            }})()""",
            within=within,
        )
        return x, y

    def press(self, name: str, *, shift: bool = False) -> None:
        """Press a named key or a character."""
        key, code, text = KEYS.get(name, (name, ord(name.upper()[0]), name))
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type a text, key by key."""
        for char in text:
            self.press(char)

    def screenshot(self, path: Path) -> None:
        """Save a screenshot as PNG."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

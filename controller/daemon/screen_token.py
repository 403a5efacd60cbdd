"""The token of the table's own screen: a file that the screen's user can read, beside the configuration.

A browser that presents it may read what people who are signed in may read. It gives no right to act.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from pathlib import Path

from controller.daemon.config import ConfigError, ScreenConfig

TOKEN = re.compile(r"[A-Za-z0-9_-]{24,128}")


def read_token(path: Path) -> str:
    """The token in this file; ConfigError if there is none."""
    try:
        found = path.read_text(errors="replace").strip()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if not TOKEN.fullmatch(found):
        raise ConfigError(f"{path}: not a token; write a new one: sudo shoectl screen --new")
    return found


def write_token(path: Path) -> str:
    """Replace the token. The file keeps its owner, its group and its mode, or is for its owner alone."""
    token = secrets.token_urlsafe(32)
    new = path.with_name(f".{path.name}.new")
    try:
        before = path.stat() if path.exists() else None
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(f"{token}\n")
            if before:
                os.fchown(out.fileno(), before.st_uid, before.st_gid)
                os.fchmod(out.fileno(), before.st_mode & 0o777)
        new.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    return token


def ensure_token(path: Path) -> None:
    """Write a token, unless the file has one."""
    try:
        read_token(path)
    except ConfigError:
        write_token(path)


def screen_url(screen: ScreenConfig) -> str:
    """The address of the screen with its token; ConfigError if there is none."""
    return f"http://{screen.listen}/#screen={read_token(Path(screen.token))}"


class ScreenToken:
    """Compares what a browser presents with the token in the file, as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._token = ""

    def matches(self, presented: str) -> bool:
        """Whether this is the token."""
        try:
            status = self._path.stat()
            if (status.st_ino, status.st_mtime_ns) != self._seen:
                self._token = read_token(self._path)
                self._seen = (status.st_ino, status.st_mtime_ns)
        except (ConfigError, OSError):
            self._seen = None
            return False
        return hmac.compare_digest(self._token.encode(), presented.encode(errors="replace"))

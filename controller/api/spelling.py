"""Suggests the known word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def nearest(word: str, known: Sequence[str]) -> str:
    """` (did you mean …?)` with the known word that is most similar to a mistyped one; empty if none is similar."""
    near = difflib.get_close_matches(word, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""

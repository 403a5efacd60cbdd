"""The samples of a soak as one page with plots that need nothing else. Pure."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from tests.soak.judge import Sample

WIDTH, HEIGHT, MARGIN = 860, 150, 60
PLOTS = (
    ("rss_kb", "memory, kB"),
    ("fds", "open files"),
    ("threads", "threads"),
    ("journal_bytes", "journal, bytes of events"),
    ("answer_ms", "answer of the API, ms"),
    ("write_ms", "append to the journal, ms"),
)


def page(samples: Sequence[Sample], figures: Mapping[str, float], findings: Sequence[str]) -> str:
    """The whole page."""
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{value:g}</td></tr>" for name, value in figures.items())
    verdict = "; ".join(findings) or "nothing grows"
    plots = "".join(_plot(samples, name, text) for name, text in PLOTS)
    return (
        "<!doctype html><meta charset=utf-8><title>Soak</title><style>body{font:14px sans-serif;margin:2em}"
        "td{padding:0 1em 0 0}svg{display:block;margin:1em 0}polyline{fill:none;stroke:#06c;stroke-width:1.5}"
        "text{font-size:11px}line{stroke:#ccc}</style>"
        f"<h1>Soak: {html.escape(verdict)}</h1>{plots}<table>{rows}</table>\n"
    )


def _plot(samples: Sequence[Sample], name: str, text: str) -> str:
    values = [float(getattr(sample, name)) for sample in samples]
    most, rounds = max(values) * 1.1 or 1.0, samples[-1].rounds or 1
    points = " ".join(
        f"{MARGIN + sample.rounds / rounds * (WIDTH - MARGIN):.1f},{HEIGHT - value / most * (HEIGHT - 20):.1f}"
        for sample, value in zip(samples, values, strict=True)
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT + 20}"><text x="{MARGIN}" y="12">{html.escape(text)}</text>'
        f'<text x="0" y="25">{most:,.4g}</text><text x="0" y="{HEIGHT}">0</text>'
        f'<text x="{WIDTH - 90}" y="{HEIGHT + 15}">{rounds} rounds</text>'
        f'<line x1="{MARGIN}" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/><polyline points="{points}"/></svg>'
    )

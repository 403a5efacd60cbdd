"""The report of a campaign: as text, as JSON, and as one self-contained HTML page with plots."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from controller.games import GAMES
from simulators.campaign.games import campaign_game, every_check
from simulators.campaign.luck import GROUPS
from simulators.campaign.planted_defects import WITHIN
from simulators.campaign.run import FIGURES, CampaignResult, HuntResult


class CampaignReport(msgspec.Struct):
    """Everything that is reported at the end."""

    seed: int
    rounds: int
    faults: int
    violations: int
    seconds: float
    rate: float
    result: CampaignResult
    shifts: list[CampaignResult] = []
    repeats: list[str] = []  # for each violation: the shrunk command
    defects: list[HuntResult] = []

    @property
    def good(self) -> bool:
        """Whether no check failed and every planted defect was found."""
        return not self.violations and all(found.caught_by for found in self.defects)


def as_json(report: CampaignReport) -> bytes:
    """One object; `violations` is a number."""
    result = report.result
    plain: dict[str, Any] = {
        "seed": report.seed,
        "rounds": report.rounds,
        "faults": report.faults,
        "violations": report.violations,
        "seconds": round(report.seconds, 1),
        "rate": report.rate,
        "rounds_per_second": round(report.rounds / report.seconds, 1) if report.seconds else 0.0,
        "table_hours": round(result.table_s / 3600, 1),
        "events": result.events,
        "completed": result.completed,
        "games": result.games,
        "faults_by_kind": result.faults,
        "voids_by_clause": result.voids,
        "recoveries": result.recoveries,
        "checks": result.checks,
        "broken": [
            {**msgspec.to_builtins(violation), "repeat": repeat}
            for violation, repeat in zip(result.violations, report.repeats, strict=False)
        ],
        "defects": [
            {"defect": found.defect, "text": found.text, "caught_by": found.caught_by, "rounds": found.rounds}
            for found in report.defects
        ],
    }
    return msgspec.json.encode(plain)


def as_text(report: CampaignReport) -> str:
    """For a terminal."""
    result = report.result
    lines = []
    if report.rounds:
        lines += [
            f"seed {report.seed}: {report.rounds} rounds, {report.faults} faults, {report.violations} violations, "
            f"{report.seconds:.0f} s",
            f"{result.events} events, {result.table_s / 3600:.0f} hours at the table, "
            f"{result.completed} rounds completed, {sum(result.voids.values())} void",
        ]
        lines += _table("games", {name: _figures(result.games[name]) for name in result.games})
        lines += _table("faults", _grouped(result.faults))
        lines += _table("voids by clause", result.voids)
        lines += _table("recoveries", result.recoveries)
        lines += _table("looked at", {name: result.checks.get(name, 0) for name in every_check()})
    if report.defects:
        caught = sum(bool(found.caught_by) for found in report.defects)
        lines += ["", f"planted defects: {caught} of {len(report.defects)} caught within {WITHIN} rounds each"]
        for found in report.defects:
            how = f"{found.caught_by}, {found.rounds} rounds" if found.caught_by else f"MISSED in {found.rounds} rounds"
            lines.append(f"  {found.defect:<30} {how}")
    for violation, repeat in zip(result.violations, report.repeats, strict=False):
        lines += ["", f"BROKEN {violation.check}: {violation.text}", f"  repeat: {repeat}"]
        lines += [f"    {line}" for line in violation.story]
    return "\n".join(lines)


def _figures(figures: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in figures.items())


def _groups() -> dict[str, tuple[str, ...]]:
    """The mishaps by group, with those of each game."""
    own = {name: tuple(campaign_game(name).mishaps) for name in GAMES}
    return {**GROUPS, **{name: kinds for name, kinds in own.items() if kinds}}


def _grouped(faults: Mapping[str, int]) -> dict[str, int]:
    return {kind: faults.get(kind, 0) for kinds in _groups().values() for kind in kinds}


def _table(head: str, rows: Mapping[str, object]) -> list[str]:
    wide = max((len(name) for name in rows), default=0)
    return ["", f"{head}:", *(f"  {name:<{wide}}  {number}" for name, number in rows.items())]


# --- one page -------------------------------------------------------------------------------------------------------

_STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:60em;
padding:0 1em;color:#222;background:#fff}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}.ok{color:#176b2c}.bad{color:#a11}
code{background:#eee;padding:.1em .3em}
table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;text-align:left}td.n{text-align:right}
svg text{font:12px system-ui,sans-serif;fill:currentColor}rect{fill:#3a6ea5}
polyline{fill:none;stroke:#3a6ea5;stroke-width:1.5}
@media(prefers-color-scheme:dark){body{background:#15181c;color:#ddd}code{background:#2a2f36}rect{fill:#7fb0e6}
polyline{stroke:#7fb0e6}.ok{color:#7fd493}.bad{color:#ff8a80}}"""


def as_html(report: CampaignReport) -> str:
    """One file with its styles and plots."""
    result = report.result
    verdict = "ok" if report.good else "bad"
    said = f"{report.violations} violations" if report.violations else "No violation"
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Campaign of seed {report.seed}</title><style>{_STYLE}</style>",
        f"<h1>Campaign of seed {report.seed}</h1>",
        f"<p class={verdict}><strong>{said} in {report.rounds} rounds with {report.faults} faults.</strong></p>",
        f"<p>{result.completed} rounds were completed, {sum(result.voids.values())} became void; {result.events} "
        f"journal events, {result.table_s / 3600:.0f} hours at the table, played in {report.seconds:.0f} s.</p>",
    ]
    for violation, repeat in zip(result.violations, report.repeats, strict=False):
        failed = html.escape(f"{violation.check}: {violation.text}")
        parts.append(f"<p class=bad>{failed}<br><code>{html.escape(repeat)}</code></p>")
        parts.append(f"<pre>{html.escape(chr(10).join(violation.story))}</pre>")
    for group, kinds in _groups().items():
        parts += [f"<h2>Faults: {group}</h2>", _bars({kind: result.faults.get(kind, 0) for kind in kinds})]
    rows = "".join(
        f"<tr><td>{name}" + "".join(f"<td class=n>{number}" for number in figures.values())
        for name, figures in result.games.items()
    )
    parts.append(f"<h2>Games</h2><table><tr><th>game<th>{'<th>'.join(FIGURES)}{rows}</table>")
    parts += ["<h2>Voids by clause</h2>", _bars(result.voids), "<h2>Recoveries</h2>", _bars(result.recoveries)]
    parts += ["<h2>Faults and voids, shift after shift</h2>", _lines(report.shifts)]
    rows = "".join(
        f"<tr><td>{html.escape(name)}<td>{html.escape(text)}<td class=n>{result.checks.get(name, 0)}"
        for name, text in every_check().items()
    )
    parts.append(f"<h2>Checks, and how often they were made</h2><table><tr><th>check<th>holds<th>times{rows}</table>")
    if report.defects:
        rows = "".join(
            f"<tr><td>{found.defect}<td>{html.escape(found.text)}<td>"
            f"{html.escape(found.caught_by) or '<span class=bad>missed</span>'}<td class=n>{found.rounds}"
            for found in report.defects
        )
        parts.append(
            f"<h2>Planted defects</h2><table><tr><th>defect<th>what is wrong<th>caught by<th>rounds{rows}</table>"
        )
    return "\n".join(parts) + "\n"


def _bars(numbers: Mapping[str, int]) -> str:
    most = max(numbers.values(), default=0) or 1
    rows = [
        f"<text x=190 y={20 * at + 14} text-anchor=end>{html.escape(name)}</text>"
        f"<rect x=200 y={20 * at + 3} width={400 * number / most:.1f} height=14></rect>"
        f"<text x={206 + 400 * number / most:.1f} y={20 * at + 14}>{number}</text>"
        for at, (name, number) in enumerate(numbers.items())
    ]
    return f"<svg role=img width=700 height={20 * len(numbers) + 4}>{''.join(rows)}</svg>"


def _lines(shifts: Sequence[CampaignResult]) -> str:
    """Running totals over the campaign: they should be straight lines."""
    if not shifts:
        return ""
    out = []
    for name, values in (
        ("faults", [sum(shift.faults.values()) for shift in shifts]),
        ("voids", [sum(shift.voids.values()) for shift in shifts]),
    ):
        total, points = sum(values) or 1, ["0,120"]
        step, so_far = max(1, len(values) // 300), 0
        for at, value in enumerate(values, 1):
            so_far += value
            if at % step == 0 or at == len(values):
                points.append(f"{600 * at / len(values):.1f},{120 - 110 * so_far / total:.1f}")
        out.append(
            f"<svg role=img width=700 height=130><polyline points='{' '.join(points)}'></polyline>"
            f"<text x=606 y=16>{sum(values)} {name}</text></svg>"
        )
    return "".join(out)

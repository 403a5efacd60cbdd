"""`make bench`: measures, prints one table, and writes build/bench.json. Exit 1 where a goal is missed."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import structlog

from tests.bench import codec, daemon, journal, previous, round_trip, rounds, screen, searches, window
from tests.bench.measure import Row, machine

RESULT = Path("build/bench.json")


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table: docs/performance.md takes it as it is."""
    lines = ["| figure | ours | against | | ratio | goal | met |", "| --- | ---: | --- | ---: | ---: | --- | --- |"]
    for row in rows:
        met = {None: "", True: "yes", False: "**no**"}[row.met]
        lines.append(
            f"| {row.name} | {row.ours:,.1f} {row.unit} | {row.peer} | {row.against:,.1f} {row.unit} "
            f"| {row.ratio:.2f} | {row.goal} | {met} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure everything."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    rows: list[Row] = []
    for name, part in (
        ("round trip", round_trip),
        ("codec", codec),
        ("window", window),
        ("journal", journal),
        ("rounds", rounds),
        ("previous version", previous),
        ("daemon", daemon),
        ("searches", searches),
        ("screen", screen),
    ):
        print(f"measuring: {name} ...", file=sys.stderr)
        rows += part.rows()
    print(f"{machine()}\n\n{table(rows)}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([row.as_json() for row in rows], indent=1) + "\n")
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

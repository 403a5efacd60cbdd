"""How things are measured here: rows of one table, medians of interleaved runs, and the machine's description."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One figure and what it is compared with. `goal` is for example "<= 2", or empty if there is none."""

    name: str
    unit: str
    ours: float
    against: float
    peer: str
    goal: str = ""

    @property
    def ratio(self) -> float:
        """Our figure divided by theirs."""
        return self.ours / self.against

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if not self.goal:
            return None
        sign, limit = self.goal.split()
        return self.ratio <= float(limit) if sign == "<=" else self.ratio >= float(limit)

    def as_json(self) -> dict[str, object]:
        """For build/bench.json."""
        return {
            "name": f"{self.name} against {self.peer}",
            "ours": self.ours,
            "against": self.against,
            "ratio": round(self.ratio, 3),
            "goal": self.goal or None,
            "met": self.met,
            "unit": self.unit,
        }


def interleave(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each contender over rounds in which all take turns, so that conditions are the same for all."""
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            figures[name].append(run())
    return {name: statistics.median(values) for name, values in figures.items()}


def machine() -> str:
    """This machine in one line."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
            break
    memory_kib = int(Path("/proc/meminfo").read_text().split()[1])
    return (
        f"{os.cpu_count()} cores of {model}, {memory_kib / 2**20:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}"
    )

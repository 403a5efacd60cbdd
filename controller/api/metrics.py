"""The table's metrics in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from controller.core.events.decks import ShuffleCompleted
from controller.core.events.devices import CycleCompleted, CycleFailed, CycleLost, DeviceJammed
from controller.core.events.event import Entry, Event
from controller.core.events.rounds import RoundCompleted, RoundVoided, StackTakenToHand
from controller.core.events.table import ActionRefused
from controller.core.rules.guards import age_ms
from controller.daemon.daemon import Daemon

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Totals:
    """Totals over the events of this run that need more than a count per kind."""

    def __init__(self) -> None:
        self.voids: dict[str, int] = {}
        self.cards = 0
        self.jams: dict[str, int] = {}
        self.cycles: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Add an event."""
        match entry.event:
            case RoundVoided():
                key = ",".join(entry.clause) or "none"
                self.voids[key] = self.voids.get(key, 0) + 1
            case StackTakenToHand(kept=kept):
                self.cards += kept
            case DeviceJammed(device=device):
                self.jams[device] = self.jams.get(device, 0) + 1
            case CycleCompleted(device=device) | CycleFailed(device=device) | CycleLost(device=device):
                self.cycles[device] = self.cycles.get(device, 0) + 1


def _escape(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _family(name: str, kind: str, text: str, samples: Iterable[tuple[Mapping[str, object], float]]) -> list[str]:
    lines = [f"# HELP shoed_{name} {text}", f"# TYPE shoed_{name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escape(label)}"' for key, label in labels.items())
        lines.append(f"shoed_{name}{{{inside}}} {value}" if inside else f"shoed_{name} {value}")
    return lines


def _quantiles(samples: Iterable[float]) -> list[tuple[dict[str, object], float]]:
    ordered = sorted(samples)
    return [({"quantile": q}, round(at_quantile(ordered, q), 9)) for q in (0.5, 0.9, 0.99)] if ordered else []


def at_quantile(ordered: Sequence[float], quantile: float) -> float:
    """The value at a quantile of sorted samples; 0 if there are none."""
    return ordered[round((len(ordered) - 1) * quantile)] if ordered else 0.0


def exposition(daemon: Daemon, totals: Totals, screens: int) -> str:
    """All metrics as one text."""
    live, now_ms = daemon.live, daemon.now_ms
    state = live.state if live else None

    def counted(event: type[Event]) -> list[tuple[dict[str, object], float]]:
        return [({}, daemon.counted.get(event.kind, 0))]

    jams_per_thousand = [
        ({"device": name}, round(1000 * totals.jams.get(name, 0) / cycles, 3)) for name, cycles in totals.cycles.items()
    ]
    voids = [({"clause": clause}, number) for clause, number in totals.voids.items()]
    cycles_ended = [({"device": device}, number) for device, number in totals.cycles.items()]
    out = [
        *_family("up", "gauge", "1 while the table is running, 0 while it is stopped.", [({}, int(live is not None))]),
        *_family("rounds_total", "counter", "Rounds completed since the start.", counted(RoundCompleted)),
        *_family("voids_total", "counter", "Rounds voided, by clause.", voids),
        *_family("cards_total", "counter", "Cards dealt to hands.", [({}, totals.cards)]),
        *_family("shuffles_total", "counter", "Shuffles completed.", counted(ShuffleCompleted)),
        *_family("cycles_total", "counter", "Cycles that ended, successfully or not.", cycles_ended),
        *_family("jams_total", "counter", "Jams.", [({"device": d}, n) for d, n in totals.jams.items()]),
        *_family("jams_per_thousand_cycles", "gauge", "Jams per thousand cycles.", jams_per_thousand),
        *_family("refusals_total", "counter", "Actions refused.", counted(ActionRefused)),
        *_family("events_total", "counter", "Journal events since the start, by kind.",
                 [({"kind": kind}, number) for kind, number in sorted(daemon.counted.items())]),
        *_family("screens", "gauge", "Clients that read live events.", [({}, screens)]),
        *_family("journal_write_seconds", "summary", "Time to decide and store a report.", _quantiles(daemon.write_s)),
        *_family("journal_size_bytes", "gauge", "Size of the journal on disk.", [({}, journal_bytes(daemon))]),
    ]  # fmt: skip
    if state:
        played = {name: age_ms(deck, now_ms) for name, deck in state.decks.items()}
        ages = [({"deck": name}, age / 1000) for name, age in played.items() if age is not None]
        out += _family("deck_age_seconds", "gauge", "How long a deck has been in play.", ages)
        out += _family("journal_events", "gauge", "Number of the last event.", [({}, state.seq)])
        out += _family("warnings", "gauge", "Warnings not yet cleared.", [({}, len(state.warnings))])
    counters = {name: asdict(line.connection.session.link.counters) for name, line in daemon.lines.items()}
    for key in next(iter(counters.values()), {}):
        samples = [({"device": name}, found[key]) for name, found in counters.items()]
        out += _family(f"link_{key}_total", "counter", f"Link: {key.replace('_', ' ')}.", samples)
    out += _family("link_up", "gauge", "1 while the device answers.",
                   [({"device": name}, int(line.health != "down")) for name, line in daemon.lines.items()])  # fmt: skip
    trips = [
        ({"device": name, **labels}, value)
        for name, line in daemon.lines.items()
        for labels, value in _quantiles(line.connection.session.link.round_trips.samples_s)
    ]
    out += _family("link_round_trip_seconds", "summary", "Time until a frame was acknowledged.", trips)
    return "\n".join(out) + "\n"


def journal_bytes(daemon: Daemon) -> int:
    """The journal's size on disk, its write-ahead log included."""
    total = 0
    for suffix in ("", "-wal"):
        path = daemon.journal_file.with_name(daemon.journal_file.name + suffix)
        total += path.stat().st_size if path.exists() else 0
    return total

"""A table in virtual time that is searched for hidden cards after every report: what was stored, and what is shown.

`SecretTable` plays like any simulated table. What leaves it is collected in `said`, by channel, and whatever names a
card that is hidden at that moment is collected in `leaks`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from controller.api.bystander import open_view
from controller.api.event_text import event_json
from controller.api.table_view import table_view
from controller.cli.table_text import table_lines
from controller.core import actions as act
from controller.core.actions import Action
from controller.core.events.event import Entry
from controller.core.events.table import refusals
from controller.core.reports import Report
from controller.core.rules.script import record_of
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import encode
from controller.games import GAMES, described, game_with
from controller.games.game import Method
from firmware_bridge.tools.conform.hidden_points import ELEMENTS
from firmware_bridge.wire.messages import CardKinds, CardsShown, message_number
from simulators.devices.firmware import Firmware
from simulators.table.people import People
from tests.secrecy.witness import Witness, numbers_named
from tests.support.recognising import RecognisingHouse

NAMING = (message_number(CardKinds), message_number(CardsShown))
EVERY = [(name, method) for name, game in GAMES.items() for method in game.game.programme]
SHOW_NOTHING = {"command.given", "command.answered", "device.reported"}  # on the screen
VIEW_MORE: dict[str, Any] = {"name": "Table 1", "simulated": False, "journal": {"ok": True}, "stopped": None}


def setup_of(name: str, method: Method) -> Setup:
    """A table of a game with devices that recognise cards wherever they can be used."""
    game = GAMES[name]
    feeds = method is not Method.HAND
    options = dict(game.example_options)
    return Setup(
        game=game_with(game, options),
        method=method,
        backs=("red",),
        shuffler=ShufflerKind(counts=True, feeds_shoe=feeds, recognises=True),
        seats=min(4, game.game.most_seats),
        options=options,
    )


class Overheard(Firmware):
    """A device whose messages are recorded, as a capture would."""

    heard: list[bytes]

    def _send(self, message: bytes) -> None:
        self.heard.append(message)
        super()._send(message)


class WatchedHouse(RecognisingHouse):
    """Passes on everything that the table decides, as the daemon does."""

    def __init__(self, setup: Setup, seed: int, file: Path | None, build: Callable[..., Firmware]) -> None:
        self.on_made: Any = lambda report, made: None
        super().__init__(file, setup, seed=seed, build=build)

    def _take(self, report: Report) -> list[Entry]:
        made = super()._take(report)
        self.on_made(report, made)
        return made


class WatchedPeople(People):
    """People who are watched: what they do is what turns cards over."""

    def __init__(self, house: WatchedHouse, seed: int, table: SecretTable) -> None:
        super().__init__(house, seed)
        self.table = table

    def report(self, action: Action) -> list[Entry]:
        return self.table.people_report(action, super().report)


class SecretTable:
    """A table, its people, the truth, and everything that leaves it."""

    def __init__(
        self,
        name: str,
        method: Method,
        *,
        seed: int = 1,
        file: Path | None = None,
        build: type[Firmware] = Overheard,
    ) -> None:
        self.heard: list[bytes] = []

        def box(*given: Any) -> Firmware:
            made = build(*given)
            made.heard = self.heard  # type: ignore[attr-defined]
            return made

        self.house = WatchedHouse(setup_of(name, method), seed, file, box)
        self.people = WatchedPeople(self.house, seed, self)
        self.witness = Witness(self.house)
        self.rng = random.Random(f"{seed}/story")
        self.said: list[tuple[str, str]] = []  # channel, text
        self.leaks: list[tuple[str, list[str], str]] = []  # channel, hidden kinds, text
        self.requested = False  # a floorperson wanted to know the hands of a void round
        self.deck = ""  # of the round that is being played
        self.before_deal: Callable[[], None] = lambda: None
        self._made: list[Entry] = []
        self._reporting = False
        self.house.on_made = self._happened

    # --- what happens -----------------------------------------------------------------------------------------------

    def people_report(self, action: Action, report: Any) -> list[Entry]:
        """A person acts. What is turned over is seen by everybody, if the table accepts it."""
        self.witness.look()
        turned = self.witness.about_to(action)
        self.witness.seen |= turned
        self._reporting = True
        made: list[Entry] = report(action)
        self._reporting = False
        if refusals(made):
            self.witness.seen -= turned
        elif isinstance(action, act.RequestHands):
            self.requested = True
        self.witness.ever_seen |= self.witness.seen
        self.search()
        return made

    def _happened(self, report: Report, made: list[Entry]) -> None:
        self._made += made
        if not self._reporting:
            self.search()

    # --- what leaves the table --------------------------------------------------------------------------------------

    @property
    def _playing(self) -> str:
        return self.house.state.round.deck if self.house.state.round else ""

    def search(self) -> None:
        """Search what has left the table since the last search, also what came with the end of a round."""
        self.deck = self._playing or self.deck
        if self._playing:
            self.witness.look()
        made, self._made = self._made, []
        for entry in made:
            stored = event_json(entry.seq, "", entry.kind, entry.clause, entry.data)
            self.say("journal", msgspec.json.encode(stored).decode())
        heard, self.heard[:] = self.heard[:], []
        for message in heard:
            self._overhear(message)
        if self._playing and not {entry.kind for entry in made} <= SHOW_NOTHING:
            for channel, text in self.shown():
                self.say(channel, text)
        self.deck = self._playing
        self.witness.look()

    def shown(self) -> Iterator[tuple[str, str]]:
        """What can be read at this moment, by channel."""
        state = self.house.state
        view = table_view(state, self.house.now_ms) | VIEW_MORE
        for device in view["devices"]:
            device["link"] = "ok"
        for result in ("settled", "session_ended"):
            view[result] = self._of_this_round(view.get(result), state.rounds)
        yield "view", msgspec.json.encode(view).decode()
        yield "bystander", msgspec.json.encode(open_view(view)).decode()
        yield "shoectl status", "\n".join(line.text for line in table_lines(view))
        game = described(state.setup.game)
        if game.board and state.round:
            yield "board", repr(game.board(record_of(state, state.round)))
        saved = msgspec.msgpack.decode(encode(state))
        del saved["setup"]
        for result in ("settled", "session_ended"):
            saved[result] = self._of_this_round(saved.get(result), state.rounds)
        yield "snapshot", repr(saved)

    @staticmethod
    def _of_this_round(result: Any, number: int) -> Any:
        """The result of an earlier round names cards that everybody saw then."""
        fields = result if isinstance(result, dict) else msgspec.to_builtins(result)
        return fields if fields and fields["round"] == number else None

    def say(self, channel: str, text: str, typed: str = "") -> None:
        """What somebody got to read. A card that they named themselves is none of the table's."""
        self.said.append((channel, text))
        hidden = [kind for kind in self.witness.named(text, self.deck) if kind != typed] if self.deck else []
        if hidden:
            self.leaks.append((channel, hidden, text[:300]))

    def _overhear(self, message: bytes) -> None:
        number, *fields = msgspec.msgpack.decode(message)
        self.said.append(("wire", repr((number, fields))))
        numbers = [n for field in fields if isinstance(field, list) for n in field if isinstance(n, int)]
        more = fields[ELEMENTS.get(number, len(fields) + 1) - 1 :]
        naming = number in NAMING and (self.deck or not self.requested)
        named = numbers_named(numbers, self.witness, self.deck) if naming else []
        if named or more:
            self.leaks.append(("wire", named, repr((number, fields))))

    # --- playing ----------------------------------------------------------------------------------------------------

    def until(self, done: Any, limit: int = 600) -> bool:
        """Follow the guide until this holds; False if it does not within so many chores."""
        for _ in range(limit):
            if done():
                return True
            if not self.people.chore():
                self.house.watch(10.0)
        return bool(done())

    def refused(self, kind: type[Action], **fields: Any) -> str:
        """A person tries something that must be refused; returns the reason."""
        found = refusals(self.people.perform(kind, **fields))
        assert found, (kind, fields)
        return str(found[0].data["reason"])

    def decide(self, **fields: Any) -> bool:
        """A decision about a hand."""
        return not refusals(self.people.perform(act.DecideHand, **fields))

"""A table seen from outside the daemon: what the journal says, what the API accepts, and where the cards really are."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from controller.core.actions import AcceptDeck, Action, name_of
from controller.core.apply import apply
from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.events.table import ActionRefused
from controller.core.setup import Setup
from controller.core.state import State
from controller.journal import JournalAbsent, JournalForeign, JournalReader
from simulators.devices.cards import CardPlace
from simulators.table.robot import Robot, RunningTable
from tests.support.other_user import as_nobody
from tests.support.plugged import Plugged
from tests.support.served import UnixConnection

SEATS = (1, 3, 6)


class InHaste(Robot):
    """Decks come inspected and shuffled, so that the table is soon open."""

    def bring(self, back: str, *, prepared: bool = True) -> list[Entry]:
        return super().bring(back, prepared=True)

    def bets(self) -> tuple[int, ...]:
        return SEATS


class Outside:
    """The people and the cards of a table whose daemon may die at any moment; they go on as soon as it is back."""

    def __init__(self, folder: Path, plugged: Plugged, setup: Setup | None = None) -> None:
        self._socket = folder / "run/control.sock"
        self._journal = folder / "run/journal.db"
        self._plugged = plugged
        self._state = State()
        self.events: list[Entry] = []
        self.unanswered = 0  # requests without an answer
        table = RunningTable(
            plugged.table,
            ("shuffler", "shoe"),
            setup or Setup(),
            lambda: self._state,
            self._post,
            lambda: None,  # `Plugged.do` looks at the devices
            lambda: self._now,
        )
        self._now = 0.0
        self.robot = InHaste(table)
        self.robot.helps = True

    @property
    def state(self) -> State:
        """What the journal says by now."""
        try:
            with JournalReader(self._journal) as reader:
                for event in reader.events(after=self._state.seq):
                    self.events.append(read(event.seq, event.kind, event.clause, event.data))
                    apply(self._state, self.events[-1])
        except (JournalAbsent, JournalForeign):  # it is being created
            pass
        return self._state

    def _request(self, body: dict[str, Any], path: Path) -> tuple[int, Any]:
        """The status and the content of the answer."""
        connection = UnixConnection(path)
        try:
            connection.request("POST", "/api/v1/actions", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def _request_of_another_user(self, body: dict[str, Any]) -> tuple[int, Any]:
        folder = os.open(self._socket.parent, os.O_RDONLY)

        def request() -> tuple[int, Any]:
            os.fchdir(folder)  # the folders above it are closed to others
            return self._request(body, Path(self._socket.name))

        try:
            found: tuple[int, Any] = as_nobody(request, os.getgid())
            return found
        finally:
            os.close(folder)

    def _post(self, action: Action) -> list[Entry]:
        """Post an action to the daemon. If it dies meanwhile, the action may or may not be stored."""
        body = msgspec.to_builtins(action) | {"action": name_of(action)}
        del body["who"]
        try:
            if isinstance(action, AcceptDeck):  # not by the user who brought the deck
                status, content = self._request_of_another_user(body)
            else:
                status, content = self._request(body, self._socket)
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            return []
        if status == 409:
            error = content["error"]
            refused = ActionRefused(
                action=name_of(action),
                who=action.who,
                role=str(action.role),
                reason=error["message"],
                possible_when=error["hint"],
                confirm=error.get("confirm", False),
            )
            return [Entry(0, (), refused)]
        assert status in (200, 503), content
        return []

    def work(self) -> None:
        """Do one thing, if there is one to do."""
        self.state  # noqa: B018 - reads the journal

        def one_thing(_: object, now: float) -> None:
            self._now = now
            self.robot.one_thing()

        self._plugged.do(one_thing)

    def check_truth(self) -> None:
        """Between rounds: what the journal says is what is true, and the journal proves it."""
        state = self.state
        cards = self._plugged.table.cards

        def compare(*_: object) -> None:
            cards.check()
            for name, deck in state.decks.items():
                assert sum(deck.cards.values()) == 53
                for places in (("infeed", "shelves", "output"), ("shoe", "held"), ("rack",)):
                    spots = [spot for place in places for spot in cards.spots(CardPlace[place.upper()])]
                    lying = sum(card.deck == name for spot in spots for card in cards.pile(spot))
                    assert lying == sum(deck.cards.get(place, 0) for place in places), (name, places, deck.cards)

        self._plugged.do(compare)

    def verify(self) -> None:
        """The whole chain."""
        with JournalReader(self._journal) as reader:
            reader.verify()

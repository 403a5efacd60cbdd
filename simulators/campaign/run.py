"""Plays the shifts of a campaign, one after another or several at once; the result does not depend on how many."""

from __future__ import annotations

import multiprocessing
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from controller.core.machines import TableState
from controller.games import GAMES
from simulators.campaign.checks import Broken
from simulators.campaign.clumsy_people import ClumsyPeople
from simulators.campaign.games import campaign_game, first_game
from simulators.campaign.luck import DEFAULT_RATE, Mishap, Shift, draw
from simulators.campaign.planted_defects import DEFECTS, RATE, WITHIN, planted
from simulators.campaign.story import story
from simulators.campaign.unlucky_house import UnluckyHouse
from simulators.campaign.witness import Witness
from simulators.table.people import NoMoreDecks

FIGURES = ("rounds", "faults", "events", "violations")
FAST_FOLDER = Path("/dev/shm")  # the journals of a campaign are thrown away
CALM = ("clock_jumps",)  # mishaps of a shift in which nothing goes wrong
MOST_REFUSED = 50  # attempts to start a round
LONGEST_S = 2400.0  # of virtual time, for one round with everything in between except long pauses


class Violation(msgspec.Struct, frozen=True):
    """A check that failed, and where."""

    check: str
    text: str
    shift: int
    round: int
    at_s: float
    story: list[str] = []
    game: str = ""


class CampaignResult(msgspec.Struct):
    """The result of one shift, or the sum of many."""

    game: str = ""  # of a shift
    rounds: int = 0
    completed: int = 0
    events: int = 0
    table_s: float = 0.0  # virtual seconds
    faults: dict[str, int] = {}
    voids: dict[str, int] = {}
    recoveries: dict[str, int] = {}
    checks: dict[str, int] = {}
    violations: list[Violation] = []
    games: dict[str, dict[str, int]] = {}  # the main figures of each game, in a sum

    def add(self, other: CampaignResult) -> None:
        """Add another result to this one."""
        self.rounds += other.rounds
        self.completed += other.completed
        self.events += other.events
        self.table_s += other.table_s
        self.violations = [*self.violations, *other.violations]
        if other.game:
            figures = self.games.setdefault(other.game, dict.fromkeys(FIGURES, 0))
            numbers = (other.rounds, sum(other.faults.values()), other.events, len(other.violations))
            for name, number in zip(FIGURES, numbers, strict=True):
                figures[name] += number
        for mine, theirs in (
            (self.faults, other.faults),
            (self.voids, other.voids),
            (self.recoveries, other.recoveries),
            (self.checks, other.checks),
        ):
            for key, number in theirs.items():
                mine[key] = mine.get(key, 0) + number


def play_defective(name: str, shift: int, seed: int, only: Collection[int] | None = None) -> CampaignResult:
    """A shift of a build with a planted defect, with the mishaps that bring it out."""
    with planted(name):
        return play_shift(luck_of(name, shift, seed), only)


def luck_of(defect: str, shift: int, seed: int) -> Shift:
    """The luck of a shift with a planted defect."""
    found = DEFECTS[defect]
    game = campaign_game(found.game or first_game())
    setup = (game.defect_setups or game.setups)[found.setup]
    return draw(seed, shift, RATE, game=found.game, setup=setup, kinds=found.kinds or CALM)


class HuntResult(msgspec.Struct, frozen=True):
    """Whether a planted defect was caught."""

    defect: str
    text: str
    caught_by: str  # the check; empty if none did
    rounds: int
    violation: Violation | None = None


def hunt(name: str, seed: int) -> HuntResult:
    """Play a build with a planted defect until a check fails, or for the stated number of rounds."""
    rounds = shift = 0
    while rounds < WITHIN:
        result = play_defective(name, shift, seed)
        rounds += max(result.rounds, 1)
        if result.violations:
            return HuntResult(name, DEFECTS[name].text, result.violations[0].check, rounds, result.violations[0])
        shift += 1
    return HuntResult(name, DEFECTS[name].text, "", rounds)


def play_shift(shift: Shift, only: Collection[int] | None = None) -> CampaignResult:
    """One table, from its opening to the end of the shift or the first check that fails."""
    mishaps = [mishap for mishap in shift.mishaps if only is None or mishap.number in only]
    folder = FAST_FOLDER if FAST_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=folder) as made:
        witness = Witness(shift)
        house = UnluckyHouse(Path(made) / "journal.db", shift, witness)
        witness.house = house
        violations = []
        try:
            _play(shift, house, witness, mishaps)
        except Broken as broken:
            violations.append(_violation(shift, house, witness, broken.check, broken.text))
        except NoMoreDecks:  # the shift is over
            pass
        except Exception as error:  # any error is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
            violations.append(_violation(shift, house, witness, "no crash", text))
        finally:
            house.close()
        witness.made["no crash"] += 1
        witness.recoveries["host restarts"] += house.restarts
        return CampaignResult(
            game=shift.game,
            rounds=witness.rounds,
            completed=witness.completed,
            events=len(house.events),
            table_s=house.now,
            faults=_plain(house.happened - house.waiting_faults()),
            voids=_plain(witness.voids),
            recoveries=_plain(witness.recoveries),
            checks=dict(witness.made),
            violations=violations,
        )


def _plain(counter: Counter[str]) -> dict[str, int]:
    return {key: counter[key] for key in sorted(counter) if counter[key]}


def _violation(shift: Shift, house: UnluckyHouse, witness: Witness, check: str, text: str) -> Violation:
    try:
        lines = story(house)
    except Exception as error:  # the table may be broken in any way; the violation matters more than its story
        lines = [f"The story cannot be written: {type(error).__name__}: {error}"]
    return Violation(check, text, shift.number, witness.rounds, round(house.now, 3), lines, shift.game)


def _play(shift: Shift, house: UnluckyHouse, witness: Witness, mishaps: list[Mishap]) -> None:
    people = ClumsyPeople(house, witness)
    people.in_one_pile = shift.number % 2 == 1  # in every other shift they count whole decks
    house.start()
    people.open()
    comes_back(witness, people)
    house.wait_for_light()
    for at in range(shift.rounds):
        for mishap in mishaps:
            if mishap.round == at:
                house.plan(mishap)
        before, refused = witness.rounds, 0
        while witness.rounds == before or not _quiet(house):
            if witness.rounds == before and _quiet(house):
                refused += not people.play(shift.seats)
                witness.check("comes back", refused < MOST_REFUSED, "no round could be started")
            comes_back(witness, people)
            house.wait_for_light()
        witness.quiet()
    witness.end()


def _quiet(house: UnluckyHouse) -> bool:
    """Whether bets can be made and that is stored; a host that is off does not count."""
    return not house.dark and house.state.table is TableState.BETTING and house.state.round is None


def comes_back(witness: Witness, people: ClumsyPeople) -> None:
    """Check that the table gets back into play."""
    back = people.work(limit_s=LONGEST_S)
    witness.check("comes back", back, people.house.live.table.next_step(people.house.now))


# --- a whole campaign -----------------------------------------------------------------------------------------------

OnResult = Callable[[CampaignResult], None]
J = TypeVar("J")
D = TypeVar("D")


class Job(msgspec.Struct, frozen=True):
    """One shift to be played, by whichever process is free."""

    game: str
    seed: int
    shift: int
    rate: float
    rounds: int


def jobs_of(seed: int, rounds: int, rate: float, games: Sequence[str]) -> list[Job]:
    """The shifts of a campaign: each game has as many rounds as the others. Its last shift may be a short one."""
    jobs = []
    for at, game in enumerate(games):
        own, most = rounds // len(games) + (at < rounds % len(games)), campaign_game(game).shift_rounds
        jobs += [Job(game, seed, number, rate, min(most, own - number * most)) for number in range(-(-own // most))]
    return jobs


def _play_job(job: Job) -> CampaignResult:
    return play_shift(draw(job.seed, job.shift, job.rate, job.rounds, game=job.game))


def _hunt_one(what: tuple[str, int]) -> HuntResult:
    return hunt(*what)


def campaign(
    seed: int,
    rounds: int,
    rate: float = DEFAULT_RATE,
    *,
    games: Sequence[str] = (),
    processes: int = 1,
    on_result: OnResult = lambda result: None,
) -> tuple[CampaignResult, list[CampaignResult]]:
    """Play all shifts of these games, or of all; their sum, and the shifts in order.

    The result does not depend on the number of processes.
    """
    results = []
    total = CampaignResult()
    for result in _spread(_play_job, jobs_of(seed, rounds, rate, games or tuple(GAMES)), processes):
        results.append(result)
        total.add(result)
        on_result(result)
    return total, results


def hunt_all(
    seed: int, *, processes: int = 1, on_result: Callable[[HuntResult], None] = lambda found: None
) -> list[HuntResult]:
    """Every planted defect."""
    found = []
    for one in _spread(_hunt_one, [(name, seed) for name in DEFECTS], processes):
        found.append(one)
        on_result(one)
    return found


def _spread(play: Callable[[J], D], jobs: list[J], processes: int) -> Iterator[D]:
    if processes == 1:
        yield from map(play, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(play, jobs)

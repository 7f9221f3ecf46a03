"""Engines compared by turns: the settings of each chosen first, then round by round.

In each round every engine translates the same share of the sentences, in an order that turns
from round to round; ratios are taken within a round, so that what else the machine does falls on
all alike.
"""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from scripts.benchmark import engines as rivals
from scripts.benchmark.engines import Ids, Setting
from scripts.benchmark.workers import Job, Run
from transformer.config import DecodeConfig

Say = Callable[[str], None]
Teams = Mapping[str, Callable[[Job], Run]]  # how each engine does a job


@dataclasses.dataclass(frozen=True, slots=True)
class Scenario:
    """What is asked of the engines."""

    in_bulk: bool
    beam_size: int
    cores: int

    def __str__(self) -> str:
        how = "In bulk" if self.in_bulk else "One sentence at a time"
        search = "greedy" if self.beam_size == 1 else f"beam {self.beam_size}"
        return f"{how}, {search}, {self.cores} core{'s' if self.cores > 1 else ''}"

    def settings(self, name: str) -> tuple[list[Setting], list[tuple[int, int]]]:
        """Batches worth a trial, and (workers, threads) worth one with the best of these."""
        n = self.cores
        if not self.in_bulk:
            return [Setting(1, 1, 1, "sentences")], [(1, threads) for threads in range(2, n + 1)]
        (workers, threads), *others = rivals.layouts(name, n)
        batches = rivals.BATCHES[rivals.family(name)]
        return [Setting(workers, threads, *batch) for batch in batches], others


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """The sentences of a scenario, one share a round, and what should come out."""

    shares: Sequence[Ids]
    trial: Ids  # for choosing settings
    n_rival: int | None = None  # sentences of a share that the slow rivals get; None: all
    copies: bool = True  # whether each sentence should come out as it went in

    def part(self, sources: Ids, name: str) -> Ids:
        slow = rivals.family(name) == "Hugging Face"
        return sources[: self.n_rival] if slow else sources


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What one engine did in one scenario, a run for each round."""

    name: str
    setting: Setting
    runs: Sequence[Run]
    agree: float | None  # share of the sentences that came out as expected

    @property
    def speeds(self) -> list[float]:
        """Tokens a second of each round."""
        return [run.speed for run in self.runs]

    @property
    def n_sentences(self) -> int:
        return sum(len(run.outputs) for run in self.runs)

    def row(self) -> list[str]:
        return [
            self.name,
            str(self.setting),
            f"{self.n_sentences:,}",
            f"{statistics.median(self.speeds):,.0f}",
            f"{min(self.speeds):,.0f}-{max(self.speeds):,.0f}",
            f"{statistics.median(run.ms for run in self.runs):.1f}",
            f"{max(run.peak_mib for run in self.runs):,.0f}",
            "-" if self.agree is None else f"{self.agree:.1%}".replace("%", " %"),
        ]


def deal(sources: Ids, n_shares: int) -> list[Ids]:
    """Shares of about equal number, each with its part of what comes early and late."""
    return [list(sources[first::n_shares]) for first in range(n_shares)]


def choose(
    name: str, run: Callable[[Job], Run], scenario: Scenario, trial: Ids, config: DecodeConfig
) -> Setting:
    """The setting with the most tokens a second: the batch first, then workers and threads."""

    def fastest(settings: Iterable[Setting]) -> Setting:
        tried = list(settings)
        jobs = [Job(trial, config, setting, not scenario.in_bulk) for setting in tried]
        run(dataclasses.replace(jobs[0], sources=trial[:4]))  # what is new is slow
        speeds = [run(job).speed for job in jobs]
        return tried[speeds.index(max(speeds))]

    batches, layouts = scenario.settings(name)
    best = fastest(batches)
    others = [dataclasses.replace(best, workers=w, threads=t) for w, t in layouts]
    return fastest([best, *others]) if others else best


def take_turns(
    names: Sequence[str], run: Callable[[int, str], Run], n_rounds: int, say: Say
) -> dict[str, list[Run]]:
    """The runs of each; each round begins with the next of them."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for number in range(n_rounds if names else 0):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            done = run(number, name)
            runs[name].append(done)
            say(f"  round {number + 1}, {name}: {done.speed:,.0f} tokens/s, {done.ms:.1f} ms")
    return runs


def measure(teams: Teams, scenario: Scenario, work: Workload, say: Say) -> list[Result]:
    """All engines in one scenario, settings chosen and rounds run."""
    config = DecodeConfig(beam_size=scenario.beam_size)
    say(f"{scenario}")
    settings = {}
    for name, do in teams.items():
        settings[name] = choose(name, do, scenario, work.part(work.trial, name), config)
        say(f"  {name}: best with {settings[name]}")

    def run(number: int, name: str) -> Run:
        sources = work.part(work.shares[number], name)
        return teams[name](Job(sources, config, settings[name], not scenario.in_bulk))

    runs = take_turns([*teams], run, len(work.shares), say)
    expected: Sequence[Ids] = work.shares
    if not work.copies:
        expected = [run.outputs for run in runs.get(rivals.NAMES[0], [])]
    return [
        Result(name, settings[name], done, agreement(done, expected)) for name, done in runs.items()
    ]


def agreement(runs: Sequence[Run], expected: Sequence[Ids]) -> float | None:
    """The share of the sentences that came out as expected; None where nothing was."""
    if not expected:
        return None
    equal = [
        ours == theirs
        for run, ids in zip(runs, expected, strict=True)
        for ours, theirs in zip(run.outputs, ids, strict=False)  # slow rivals get fewer
    ]
    return sum(equal) / len(equal)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How many times as fast: the median of the rounds' ratios."""
    return statistics.median(own / other for own, other in zip(ours, theirs, strict=True))

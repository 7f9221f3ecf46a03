"""The driver of the measurements of speed: engines in processes of their own take turns.

No engine meets another's threads, caches or allocator, and at any time one engine computes. In
each round all engines do the same work, in an order that rotates from round to round; ratios are
taken within a round, so that what else the machine does falls on all engines alike.
"""

import contextlib
import gc
import multiprocessing
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from scripts.benchmark.tables import log, markdown
from transformer.config import UserError

T = TypeVar("T")
Ids = list[list[int]]
_PROCESS = Path("/proc/self")  # only Linux has it


@dataclass(frozen=True, slots=True)
class Run:
    """The token ids that an engine wrote in a round, and the time and memory that it took."""

    outputs: Ids
    seconds: tuple[float, ...]  # of each output where they were made one at a time, else of all
    peak_mib: float = 0.0  # resident memory

    @property
    def ms(self) -> float:
        """Milliseconds an output: the median where they were made one at a time."""
        if len(self.seconds) > 1:
            return 1000 * statistics.median(self.seconds)
        return 1000 * self.seconds[0] / len(self.outputs)

    @property
    def tokens_per_second(self) -> float:
        """Tokens a second at the pace of `ms`; end marks do not count."""
        return sum(map(len, self.outputs)) / len(self.outputs) / self.ms * 1000


def reset_peak_memory() -> None:
    """Begin to measure the peak memory of this process anew."""
    gc.collect()
    with contextlib.suppress(OSError):
        (_PROCESS / "clear_refs").write_text("5", encoding="ascii")


def peak_memory() -> float:
    """Return the peak resident memory in MiB since `reset_peak_memory`; 0 where it is unknown."""
    status = _PROCESS / "status"
    text = status.read_text(encoding="ascii") if status.is_file() else ""
    peak = re.search(r"^VmHWM:\s*(\d+) kB", text, re.MULTILINE)
    return int(peak[1]) / 1024 if peak else 0.0


_process: dict[str, Callable[[Any], Run]] = {}  # in the process of an engine: what does its work


def _start(start: Callable[[str], Callable[[T], Run]], name: str) -> None:
    _process["work"] = start(name)


def _work(task: Any) -> Run:
    return _process["work"](task)


def _call(pool: Executor, task: Any) -> Run:
    return pool.submit(_work, task).result()


@contextlib.contextmanager
def open_workers(
    names: Sequence[str], start: Callable[[str], Callable[[T], Run]]
) -> Iterator[tuple[dict[str, Callable[[T], Run]], dict[str, str]]]:
    """Start a process for each engine, in which `start(name)` returns what does the work.

    Yields what calls that in the process of each engine, and why other engines cannot run: their
    UserError. A process inherits nothing, no pool of threads either.
    """
    workers: dict[str, Callable[[T], Run]] = {}
    skipped: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for name in names:
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            stack.enter_context(pool)
            try:
                pool.submit(_start, start, name).result()
                workers[name] = partial(_call, pool)
                log(f"{name} is ready")
            except UserError as error:
                skipped[name] = str(error)
                log(f"skipped {name}: {error}")
        yield workers, skipped


def run_rounds(
    names: Sequence[str], run: Callable[[int, str], Run], n_rounds: int
) -> dict[str, list[Run]]:
    """Call `run(round, name)` for all engines round by round; each round begins with the next."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for number in range(n_rounds if names else 0):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            done = run(number, name)
            runs[name].append(done)
            speed = f"{done.tokens_per_second:,.0f} tokens/s, {done.ms:.1f} ms"
            log(f"  round {number + 1}, {name}: {speed}")
    return runs


def ratio(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """Return how many times as fast ours are: the median of the rounds' ratios."""
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(own.tokens_per_second / o.tokens_per_second for own, o in pairs)


def speed_tables(
    runs: Mapping[str, Sequence[Run]], ours: Sequence[str], columns: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a table of speeds and memory, and one of how many times as fast ours are as others.

    `columns` are further columns of the first table by their heads, with a cell for each engine.
    """
    rows = []
    for name, done in runs.items():
        speeds = [run.tokens_per_second for run in done]
        rows.append([
            name, f"{statistics.median(speeds):,.0f}", f"{min(speeds):,.0f}-{max(speeds):,.0f}",
            f"{statistics.median(run.ms for run in done):,.1f}",
            f"{max(run.peak_mib for run in done):,.0f}",
        ])  # fmt: skip
    rows = [[*row, *cells] for row, *cells in zip(rows, *columns.values(), strict=True)]
    yield markdown(("engine", "tokens/s", "min-max", "ms", "MiB", *columns), rows)
    own, others = [n for n in runs if n in ours], [n for n in runs if n not in ours]
    if own and others:
        rows = [[name, *(f"{ratio(runs[name], runs[o]):.2f}" for o in others)] for name in own]
        yield markdown(("times as fast as", *others), rows)

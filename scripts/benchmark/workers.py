"""Engines in processes of their own, that compute only when they are told to.

A team is one engine: a process for each of its workers, with the weights loaded once. So no
engine meets another's threads, caches or allocator, and at any time one engine computes.
"""

import contextlib
import dataclasses
import gc
import itertools
import multiprocessing
import re
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import torch

from scripts.benchmark import engines as rivals
from scripts.benchmark.engines import Ids, Setting
from transformer.config import DecodeConfig, UserError

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """Sentences to translate, all in bulk or one after the other."""

    sources: Ids
    config: DecodeConfig
    setting: Setting
    one_at_a_time: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What a job took: seconds of each sentence where they came one at a time, else of all."""

    outputs: Ids
    seconds: tuple[float, ...]
    peak_mib: float = 0.0  # resident, of all processes of the engine

    @property
    def n_tokens(self) -> int:
        """Tokens written, end marks not counted."""
        return sum(map(len, self.outputs))

    @property
    def ms(self) -> float:
        """Milliseconds a sentence: the median where they were timed one at a time."""
        if len(self.seconds) > 1:
            return 1000 * statistics.median(self.seconds)
        return 1000 * sum(self.seconds) / len(self.outputs)

    @property
    def speed(self) -> float:
        """Tokens a second, at that pace."""
        return self.n_tokens / len(self.outputs) / self.ms * 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What one process did, and when, by the clock that all processes share."""

    outputs: Ids
    marks: tuple[float, ...]  # the start, and the end of each call
    peak_mib: float


def peak_mib() -> float:
    """The most resident memory of this process since `prepare`, mapped files too; 0: unknown."""
    status = Path("/proc/self/status")
    text = status.read_text(encoding="ascii") if status.is_file() else ""
    peak = re.search(r"^VmHWM:\s*(\d+) kB", text, re.MULTILINE)
    return int(peak[1]) / 1024 if peak else 0.0


class Member:
    """A process that inherits nothing, no pool of threads either, and calls what it is told to."""

    def __init__(self, name: str, start: Callable[..., object], *arguments: object) -> None:
        self.name = name
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            self.tell(start, *arguments).result()
        except BaseException:
            self.close()
            raise

    def tell(self, work: Callable[..., T], *arguments: object) -> "Future[T]":
        """Begins a call there; its result, or what it raised, comes later."""
        return self._pool.submit(work, *arguments)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


_own: dict[str, Any] = {}  # in the process of an engine: its decoder


def open_engine(name: str, folder: Path) -> None:
    """Loads the weights; the first call in a process."""
    torch.set_num_threads(1)
    _own["decoder"] = rivals.open_decoder(name, folder)


def prepare(setting: Setting) -> None:
    """Makes what the setting needs, and forgets what memory was needed before."""
    _own["decoder"].configure(setting)
    gc.collect()
    with contextlib.suppress(OSError):  # only Linux has such a file
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def perform(job: Job) -> Part:
    """Translates, and notes the time at the start and after each call."""
    calls = [[source] for source in job.sources] if job.one_at_a_time else [job.sources]
    outputs: Ids = []
    marks = [time.monotonic()]
    for sources in calls:
        outputs += _own["decoder"].translate(sources, job.config, job.setting)
        marks.append(time.monotonic())
    return Part(outputs, tuple(marks), peak_mib())


def join(shares: Sequence[Sequence[int]], parts: Sequence[Part]) -> Run:
    """One run of what all processes did; `shares` are the places of their sentences."""
    outputs: Ids = [[] for share in shares for _ in share]
    for share, part in zip(shares, parts, strict=True):
        for place, ids in zip(share, part.outputs, strict=True):
            outputs[place] = ids
    seconds = tuple(end - start for start, end in itertools.pairwise(parts[0].marks))
    if len(parts) > 1:
        first, last = min(p.marks[0] for p in parts), max(p.marks[-1] for p in parts)
        seconds = (last - first,)
    return Run(outputs, seconds, sum(part.peak_mib for part in parts))


class Team:
    """One engine: its processes are started when they are first needed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._members = [Member(name, open_engine, name, folder)]

    def run(self, job: Job) -> Run:
        """Does a job with all workers at once; each has its share of long and short sentences."""
        number = rivals.n_processes(self.name, job.setting)
        while len(self._members) < number:
            self._members.append(Member(self.name, open_engine, self.name, self.folder))
        members = self._members[:number]
        for ready in [member.tell(prepare, job.setting) for member in members]:
            ready.result()
        order = sorted(range(len(job.sources)), key=lambda i: len(job.sources[i]))
        shares = [order[first::number] for first in range(number)]
        parts = [
            member.tell(perform, dataclasses.replace(job, sources=[job.sources[i] for i in share]))
            for share, member in zip(shares, members, strict=True)
        ]
        return join(shares, [part.result() for part in parts])

    def close(self) -> None:
        for member in self._members:
            member.close()


def open_all(
    names: Sequence[str], open_one: Callable[[str], T], say: Callable[[str], None]
) -> tuple[list[T], dict[str, str]]:
    """What can run here, and why the others cannot."""
    opened, skipped = [], {}
    for name in names:
        try:
            opened.append(open_one(name))
            say(f"{name} is ready")
        except UserError as error:
            skipped[name] = str(error)
            say(f"skipped {name}: {error}")
    return opened, skipped

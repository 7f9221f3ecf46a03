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
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, cast

import torch

from scripts.benchmark import engines as rivals
from scripts.benchmark.engines import Ids, Setting
from transformer.config import DecodeConfig, UserError

Pipe: TypeAlias = "Connection[object, object]"  # it takes no parameters when it runs
READY = "ready"
Opened = TypeVar("Opened")


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


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """Why a process gave up."""

    text: str
    whose: Literal["user", "program"]


def reset_peak() -> None:
    """Forgets what was needed before; does nothing where the system has no such file."""
    gc.collect()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mib() -> float:
    """The most resident memory of this process since then, mapped files counted; 0: unknown."""
    status = Path("/proc/self/status")
    text = status.read_text(encoding="ascii") if status.is_file() else ""
    peak = re.search(r"^VmHWM:\s*(\d+) kB", text, re.MULTILINE)
    return int(peak[1]) / 1024 if peak else 0.0


def perform(decoder: rivals.Decoder, job: Job) -> Part:
    """Translates, and notes the time at the start and after each call."""
    calls = [[source] for source in job.sources] if job.one_at_a_time else [job.sources]
    outputs: Ids = []
    marks = [time.monotonic()]
    for sources in calls:
        outputs += decoder.translate(sources, job.config, job.setting)
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


@contextlib.contextmanager
def telling_failures(pipe: Pipe) -> Iterator[None]:
    """Sends what goes wrong in a process to whoever waits for its answer."""
    try:
        yield
    except EOFError:
        return
    except UserError as error:
        pipe.send(Failure(str(error), "user"))
    except Exception:
        pipe.send(Failure(traceback.format_exc(), "program"))


def serve(pipe: Pipe, name: str, folder: Path) -> None:
    """The life of a process: opens the engine, then does a job at a time until the pipe ends."""
    torch.set_num_threads(1)
    with telling_failures(pipe):
        decoder = rivals.open_decoder(name, folder)
        pipe.send(READY)
        while isinstance(job := pipe.recv(), Job):
            decoder.configure(job.setting)
            reset_peak()
            pipe.send(READY)
            pipe.recv()  # the word to start
            pipe.send(perform(decoder, job))


class Member:
    """A process that sends a greeting when it is ready, then answers one job at a time.

    What runs in it, `serve`, gets a pipe and the other arguments.
    """

    def __init__(self, name: str, serve: Callable[..., None], *arguments: object) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")  # nothing is inherited, no pool of threads
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=serve, args=(there, *arguments), daemon=True)
        self._process.start()
        there.close()
        self.greeting = self.hear()

    def tell(self, what: object) -> None:
        """Sends a job, or the word to start."""
        self._pipe.send(what)

    def hear(self) -> object:
        """Its next answer; where it failed, the same failure here."""
        try:
            said = self._pipe.recv()
        except EOFError as error:
            self.close()
            raise RuntimeError(f"expected an answer of {self.name}; its process ended") from error
        if isinstance(said, Failure):
            self.close()
            raise (UserError if said.whose == "user" else RuntimeError)(said.text)
        return said

    def close(self) -> None:
        """Ends the process."""
        self._pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()


class Team:
    """One engine: its processes are started when they are first needed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._members: list[Member] = []
        self._grow(1)

    def _grow(self, number: int) -> None:
        while len(self._members) < number:
            self._members.append(Member(self.name, serve, self.name, self.folder))

    def run(self, job: Job) -> Run:
        """Does a job with all workers at once; each has its share of long and short sentences."""
        number = rivals.n_processes(self.name, job.setting)
        self._grow(number)
        order = sorted(range(len(job.sources)), key=lambda i: len(job.sources[i]))
        shares = [order[first::number] for first in range(number)]
        members = self._members[:number]
        for share, member in zip(shares, members, strict=True):
            member.tell(dataclasses.replace(job, sources=[job.sources[i] for i in share]))
        for member in members:
            member.hear()
        for member in members:
            member.tell(READY)
        return join(shares, [cast(Part, member.hear()) for member in members])

    def close(self) -> None:
        """Ends the processes."""
        for member in self._members:
            member.close()
        self._members.clear()


def open_all(
    names: Sequence[str], open_one: Callable[[str], Opened], say: Callable[[str], None]
) -> tuple[list[Opened], dict[str, str]]:
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

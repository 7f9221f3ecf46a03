"""Training loops in processes of their own, that take steps only when they are told to.

So no loop meets another's threads, caches or allocator, and at any time one computes. Between two
turns each gives the memory that it has freed back to the system. Knows blocks of steps and what
they took; not what is compared with what.
"""

import contextlib
import ctypes
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from bench_profile import Profile, profile
from teams import Member, Pipe, peak_mib, reset_peak, telling_failures
from trainers import Ours, TrainsSteps, n_targets, open_trainer

from transformer.launch import keep_freed_memory


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Steps to take, by their numbers: the first few are not timed, the way is to attention."""

    first: int
    n_steps: int
    n_unmeasured: int = 0
    way: str = ""  # "": the one before


@dataclasses.dataclass(frozen=True, slots=True)
class Profiled:
    """Steps of which is to be told where their time goes."""

    first: int
    n_steps: int


@dataclasses.dataclass(frozen=True, slots=True)
class Taken:
    """What the timed steps of a block took, each by itself."""

    seconds: tuple[float, ...]
    processor: tuple[float, ...]  # seconds of all threads
    n_tokens: tuple[int, ...]  # targets without padding
    losses: tuple[float, ...]  # nats a target token, smoothed
    peak_mib: float

    @property
    def speed(self) -> float:
        """Target tokens a second."""
        return sum(self.n_tokens) / sum(self.seconds)

    @property
    def processor_speed(self) -> float:
        """Target tokens a second of processor time."""
        return sum(self.n_tokens) / sum(self.processor)

    @property
    def ms(self) -> float:
        """Milliseconds a step."""
        return 1000 * sum(self.seconds) / len(self.seconds)


def return_freed_memory() -> None:
    """What is free in glibc's allocator goes back, whatever it was told to keep."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def perform(trainer: TrainsSteps, block: Block) -> Taken:
    """Takes the steps; the loss is read after each, so that a GPU is waited for."""
    if block.way:
        trainer.choose(block.way)
    rows: list[tuple[float, float, int, float]] = []
    reset_peak()
    for number in range(block.first - block.n_unmeasured, block.first + block.n_steps):
        start, used = time.perf_counter(), time.process_time()
        total = float(trainer.step(max(0, number)))
        seconds, used = time.perf_counter() - start, time.process_time() - used
        n_tokens = n_targets(trainer.task.batch(max(0, number)))
        rows.append((seconds, used, n_tokens, total / n_tokens))
    peak = peak_mib()
    if trainer.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**20
    return_freed_memory()
    walls, processor, tokens, losses = zip(*rows[block.n_unmeasured :], strict=True)
    return Taken(walls, processor, tokens, losses, peak)


def serve(pipe: Pipe, name: str, folder: Path, n_threads: int) -> None:
    """The life of a process: opens the loop, then does a job at a time until the pipe ends."""
    torch.set_num_threads(n_threads)
    keep_freed_memory()
    with telling_failures(pipe):
        trainer = open_trainer(name, folder)
        pipe.send(tuple(trainer.ways))
        while isinstance(job := pipe.recv(), Block | Profiled):
            if isinstance(job, Block):
                pipe.send(perform(trainer, job))
            else:
                pipe.send(profile(cast(Ours, trainer), job.first, job.n_steps))


class TrainingTeam:
    """One loop and its process."""

    def __init__(self, name: str, folder: Path, n_threads: int) -> None:
        self.name = name
        self._member = Member(name, serve, name, folder, n_threads)
        self.ways = cast(Sequence[str], self._member.greeting)

    def run(self, block: Block) -> Taken:
        """Takes the steps of a block."""
        self._member.tell(block)
        return cast(Taken, self._member.hear())

    def profile(self, job: Profiled) -> Profile:
        """Where the time of some steps goes; for our own loop only."""
        self._member.tell(job)
        return cast(Profile, self._member.hear())

    def close(self) -> None:
        """Ends the process."""
        self._member.close()

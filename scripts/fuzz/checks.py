"""What all parts of the campaign share: a row of figures, and commands run from outside."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
TRACEBACK = "Traceback (most recent call last)"


Started = subprocess.Popen[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a part: its time, its counts in full or a share of them, its place."""

    minutes: float
    share: float  # of the full counts
    folder: Path  # for what it writes
    clients: int
    seed: int

    def count(self, full: int) -> int:
        """A share of a full count, one at least."""
        return max(1, round(full * self.share))


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A row: what must hold, how often it was tried, how often it did not hold, the worst value."""

    what: str
    n: int
    n_bad: int
    worst: str = ""

    def about(self, what: str) -> "Check":
        return dataclasses.replace(self, what=f"{what}: {self.what}")

    def row(self) -> list[str]:
        verdict = "holds" if self.n and not self.n_bad else f"{self.n_bad} bad"
        return [self.what, f"{self.n:,}", verdict, self.worst.replace("|", "/")]


def start(arguments: Sequence[str | Path], **more: Any) -> Started:
    """Starts a Python command of this repository."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=environment, text=True, cwd=ROOT, **more
    )


def told(error: str) -> str:
    """Why what a command says on standard error is not one line, or nothing where it is."""
    lines = [line for line in error.splitlines() if line.strip()]
    if TRACEBACK in error or "defect" in error:
        return f"traceback or defect: {lines[-1]}"
    return "" if len(lines) == 1 else f"{len(lines)} lines"


def resident(process: Started) -> float:
    """MiB that a process and those that it started hold."""
    total = 0
    try:
        tree = psutil.Process(process.pid)
        for each in (tree, *tree.children(recursive=True)):
            total += each.memory_info().rss
    except psutil.NoSuchProcess:
        return total / 2**20
    return total / 2**20

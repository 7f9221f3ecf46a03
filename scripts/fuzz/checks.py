"""What all parts of the campaign share: a row of figures, and commands run from outside."""

import contextlib
import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
TRACEBACK = "Traceback (most recent call last)"
Process = subprocess.Popen[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How long and how often a part tries, and where it writes."""

    minutes: float
    share: float  # of the full counts
    folder: Path
    clients: int
    seed: int

    def count(self, full: int) -> int:
        """Return the share of a full count, one at least."""
        return max(1, round(full * self.share))


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A row: what must hold, how often it was tried, how often it did not hold, what was seen."""

    what: str
    n: int
    n_bad: int
    seen: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was tried and always held."""
        return self.n > 0 and self.n_bad == 0

    def with_title(self, title: str) -> "Check":
        return dataclasses.replace(self, what=f"{title}: {self.what}")

    def row(self) -> list[str]:
        verdict = "holds" if self.holds else f"{self.n_bad} bad"
        return [self.what, f"{self.n:,}", verdict, self.seen.replace("|", "/")]


def start_python(module: str, *arguments: str | Path, **options: Any) -> Process:
    """Start a module of this repository as a command."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, cwd=ROOT, **options,
    )  # fmt: skip


def message_fault(message: str) -> str:
    """Return why what a command wrote on standard error is not one line, or "" where it is."""
    lines = [line for line in message.splitlines() if line.strip()]
    if TRACEBACK in message or "defect" in message:
        return f"traceback or defect: {lines[-1]}"
    return "" if len(lines) == 1 else f"{len(lines)} lines"


def resident_mib(process: Process) -> float:
    """Return the resident memory of a process and its children in MiB."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(process.pid)
        for each in (root, *root.children(recursive=True)):
            total += each.memory_info().rss
    return total / 2**20

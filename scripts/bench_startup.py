"""Start-up measured: `translate "hola"` as a whole process beside `python -c "import torch"`.

python scripts/bench_startup.py --runs 10

The processes take turns, so that what else the machine does falls on both alike, and a ratio is
taken within each turn. Knows commands and clocks; nothing of how an answer is found.
"""

import argparse
import dataclasses
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench_tables import described, environment, markdown

from transformer import cli
from transformer.config import UserError
from transformer.released import default_model

TEXT = "hola"
LANGS = ("es", "en")
HEADS = ("process", "median s", "min-max", "processor s", "ratio", "processor ratio")
LOAD = """
import sys, time
from transformer import checkpoint
start = time.perf_counter()
checkpoint.load(sys.argv[1])
print(time.perf_counter() - start)
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Took:
    """What a process took from its start to its end, in seconds, and what it said."""

    wall: float
    processor: float  # of all its threads
    said: str


def timed(command: Sequence[str]) -> Took:
    """Runs a command to its end; one that fails is a UserError."""
    used = _processor_time()
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if done.returncode:
        reason = (done.stderr.strip() or "nothing").splitlines()[-1]
        raise UserError(
            f"expected {' '.join(command)!r} to end well, got exit code {done.returncode}: {reason}"
        )
    return Took(wall, _processor_time() - used, done.stdout)


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def by_turns(
    commands: Sequence[Sequence[str]],
    n_runs: int,
    run: Callable[[Sequence[str]], Took] = timed,
) -> list[list[Took]]:
    """The runs of each command, after one of each that only fills the disk's cache."""
    for command in commands:
        run(command)
    turns = [[run(command) for command in commands] for _ in range(n_runs)]
    return [list(runs) for runs in zip(*turns, strict=True)]


def ratio(ours: Sequence[float], base: Sequence[float]) -> float:
    """How many times as long: the median of the turns' ratios."""
    return statistics.median(one / other for one, other in zip(ours, base, strict=True))


def translate_command(model: str | Path) -> list[str]:
    """The installed `translate`, or the module where it is not installed."""
    script = Path(sys.executable).with_name("translate")
    start = [str(script)] if script.is_file() else [sys.executable, "-m", "transformer"]
    return [*start, "--model", str(model), TEXT]


def add_flags(flags: argparse.ArgumentParser) -> None:
    """How often."""
    flags.add_argument("--runs", type=int, default=10, help="turns of each process (default: 10)")


def run(given: argparse.Namespace, say: Callable[[str], None]) -> tuple[str, dict[str, Any]]:
    """The table, and the values for a file."""
    if given.runs < 1:
        raise UserError(f"expected --runs of at least 1, got {given.runs}")
    model = given.model or default_model(LANGS)
    commands = [[sys.executable, "-c", "import torch"], translate_command(model)]
    say(f"start-up: {given.runs} turns of {commands[0]} and {commands[1]}")
    base, ours = by_turns(commands, given.runs)
    (loads,) = by_turns([[sys.executable, "-c", LOAD, str(model)]], given.runs)
    load = [float(one.said) for one in loads]
    values = {
        "model": str(model),
        "import torch": [[one.wall, one.processor] for one in base],
        "translate": [[one.wall, one.processor] for one in ours],
        "ratio": ratio([one.wall for one in ours], [one.wall for one in base]),
        "processor ratio": ratio([one.processor for one in ours], [one.processor for one in base]),
        "checkpoint.load": load,
    }
    rows = [
        [*_row('python -c "import torch"', base), "1.00", "1.00"],
        [*_row(f'translate "{TEXT}"', ours), *(f"{values[name]:.2f}" for name in HEADS[-2:])],
    ]
    told = f"checkpoint.load takes {statistics.median(load) * 1000:.0f} ms of it ({model})."
    return f"{markdown(HEADS, rows)}\n\n{told}", values


def _row(name: str, runs: Sequence[Took]) -> list[str]:
    walls = [one.wall for one in runs]
    middle = statistics.median(one.processor for one in runs)
    spread = f"{min(walls):.2f}-{max(walls):.2f}"
    return [name, f"{statistics.median(walls):.2f}", spread, f"{middle:.2f}"]


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("--model", help="checkpoint folder (default: checkpoints/es-en)")
    add_flags(flags)
    given = flags.parse_args(argv)

    def measure() -> None:
        table, _ = run(given, lambda line: print(line, file=sys.stderr, flush=True))
        print(f"{described(environment())}\n\n{table}")

    return cli.guarded(measure, "bench_startup")


if __name__ == "__main__":
    sys.exit(main())

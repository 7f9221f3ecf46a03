"""Hostile documents: each is read within the limits, or refused in a line."""

import asyncio
import random
import resource
from collections.abc import Iterator

import psutil

from scripts.fuzz.attacks import BUILT, UNITS, draw_document
from scripts.fuzz.checks import Check, Options
from transformer.config import UserError
from transformer.documents.passages import Options as ReadOptions
from transformer.documents.worker import MEMORY, SECONDS, WorkerPool
from transformer.text.markup import split_at_marks

N_FILES = 600
MAX_SECONDS = 2.5 * SECONDS  # a file is read twice: for its passages, and to be written
SIZES = (300, 3000, 30_000, 300_000, 3_000_000)


def run(options: Options) -> Iterator[Check]:
    """Try every kind of document once at its largest, then any of them, damaged or not."""
    rng, largest, n = random.Random(options.seed), SIZES[-1], options.count(N_FILES)
    every = [(suffix, (unit * (largest // len(unit))).encode())
             for suffix, units in UNITS.items() for unit in units]  # fmt: skip
    every += [(suffix, make(largest)) for suffix, make in BUILT]
    every = rng.sample(every, min(n, len(every)))
    every += [draw_document(rng, rng.choice(SIZES)) for _ in range(n - len(every))]
    workers = WorkerPool()
    try:
        results = [asyncio.run(_read(workers, suffix, content)) for suffix, content in every]
    finally:
        workers.close()
    bad = [why for why, _, _ in results if "\n" in why or why.startswith("defect")]
    seen = bad[0] if bad else f"{sum(not why for why, _, _ in results)} read"
    yield Check("files: read, or refused in one line", n, len(bad), seen)
    seconds, place = max((seconds, i) for i, (_, seconds, _) in enumerate(results))
    n_late = sum(seconds > MAX_SECONDS for _, seconds, _ in results)
    seen = f"{seconds:.1f} s: {every[place][0]}, {len(every[place][1]):,} bytes"
    yield Check(f"files: within {MAX_SECONDS:g} s of computing", n, n_late, seen)
    held, limit = max(held for _, _, held in results), MEMORY >> 20
    yield Check(f"files: within {limit} MiB", n, int(held > limit), f"{held:.0f} MiB")


async def _read(workers: WorkerPool, suffix: str, content: bytes) -> tuple[str, float, float]:
    """Return why a file is refused or ""; seconds of computing; MiB that the processes held."""
    options, before, why = ReadOptions("es", "en"), _cpu_seconds(), ""
    try:
        passages = await workers.read(content, suffix, options)
        filled = [split_at_marks(f"{p.text} x", p.marks) for p in passages]
        await workers.write(content, suffix, options, filled)
    except UserError as error:
        why = str(error)
    except Exception as error:  # whatever it is, it is what the campaign looks for
        why = f"defect: {type(error).__name__}"
    held = (child.memory_info().rss / 2**20 for child in psutil.Process().children())
    return why, _cpu_seconds() - before, max(held, default=0.0)


def _cpu_seconds() -> float:
    """Return the processor time of all processes that read files, those that ended too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = (child.cpu_times() for child in psutil.Process().children())
    return ended.ru_utime + ended.ru_stime + sum(times.user + times.system for times in alive)
